import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { CaseArtifact } from '../../src/contracts/artifacts/index.ts';
import type { Comparison } from '../../src/contracts/comparison/index.ts';
import { Place } from '../support/runs.ts';
import { DEMO_CASES, type DemoCase, demoAgent, regressionsIn, STRICTER_CASES } from '../support/toolkit-demo.ts';

/** Runs both versions of the demo and compares them, as a user would. */
async function demo(cases: readonly DemoCase[], ...flags: string[]) {
  const place = new Place();
  onTestFinished(() => place.remove());
  place.file('cases.json', JSON.stringify(cases));
  const url = await demoAgent().start();
  const suite = ['run', 'suite', 'cases.json', '--base-url', url, ...flags];
  // The agent runs in this process, so commands must not block the event loop.
  const runs = [];
  for (const side of ['baseline', 'new'])
    runs.push(await place.start([...suite, '--as', side, '--run-id', side]).ended);
  const compared = await place.start(['compare', 'baseline', 'new', '--gate', 'strict']).ended;
  const verified = await place.start(['verify', '--strict', '.proctor/runs']).ended;
  const home = path.join(place.cwd, '.proctor');
  const [id = ''] = readdirSync(path.join(home, 'comparisons'));
  const read = (file: string): unknown => JSON.parse(readFileSync(path.join(home, file), 'utf8'));
  const comparison = read(`comparisons/${id}/comparison.json`) as Comparison;
  const artifact = (side: string, one: string) => read(`runs/${side}/${side}/${one}.json`) as CaseArtifact;
  return { runs, compared, verified, comparison, artifact };
}

const idsOf = ({ cases }: Comparison, change: string): string[] =>
  cases.filter(one => one.change === change).map(({ case_id }) => case_id);

describe('the demo of agent-qa-toolkit', () => {
  test.each([
    ['its case file', DEMO_CASES, 4],
    ['its other case file', STRICTER_CASES, 9],
  ])('with %s, compare finds the regressions that its own rules find', async (_, cases, count) => {
    const { compared, verified, comparison, artifact } = await demo(cases);
    const regressions = regressionsIn(cases);
    expect(regressions).toHaveLength(count);
    expect(idsOf(comparison, 'regressed').sort()).toEqual(regressions.sort());
    expect(idsOf(comparison, 'improved')).toEqual(['status-note']);
    expect(compared.code, compared.stderr).toBe(1);
    expect(compared.stdout).toContain('Regression');
    expect(verified.code, verified.stdout).toBe(0);
    for (const side of ['baseline', 'new']) {
      const repairs = cases.map(({ id }) => artifact(side, id).attempts?.at(-1)?.repairs ?? {});
      expect(repairs.filter(({ R6 }) => R6 === 1)).toHaveLength(10);
      expect(repairs.filter(({ R10 }) => R10 === 1)).toHaveLength(side === 'baseline' ? 5 : 4);
      expect(repairs.filter(({ R4 }) => R4 === 1)).toHaveLength(side === 'baseline' ? 0 : 1);
      expect(artifact(side, 'status-note').attempts?.at(-1)).not.toHaveProperty('repairs');
    }
  });

  test('is not comparable with --strict-replies, because most answers cannot be read', async () => {
    const { compared, verified, comparison, artifact } = await demo(DEMO_CASES, '--strict-replies');
    for (const side of ['baseline', 'new']) {
      const failed = DEMO_CASES.filter(({ id }) => artifact(side, id).runner_failure?.class === 'schema_mismatch');
      expect(failed).toHaveLength(10);
    }
    expect(compared.code).toBe(3);
    expect(compared.stdout).toContain('gave no answer that can be read');
    expect(idsOf(comparison, 'regressed')).toEqual([]);
    expect(verified.code, verified.stdout).toBe(0);
  });
});
