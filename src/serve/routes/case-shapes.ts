import * as z from 'zod/mini';
import type { RefusalStatus } from '../http/route.ts';
import { anyObject, count, matching, record } from '../../contracts/shape.ts';

/** The parts of a report that runs and comparisons share. */

const kind = z.enum([
  'regressed',
  'improved',
  'flaky',
  'missing',
  'same',
  'pass',
  'fail',
  'error',
  'unjudged',
  'running',
]);

const caseRow = record({
  case_id: z.string(),
  title: z.nullable(z.string()),
  kind,
  suite: z.nullable(z.string()),
  baseline: z.string(),
  new: z.string(),
  error_class: z.nullable(z.string()),
  baseline_ms: z.nullable(z.number()),
  new_ms: z.nullable(z.number()),
  baseline_usd: z.nullable(z.number()),
  new_usd: z.nullable(z.number()),
  why: z.nullable(z.string()),
  finding: z.nullable(z.enum(['broken', 'suspect'])),
  tally: z.nullable(z.string()),
});

const sides = z.array(z.array(z.number()));

export const reportAnswer = record({
  head: anyObject(),
  distributions: record({ latency: sides, cost: sides }),
  urgent: record({ rows: z.array(caseRow), total: count() }),
});

export const caseListAnswer = record({
  total: count(),
  cases: count(),
  from: count(),
  position: z.nullable(count()),
  rows: z.array(caseRow),
  searched: z.nullable(record({ inputs: count(), answers: count(), left_out: count(), chars_max: count() })),
});

export const caseAnswer = record({ row: caseRow, case: anyObject(), trials: anyObject() });

const word = () => z.optional(z.string().check(z.maxLength(200)));

/** A name that cannot be a path. */
export const caseIdText = () => matching(/^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/, 'a case id');

export const caseListQuery = record({
  change: word(),
  verdict: z.optional(z.enum(['pass', 'fail', 'error', 'unjudged', 'running'])),
  error: word(),
  suite: word(),
  cause: word(),
  expectation: word(),
  tag: word(),
  severity: word(),
  q: word(),
  sort: z.optional(z.enum(['id', 'slowest', 'slower', 'faster', 'costlier'])),
  from: z.optional(matching(/^(?:0|[1-9]\d{0,7})$/, 'a position, from 0')),
  limit: z.optional(matching(/^(?:[1-9]\d?|1\d\d|200)$/, 'a number from 1 to 200')),
  around: z.optional(caseIdText()),
});

/** A query as the reading threads take it. */
export function caseQueryOf({ from, limit, ...query }: z.infer<typeof caseListQuery>) {
  return { ...query, from: Number(from ?? 0), limit: Number(limit ?? 100) };
}

/** Why a report cannot be read. */
export const REPORT_REFUSALS: Readonly<Record<string, RefusalStatus>> = {
  no_report: 404,
  no_case: 404,
  bad_comparison: 409,
  cases_broken: 409,
  cases_changed: 409,
  cases_missing: 409,
  evaluation_too_large: 409,
  foreign_journal: 409,
  foreign_run: 409,
  no_verdict: 409,
  not_a_suite: 409,
  not_as_sealed: 409,
  run_not_begun: 409,
  suite_open: 409,
  unreadable_run: 409,
  busy: 503,
  thread_failed: 503,
  too_slow: 503,
};
