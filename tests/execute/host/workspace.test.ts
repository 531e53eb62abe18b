import { readFileSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { beforeEach, expect, test, vi } from 'vitest';
import { bytesHash } from '../../../src/base/hash.ts';
import { makeStage, stageFile } from '../../../src/execute/host/workspace.ts';
import { unique } from '../../conformance/jobs.ts';
import { temporaryFolder } from '../../support/support.ts';

beforeEach(() => {
  vi.stubEnv('TMPDIR', temporaryFolder());
  return () => vi.unstubAllEnvs();
});

/** Stages a file. */
function staged(source: string, bytesMax: number) {
  const stage = makeStage(unique('x'));
  const copy = path.join(stage, 'work', 'input', 'a.txt');
  return { copy, stage: () => stageFile(source, stage, 'work/input/a.txt', 0o644, bytesMax) };
}

test('stages a file of the maximum size, and refuses one byte more', () => {
  const source = path.join(temporaryFolder(), 'source');
  writeFileSync(source, 'abcd');
  const { copy, stage } = staged(source, 4);
  expect(stage()).toEqual({ name: 'a.txt', sha256: bytesHash('abcd'), bytes: 4 });
  expect(readFileSync(copy, 'utf8')).toBe('abcd');
  expect(staged(source, 3).stage).toThrow(
    expect.objectContaining({ code: 'usage', message: 'a.txt is too large, alone or together with earlier inputs.' }),
  );
});

test('does not fill the disk with an endless file', () => {
  const endless = '/proc/self/pagemap';
  expect(statSync(endless)).toMatchObject({ size: 0 });
  const { copy, stage } = staged(endless, 1_000_000);
  expect(stage).toThrow(expect.objectContaining({ code: 'usage' }));
  expect(statSync(copy).size).toBeLessThanOrEqual(1_000_000);
});
