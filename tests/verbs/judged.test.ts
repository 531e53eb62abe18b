import { appendFileSync, cpSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { beforeEach, expect, test } from 'vitest';
import { SEAL } from '../../src/evidence/run-folder/finish.ts';
import { judgedRun } from '../../src/verbs/judged.ts';
import { suiteFolder } from '../support/suite-world.ts';
import { temporaryFolder } from '../support/support.ts';

const CASES = ['case-1', 'case-2', 'case-3'].map(id => ({ id, expected: { contains: 'answer' } }));

let folder: string;
beforeEach(async () => {
  folder = await suiteFolder(temporaryFolder(), { cases: [...CASES, { id: 'case-4', artifact: null }] });
});

const judged = async () => (await judgedRun(folder, { home: temporaryFolder() }, 'anew')).evaluation;
const file = (name: string): string => path.join(folder, name);

test('judges a run whose files match its seal', async () => {
  expect((await judged()).cases.map(({ verdict }) => verdict)).toEqual(['pass', 'pass', 'pass', 'error']);
});

test.each(['case-2.json', 'run.json', 'assets/cases.ndjson', 'evidence/request.json'])(
  'refuses a run in which %s was changed after it was sealed',
  async name => {
    appendFileSync(file(name), ' ');
    await expect(judged()).rejects.toMatchObject({
      code: 'not_as_sealed',
      message: expect.stringContaining(`${name} is missing or was changed.`) as string,
    });
  },
);

test('names the first changed file in the order of the seal, whichever is read first', async () => {
  for (const name of ['case-3.json', 'case-2.json', 'run.json']) rmSync(file(name));
  await expect(judged()).rejects.toMatchObject({
    code: 'not_as_sealed',
    message: expect.stringContaining('case-2.json is missing or was changed.') as string,
  });
});

test('does not judge an artifact that the seal does not list', async () => {
  const before = await judged();
  cpSync(file('case-1.json'), file('case-4.json'));
  expect((await judged()).cases).toEqual(before.cases);
});

test('refuses a run without a readable seal', async () => {
  writeFileSync(file(SEAL), '{}');
  await expect(judged()).rejects.toMatchObject({ code: 'not_as_sealed' });
});
