import { mkdirSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { COMPARISON_ROUTES } from '../../../src/serve/routes/comparisons.ts';
import { Place } from '../../support/runs.ts';
import { misfits, type ServedProject, servedUntilStopped } from '../../support/serve.ts';
import { suiteFolder } from '../../support/suite-world.ts';

const place = new Place();
let project: ServedProject;
beforeAll(async () => {
  const runs = path.join(place.cwd, '.proctor', 'runs');
  mkdirSync(runs, { recursive: true });
  const cases = ['a', 'b', 'c'].map(id => ({ id, expected: { contains: ['The answer'] } }));
  await suiteFolder(runs, { version: 'baseline', runId: 'suite_20260106_110000_000000000001', cases });
  const artifact = { final_output: { content_type: 'text' as const, content: 'Nothing.' } };
  const worse = cases.map(one => (one.id === 'b' ? { id: 'b', expected: one.expected, artifact } : one));
  await suiteFolder(runs, { version: 'new', runId: 'suite_20260106_120000_000000000002', cases: worse });
  project = await servedUntilStopped(place.cwd);
});
afterAll(async () => {
  await project.stop();
  place.remove();
});

interface Body {
  readonly comparison: { readonly comparison_id: string };
  readonly comparisons: readonly { readonly comparison_id: string }[];
  readonly runs: readonly { readonly run_id: string }[];
  readonly rows: readonly { readonly case_id: string; readonly kind: string }[];
  readonly error: { readonly code: string };
}

async function ask(at: string, body?: object): Promise<{ status: number; body: Body }> {
  const init = body && {
    method: 'POST',
    body: JSON.stringify(body),
    headers: { 'content-type': 'application/json' },
  };
  return (await project.json(at, init)) as { status: number; body: Body };
}

function fits(name: string, body: unknown): void {
  const route = COMPARISON_ROUTES.find(one => one.name === name);
  expect(route && misfits(route, body)).toEqual([]);
}

const RUN = 'suite_20260106_120000_000000000002';
const BEFORE = 'suite_20260106_110000_000000000001';

test('offers the other runs of a suite, compares with one, and lists, reports and opens the result', async () => {
  const choices = await ask(`/v1/runs/${RUN}/baselines`);
  fits('runBaselines', choices.body);
  expect(choices.body.runs.map(({ run_id }) => run_id)).toEqual([BEFORE]);
  const made = await ask('/v1/comparisons', { candidate: RUN, baseline_run: BEFORE });
  expect(made.status).toBe(201);
  fits('makeComparison', made.body);
  const { comparison_id: id } = made.body.comparison;
  const list = await ask(`/v1/comparisons?run=${RUN}`);
  fits('listComparisons', list.body);
  expect(list.body.comparisons.map(({ comparison_id }) => comparison_id)).toEqual([id]);
  expect((await ask('/v1/comparisons?run=other')).body.comparisons).toEqual([]);
  fits('showComparison', (await ask(`/v1/comparisons/${id}`)).body);
  fits('comparisonReport', (await ask(`/v1/comparisons/${id}/report`)).body);
  const cases = await ask(`/v1/comparisons/${id}/cases?change=regressed`);
  fits('comparisonCases', cases.body);
  expect(cases.body.rows).toMatchObject([{ case_id: 'b', kind: 'regressed' }]);
  fits('comparisonCase', (await ask(`/v1/comparisons/${id}/cases/b`)).body);
});

test.each([
  [{ candidate: RUN, baseline_run: RUN }, 409, 'same_run'],
  [{ candidate: RUN }, 422, 'invalid_input'],
  [{ candidate: RUN, baseline_run: BEFORE, baseline_name: 'x' }, 422, 'invalid_input'],
  [{ candidate: RUN, baseline_name: '../../etc/passwd' }, 404, 'no_baseline'],
  [{ candidate: 'none', baseline_run: BEFORE }, 404, 'no_run'],
  [{ candidate: '../new', baseline_run: BEFORE }, 422, 'invalid_input'],
])('refuses %j', async (body, status, code) => {
  const answer = await ask('/v1/comparisons', body);
  expect([answer.status, answer.body.error.code]).toEqual([status, code]);
});

test('an id from outside never becomes a path', async () => {
  expect((await ask('/v1/comparisons/none')).body.error.code).toBe('no_comparison');
  expect((await ask('/v1/comparisons/..%2fruns')).status).toBe(422);
});
