import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { FileThread } from '../../../src/execute/host/file-thread.ts';

function world(): { folder: string; thread: FileThread } {
  const folder = mkdtempSync(path.join(tmpdir(), 'proctor-thread-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return { folder, thread: new FileThread(folder) };
}

const file = (name: string, text: string) => ({ name, text, bytes: Buffer.byteLength(text) });

test('writes every accepted file before it closes', async () => {
  const { folder, thread } = world();
  for (let batch = 0; batch < 40; batch++) {
    const files = Array.from({ length: 50 }, (_, index) => file(`${batch}-${index}.json`, `{"é":${index}}`));
    expect(thread.take(files)).toBe(true);
  }
  await thread.close();
  const names = readdirSync(folder);
  expect(names).toHaveLength(2_000);
  expect(names.filter(name => name.endsWith('.tmp'))).toEqual([]);
  expect(readFileSync(path.join(folder, '39-49.json'), 'utf8')).toBe('{"é":49}');
});

test('accepts no more files when its queue is full', async () => {
  const { folder, thread } = world();
  const large = Array.from({ length: 9 }, (_, index) => file(`${index}`, 'x'.repeat(1024 * 1024)));
  expect(thread.take(large)).toBe(false);
  expect(thread.take(large.slice(1))).toBe(true);
  expect(thread.take(large.slice(0, 1))).toBe(false);
  await thread.close();
  expect(readdirSync(folder)).toHaveLength(8);
});

test('reports a write error on the next call', async () => {
  const { folder, thread } = world();
  mkdirSync(path.join(folder, 'taken.json'));
  expect(thread.take([file('taken.json', '{}')])).toBe(true);
  await expect(thread.close()).rejects.toThrow("A case's evidence could not be written.");
  expect(() => thread.take([file('next.json', '{}')])).toThrow('could not be written');
});
