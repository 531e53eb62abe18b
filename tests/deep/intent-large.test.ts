import { createHash } from 'node:crypto';
import { closeSync, ftruncateSync, openSync, statSync } from 'node:fs';
import path from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { closeLauncher } from '../../src/verbs/launcher.ts';
import { node, own, ran, toldOf, writes } from '../run/intent/world.ts';
import { place } from '../support/runs.ts';

afterAll(() => closeLauncher());

test('reads a gigabyte of output to its end and keeps only a little of it', async () => {
  const code = `const piece = Buffer.alloc(1 << 20, 'a'); let said = 0;
(function say() { while (said++ < 1024) if (!process.stdout.write(piece)) return process.stdout.once('drain', say); })()`;
  const { result, folder } = await ran({ goal: 'g', commands: [node(code)] }, { policy: 'dev' });
  const hash = createHash('sha256');
  for (let at = 0; at < 1024; at++) hash.update(Buffer.alloc(1 << 20, 'a'));
  expect(result.execution?.stdout_sha256).toBe(`sha256:${hash.digest('hex')}`);
  expect(result.decision.accepted).toBe(true);
  expect(statSync(path.join(folder, 'evidence/steps/intent/stdout.txt')).size).toBeLessThan(64 * 1024 ** 2);
});

test('accepts ten thousand outputs and rejects one more than the limit', async () => {
  const policy = own({ max_output_files: 10_000, allowed_write_roots: ['out'] });
  const outputs = Array.from({ length: 10_000 }, (_, at) => `out/${String(at).padStart(5, '0')}`);
  const make = (count: number) =>
    writes(`for (let at = 0; at < ${count}; at++) fs.writeFileSync('out/' + String(at).padStart(5, '0'), '')`);
  const { result } = await ran({ goal: 'g', commands: [make(10_000)], outputs }, { policy });
  expect(result.decision.accepted).toBe(true);
  expect(result.execution?.outputs.map(output => output.path)).toEqual(outputs);
  const more = await ran({ goal: 'g', commands: [make(10_001)], outputs: ['out/'] }, { policy });
  expect(more.result).toMatchObject({
    decision: { accepted: false },
    execution: { outputs: [], output_truncated: true },
  });
});

test('places ten thousand files and runs ten thousand checks', async () => {
  const files = Array.from({ length: 10_000 }, (_, at) => ({ path: `out/d/${at}`, content: String(at) }));
  const accept = files.map(({ path: file, content }) => ({
    check: 'content_matches',
    path: file,
    pattern: `^${content}$`,
  }));
  const { result } = await ran(
    { goal: 'g', files, commands: [node('0')], outputs: ['out/d/'], accept },
    { policy: own({ max_output_files: 10_000, max_total_output_bytes: 52_428_800 }) },
  );
  expect(result.decision.reasons).toEqual(['1 command ended with 0, 1 output is there, 10000 checks held.']);
});

test('checks fail once they have read more than 1 GiB in total', async () => {
  const accept = Array.from({ length: 10_000 }, () => ({ check: 'content_matches', path: 'out/a', pattern: '^x' }));
  const { result } = await ran({
    goal: 'g',
    commands: [writes(`fs.writeFileSync('out/a', Buffer.alloc(10_000_000, 'x'))`)],
    outputs: ['out/a'],
    accept,
  });
  expect(result.decision.accepted).toBe(false);
  expect(result.decision.reasons[0]).toBe('accept[107], content_matches: The checks read more than 1 GiB in total.');
});

test('refuses an intent of 100 MB', async () => {
  const here = place();
  const file = here.file('large.json', '{');
  const fd = openSync(file, 'r+');
  ftruncateSync(fd, 100_000_000);
  closeSync(fd);
  const { code, stdout } = here.proctor(['run', 'intent', 'large.json']);
  expect([code, (JSON.parse(stdout) as { code: string }).code]).toEqual([2, 'RUN_E002']);
});

test('plans, runs and verifies an intent of almost 16 MiB', async () => {
  const content = 'x'.repeat(900_000);
  const files = Array.from({ length: 16 }, (_, at) => ({ path: `f${at}`, content }));
  const { result } = await ran({ goal: 'g', files, commands: [node('0')] }, { policy: 'default' });
  expect(result.decision.accepted).toBe(true);
});

test('files that do not fit into the sandbox cause an error at once', async () => {
  const files = Array.from({ length: 9_000 }, (_, at) => ({ path: `out/d/${at}`, content: 'x' }));
  const told = await ran(
    { goal: 'g', files, commands: [node('0')] },
    { policy: own({ max_output_files: 10_000 }) },
  ).catch(toldOf);
  // A timeout would mean that cp blocked on its error output.
  expect(told).toBe("RUN_E005: The run's files could not be copied into its work folder.");
});
