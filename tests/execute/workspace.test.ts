import { readFileSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { beforeEach, expect, test, vi } from 'vitest';
import { bytesHash } from '../../src/base/hash.ts';
import { makeStage, stageFile } from '../../src/execute/workspace.ts';
import { unique } from '../conformance/jobs.ts';
import { temporaryFolder } from '../support.ts';

beforeEach(() => {
  vi.stubEnv('TMPDIR', temporaryFolder());
  return () => vi.unstubAllEnvs();
});

/** Lays out a file of a caller. */
function staged(source: string, bytesMax: number) {
  const stage = makeStage(unique('x'));
  const copy = path.join(stage, 'work', 'input', 'a.txt');
  return { copy, stage: () => stageFile(source, stage, 'work/input/a.txt', 0o644, bytesMax) };
}

test('a file as large as it may be is laid out, and one byte more is refused', () => {
  const source = path.join(temporaryFolder(), 'source');
  writeFileSync(source, 'abcd');
  const { copy, stage } = staged(source, 4);
  expect(stage()).toEqual({ name: 'a.txt', sha256: bytesHash('abcd'), bytes: 4 });
  expect(readFileSync(copy, 'utf8')).toBe('abcd');
  expect(staged(source, 3).stage).toThrow(
    expect.objectContaining({ code: 'usage', message: 'a.txt is too large, alone or together with earlier inputs.' }),
  );
});

test('a file that holds more than it says, without an end, fills no disk', () => {
  const endless = '/proc/self/pagemap';
  expect(statSync(endless)).toMatchObject({ size: 0 });
  const { copy, stage } = staged(endless, 1_000_000);
  expect(stage).toThrow(expect.objectContaining({ code: 'usage' }));
  expect(statSync(copy).size).toBeLessThanOrEqual(1_000_000);
});
