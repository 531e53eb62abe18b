import { mkdtempSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { fileHash } from '../../src/base/file-hash.ts';
import { outputStream } from '../../src/publish/downloads.ts';

const MIB = 1024 ** 2;

test('a large file is checked before it is sent, and other work goes on meanwhile', async () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'proctor-downloads-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const file = path.join(folder, 'large');
  writeFileSync(file, '');
  truncateSync(file, 32 * MIB);
  const sha256 = fileHash(file) ?? '';
  let turns = 0;
  let timer = setImmediate(function again() {
    turns++;
    timer = setImmediate(again);
  });
  onTestFinished(() => clearImmediate(timer));
  const stream = await outputStream(folder, { path: 'large', sha256, bytes: 32 * MIB });
  expect(turns).toBeGreaterThan(1);
  let bytes = 0;
  for await (const piece of stream) bytes += piece.length;
  expect(bytes).toBe(32 * MIB);
});
