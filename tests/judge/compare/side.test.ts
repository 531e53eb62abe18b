import { cpSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import type { Comparison } from '../../../src/contracts/comparison/index.ts';
import type { TrialOfSide } from '../../../src/judge/compare-input.ts';
import { evaluateSuite } from '../../../src/judge/suite/evaluate.ts';
import { artifactInFolder, caseNames, trialFrom } from '../../../src/judge/compare/side.ts';
import { reports } from '../../../src/reports/index.ts';
import { suiteFolder } from '../../support/suite-world.ts';
import { temporaryFolder } from '../../support/support.ts';
import { call, compared, trial } from './sides.ts';

const judging = {
  runCheck: () => Promise.reject(new Error('no case here has a script')),
};

const judgedTrial = async (folder: string): Promise<TrialOfSide> =>
  trialFrom(folder, await evaluateSuite(folder, judging));

/** Two runs of one case, in which the candidate does not call the tool that the case requires. */
async function twoRuns(root: string): Promise<[baseline: string, candidate: string]> {
  const run = (version: 'baseline' | 'new', tool: string): Promise<string> =>
    suiteFolder(root, {
      version,
      cases: [
        {
          id: 'refund',
          title: 'A refund',
          expected: { tool_required: ['orders.get'] },
          artifact: { events: [call(tool)] },
        },
      ],
    });
  return [await run('baseline', 'orders.get'), await run('new', 'orders.list')];
}

async function comparedFolders(baseline: string, candidate: string): Promise<Comparison> {
  return compared(
    { source: 'runs', trials: [await judgedTrial(baseline)] },
    { source: 'runs', trials: [await judgedTrial(candidate)] },
    undefined,
    { artifactOf: artifactInFolder, names: caseNames(candidate) },
  );
}

test('a run becomes a trial with its seal and its conditions', async () => {
  const [baseline] = await twoRuns(temporaryFolder());
  expect(await judgedTrial(baseline)).toMatchObject({
    folder: baseline,
    sealSha256: expect.stringMatching(/^sha256:/) as string,
    environmentHash: undefined,
    conditions: {
      'target.kind': 'http',
      'settings.timeout_ms': '15000',
      'settings.idle_timeout_ms': '15000',
      'settings.retries': '2',
      'settings.concurrency': '4',
    },
  });
});

test('two folders are judged, compared and explained', async () => {
  const comparison = await comparedFolders(...(await twoRuns(temporaryFolder())));
  expect(comparison).toMatchObject({
    verdict: 'not_enough_evidence',
    decision: { cause: 'suspect', suspects: [{ case_id: 'refund' }] },
    comparability: { state: 'comparable', fields: [] },
    cases: [
      {
        title: 'A refund',
        failing: [{ name: 'tool_required' }],
        divergence: { kind: 'tool_choice', confidence: 'high', cites: ['baseline:events[0]', 'new:events[0]'] },
      },
    ],
  });
});

test('moved folders give the same bytes in every report, without their paths', async () => {
  const root = temporaryFolder();
  const runs = await twoRuns(root);
  const before = await comparedFolders(...runs);
  const elsewhere = temporaryFolder();
  cpSync(root, elsewhere, { recursive: true });
  const [baseline, candidate] = runs.map(run => path.join(elsewhere, path.relative(root, run))) as [string, string];
  const after = await comparedFolders(baseline, candidate);
  const { codequality: _, ...others } = reports;
  for (const { ofComparison } of Object.values(others)) {
    const told = [...ofComparison(before)].join('');
    expect([...ofComparison(after)].join('')).toBe(told);
    expect(told).not.toContain(root);
  }
});

test('a side restored from a document has no artifacts', () => {
  expect(artifactInFolder(trial('r', [], { folder: undefined }), 'refund')).toBeUndefined();
});
