import { expect, test } from 'vitest';
import { suiteRequest } from '../../../src/contracts/suite/index.ts';
import { Journal } from '../../../src/evidence/run-folder/journal.ts';
import { suiteStateIn } from '../../../src/evidence/suite/suite-resume.ts';
import { temporaryFolder } from '../../support/support.ts';

const owner = { pid: 1, startTicks: 2, bootId: 'boot' };
const plan = {
  request: suiteRequest.example,
  runner: {},
  casesPath: 'cases.yaml',
  outDir: '.',
  repository: null,
  headers: [],
  script: null,
  bounds: {},
  owner,
};

/** The state according to a journal with these lines. */
function stateWith(...lines: readonly object[]) {
  const folder = temporaryFolder();
  const journal = Journal.open<object>(folder);
  for (const line of lines) journal.append(line);
  journal.close();
  return suiteStateIn(folder);
}

test('a journal line with a key from a newer version counts', () => {
  const planned = { is: 'planned', plan, assets: [] };
  const later = { ...owner, pid: 7 };
  expect(stateWith(planned, { is: 'begun', owner: later, atMs: 5, later: 1 })).toMatchObject({
    plan: { owner: later },
    startedAtMs: 5,
    isOurs: true,
  });
  expect(stateWith(planned, { is: 'begun', owner: later, atMs: '5' })).toMatchObject({ startedAtMs: undefined });
});

test('a plan with a setting that this version does not know is refused', () => {
  expect(stateWith({ is: 'planned', plan, assets: [] }).plan).toEqual(plan);
  expect(stateWith({ is: 'planned', plan: { ...plan, later: 1 }, assets: [] }).plan).toBeUndefined();
});
