import { isObject } from '../../contracts/kind.ts';
import { rowName, type ResultRow, ResultFault } from './row.ts';

/** The tests of a CTRF report. A test that passed only on a retry counts as failed, because its first try failed. */
export function* ctrfRows(report: unknown): Generator<ResultRow> {
  const results = isObject(report) ? report['results'] : undefined;
  const tests = isObject(results) ? results['tests'] : undefined;
  if (!Array.isArray(tests))
    throw new ResultFault(undefined, 'The JSON is neither a CTRF report (results.tests) nor one object per line');
  for (const [index, test] of (tests as readonly unknown[]).entries()) yield rowOf(test, index);
}

function rowOf(test: unknown, index: number): ResultRow {
  const at = `results.tests[${index}]`;
  const { name, suite, status, duration, retries, flaky } = isObject(test) ? test : {};
  if (typeof name !== 'string') throw new ResultFault(undefined, `${at}.name must be a string`);
  const suites: readonly unknown[] = Array.isArray(suite) ? suite : suite === undefined ? [] : [suite];
  if (!suites.every(part => typeof part === 'string'))
    throw new ResultFault(undefined, `${at}.suite must be a string or a list of strings`);
  if (typeof status !== 'string' || !Object.hasOwn(PASSES, status))
    throw new ResultFault(undefined, `${at}.status must be one of ${Object.keys(PASSES).join(', ')}`);
  const isRetried = flaky === true || (typeof retries === 'number' && retries > 0);
  const named = rowName([...suites, name]);
  if (named === '') throw new ResultFault(undefined, `${at}.name is blank`);
  const pass = PASSES[status] as boolean | null;
  return {
    case: named,
    pass: pass === true && isRetried ? false : pass,
    rerun: false,
    metrics: typeof duration === 'number' && duration >= 0 ? { latency_ms: duration } : {},
    line: 1,
  };
}

/** The meaning of each status; null if the test did not run or its result is unknown. */
const PASSES: Readonly<Record<string, boolean | null>> = {
  passed: true,
  failed: false,
  skipped: null,
  pending: null,
  other: null,
};
