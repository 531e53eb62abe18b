import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { compareRuns, runSuite } from '../../src/verbs/index.ts';
import { Agent, saying } from '../run/suite/agent.ts';
import { temporaryFolder } from '../support/support.ts';

function folderWithCases(): string {
  const cwd = temporaryFolder();
  writeFileSync(path.join(cwd, 'cases.json'), JSON.stringify([{ id: 'a', expected: { contains: 'asked' } }]));
  return cwd;
}

test('records stated provenance, prefers what answers state, and reports differences as drift', async () => {
  const cwd = folderWithCases();
  const run = async (as: 'baseline' | 'new', commit: string, answered: object): Promise<void> => {
    const baseUrl = await new Agent({ a: saying({ provenance: answered }) }).start();
    await runSuite({ cases: 'cases.json', cwd, baseUrl, as, provenance: { commit, model: 'named' } });
  };
  await run('baseline', 'c0ffee', { model: 'm-1', prompt_version: 'p1' });
  await run('new', 'decade', { model: 'm-2', prompt_version: 'p1' });
  const { comparison } = await compareRuns({ baseline: 'baseline', candidate: 'new', formats: ['json'], cwd });
  expect(comparison.comparability.fields).toEqual([
    { field: 'provenance.commit', baseline: 'c0ffee', new: 'decade' },
    { field: 'provenance.model', baseline: 'm-1', new: 'm-2' },
  ]);
});

test.each([
  ['an unknown name', { modell: 'm-1' }],
  ['a value that is empty', { model: '' }],
  ['a value of two lines', { model: 'a\nb' }],
])('rejects provenance with %s', async (_, provenance) => {
  const order = { cases: 'cases.json', cwd: folderWithCases(), baseUrl: 'http://127.0.0.1:1', as: 'new' } as const;
  await expect(runSuite({ ...order, provenance: provenance as object })).rejects.toThrow('--provenance model=NAME');
});
