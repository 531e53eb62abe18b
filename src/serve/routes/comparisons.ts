import * as z from 'zod/mini';
import { Fault } from '../../base/fault.ts';
import { count, matching, record } from '../../contracts/shape.ts';
import { jsonContent, type Route, route } from '../http/route.ts';
import {
  caseAnswer,
  caseIdText,
  caseListAnswer,
  caseListQuery,
  caseQueryOf,
  REPORT_REFUSALS,
  reportAnswer,
} from './case-shapes.ts';
import { runId, runParams } from './run-at.ts';
import { suiteAt } from './run-report.ts';

const side = z.nullable(record({ source: z.enum(['runs', 'accepted']), run_ids: z.array(z.string()) }));

const comparisonRow = record({
  comparison_id: z.string(),
  state: z.enum(['sealed', 'untrusted']),
  message: z.nullable(z.string()),
  generated_at: z.nullable(z.string()),
  verdict: z.nullable(z.enum(['no_regression', 'regression', 'not_enough_evidence'])),
  word: z.nullable(z.string()),
  mode: z.nullable(z.string()),
  baseline: side,
  candidate: side,
  summary: z.nullable(
    record({ cases: count(), regressed: count(), improved: count(), flaky: count(), missing: count(), same: count() }),
  ),
});

const comparisonParams = record({ comparison_id: runId() });
const REFUSALS = { ...REPORT_REFUSALS, no_comparison: 404 } as const;

const listComparisonsRoute = route({
  name: 'listComparisons',
  method: 'GET',
  path: '/v1/comparisons',
  role: 'viewer',
  why: 'Lists sealed comparisons, newest first, or only those of a run.',
  query: record({
    run: z.optional(runId()),
    after: z.optional(runId()),
    limit: z.optional(matching(/^(?:[1-9]\d?|100)$/, 'a number from 1 to 100')),
  }),
  gives: record({ comparisons: z.array(comparisonRow), next: z.nullable(z.string()) }),
  refuses: { ...REFUSALS, page_gone: 410 },
  act: ({ query }, { server }) => server.comparisons.list({ ...query, limit: Number(query.limit ?? 50) }),
});

const comparisonReportRoute = route({
  name: 'comparisonReport',
  method: 'GET',
  path: '/v1/comparisons/{comparison_id}/report',
  role: 'viewer',
  why: 'Gives the verdict of a comparison and its overview.',
  params: comparisonParams,
  gives: reportAnswer,
  refuses: REFUSALS,
  act: async ({ params }, { server }) =>
    jsonContent(
      await server.data.report({ of: 'comparison', folder: server.comparisons.folderOf(params.comparison_id) }),
    ),
});

const showComparisonRoute = route({
  name: 'showComparison',
  method: 'GET',
  path: '/v1/comparisons/{comparison_id}',
  role: 'viewer',
  why: 'Shows the verdict, the sides and the counts of one comparison.',
  params: comparisonParams,
  gives: comparisonRow,
  refuses: REFUSALS,
  act: ({ params }, { server }) => server.comparisons.row(server.comparisons.folderOf(params.comparison_id)),
});

const comparisonCasesRoute = route({
  name: 'comparisonCases',
  method: 'GET',
  path: '/v1/comparisons/{comparison_id}/cases',
  role: 'viewer',
  why: 'Lists the cases of a comparison, regressions first.',
  params: comparisonParams,
  query: caseListQuery,
  gives: caseListAnswer,
  refuses: REFUSALS,
  act: async ({ params, query }, { server }) =>
    jsonContent(
      await server.data.cases(
        { of: 'comparison', folder: server.comparisons.folderOf(params.comparison_id) },
        caseQueryOf(query),
      ),
    ),
});

const comparisonCaseRoute = route({
  name: 'comparisonCase',
  method: 'GET',
  path: '/v1/comparisons/{comparison_id}/cases/{case_id}',
  role: 'viewer',
  why: 'Gives a case of a comparison with both sides, their aligned events and the cause. Long texts are cut.',
  params: record({ comparison_id: runId(), case_id: caseIdText() }),
  gives: caseAnswer,
  refuses: REFUSALS,
  act: async ({ params }, { server }) =>
    jsonContent(
      await server.data.case(
        { of: 'comparison', folder: server.comparisons.folderOf(params.comparison_id) },
        params.case_id,
      ),
    ),
});

const runBaselinesRoute = route({
  name: 'runBaselines',
  method: 'GET',
  path: '/v1/runs/{run_id}/baselines',
  role: 'viewer',
  why: 'Lists what a suite run can be compared with: other runs of its suite, and accepted baselines.',
  params: runParams,
  gives: record({
    runs: z.array(
      record({
        run_id: z.string(),
        side: z.enum(['baseline', 'new']),
        trials: count(),
        generated_at: z.string(),
        target: z.string(),
      }),
    ),
    accepted: z.array(record({ name: z.string(), trials: count(), run_ids: z.array(z.string()) })),
  }),
  refuses: REFUSALS,
  act: ({ params }, { server }) => server.comparisons.choices(suiteAt(params.run_id, server).folder),
});

const makeComparisonRoute = route({
  name: 'makeComparison',
  method: 'POST',
  path: '/v1/comparisons',
  role: 'runner',
  why: 'Compares a suite run with a baseline, and seals the result. Answers 202 if it takes long; ask again to wait.',
  body: record({
    candidate: runId(),
    /** Exactly one of the two. */
    baseline_run: z.optional(runId()),
    baseline_name: z.optional(z.string().check(z.minLength(1), z.maxLength(300))),
    mode: z.optional(z.enum(['balanced', 'proven', 'strict'])),
  }),
  status: 201,
  unfinishedStatus: 202,
  gives: record({ state: z.enum(['sealed', 'comparing']), comparison: z.nullable(comparisonRow) }),
  refuses: {
    ...REFUSALS,
    no_baseline: 404,
    bad_baseline: 409,
    same_run: 409,
    incomplete: 409,
    folder_failed: 503,
  },
  act: async ({ body }, { server }) => {
    server.checkReady();
    const { candidate, baseline_run: run, baseline_name: accepted, mode } = body;
    if ((run === undefined) === (accepted === undefined))
      throw new Fault('invalid_input', 'Specify exactly one of baseline_run and baseline_name.');
    const baseline = run === undefined ? { accepted: accepted ?? '' } : { folder: suiteAt(run, server).folder };
    const made = await server.comparisons.make({ baseline, candidate: suiteAt(candidate, server).folder, mode });
    const answer = { state: made ? 'sealed' : 'comparing', comparison: made ?? null };
    const headers = { 'content-type': 'application/json; charset=utf-8' };
    return new Response(JSON.stringify(answer), { status: made ? 201 : 202, headers });
  },
});

/** Comparisons of suite runs. */
export const COMPARISON_ROUTES: readonly Route[] = [
  listComparisonsRoute,
  makeComparisonRoute,
  showComparisonRoute,
  comparisonReportRoute,
  comparisonCasesRoute,
  comparisonCaseRoute,
  runBaselinesRoute,
];
