import { expect, test } from 'vitest';
import type { Judged } from '../../src/judge/compare-input.ts';
import { artifactInFolder, caseNames, trialFrom } from '../../src/judge/side.ts';
import { suiteFolder } from '../suite-world.ts';
import { temporaryFolder } from '../support.ts';
import { call, compared, failedCase, hashOf, judgedCase, trial } from './sides.ts';

const evaluation = (version: 'baseline' | 'new', cases: Judged['cases']): Judged => ({
  schema_version: 'evaluation.v1',
  run_id: version,
  version,
  generated_at: '2026-01-06T12:01:00.000Z',
  judge_version: '0.1.0',
  seal_sha256: hashOf('seal'),
  cases_sha256: hashOf('cases'),
  summary: { total: cases.length, passed: 0, failed: 0, errors: 0, unjudged: 0 },
  cases,
});

test('two folders of runs become two sides, with their conditions, their names and the artifacts that are needed', async () => {
  const root = temporaryFolder();
  const before = await suiteFolder(root, {
    cases: [{ id: 'refund', title: 'A refund', artifact: { events: [call('orders.get')] } }],
  });
  const now = await suiteFolder(root, {
    version: 'new',
    cases: [{ id: 'refund', title: 'A refund', artifact: { events: [call('orders.list')] } }],
  });
  const baseline = trialFrom(before, evaluation('baseline', [judgedCase('refund')]));
  const candidate = trialFrom(now, evaluation('new', [failedCase('refund')]));
  expect(baseline).toMatchObject({
    folder: before,
    environmentHash: undefined,
    conditions: {
      'target.kind': 'http',
      'settings.timeout_ms': '15000',
      'settings.idle_timeout_ms': '15000',
      'settings.retries': '2',
      'settings.concurrency': '4',
    },
  });
  expect(baseline.sealSha256).toMatch(/^sha256:/);
  const comparison = compared(
    { source: 'runs', trials: [baseline] },
    { source: 'runs', trials: [candidate] },
    undefined,
    {
      artifactOf: artifactInFolder,
      names: caseNames(now),
    },
  );
  expect(comparison.comparability).toEqual({ state: 'comparable', fields: [] });
  expect(comparison.cases[0]).toMatchObject({ title: 'A refund', divergence: { kind: 'tool_choice' } });
  expect(JSON.stringify(comparison)).not.toContain(root);
});

test('a side of which only a document was kept has no artifacts', () => {
  expect(artifactInFolder(trial('r', [], { folder: undefined }), 'refund')).toBeUndefined();
});
