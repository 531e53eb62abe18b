import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { caseInputs } from '../../../src/evidence/suite/suite-folder.ts';
import { temporaryFolder } from '../../support/support.ts';

const idsIn = (lines: readonly string[]): string[] => {
  const folder = temporaryFolder();
  mkdirSync(path.join(folder, 'assets'));
  writeFileSync(path.join(folder, 'assets', 'cases.ndjson'), lines.map(line => `${line}\n`).join(''));
  return [...caseInputs(folder)].map(({ id }) => id);
};

test('reads the inputs of a suite up to the first line that is not a case', () => {
  const good = (id: string): string => JSON.stringify({ id, input: { user: 'hello' } });
  expect(idsIn([good('a'), good('b')])).toEqual(['a', 'b']);
  for (const bad of ['{', '[]', 'null', '{"id":1,"input":{}}', '{"id":"x","input":"text"}'])
    expect(idsIn([good('a'), bad, good('b')])).toEqual(['a']);
});

test('reads nothing from a folder without cases', () => {
  expect([...caseInputs(temporaryFolder())]).toEqual([]);
});
