import { closeSync, readFileSync } from 'node:fs';
import { readJson } from '../../base/json.ts';
import { printable } from '../../base/printable.ts';
import { openBelow } from '../../base/regular.ts';
import type { CheckResult } from '../../contracts/check-result/index.ts';
import type { CheckTests } from '../../contracts/check-result/shape.ts';
import { isObject } from '../../contracts/kind.ts';
import { ctrfRows } from '../results/ctrf.ts';
import { junitRows } from '../results/junit.ts';
import { ResultFault, type ResultRow } from '../results/row.ts';
import { plainText } from '../written/plain-text.ts';

/** A test report that a check left: its bytes and, if it is valid, what it counts. */
export interface ReadReport {
  readonly bytes: Buffer;
  readonly format: NonNullable<CheckResult['report']>['format'];
  readonly tests: CheckTests | null;
}

/** Reads a report from the tree of a check whose processes have all ended. Follows no link. Undefined if there is none. */
export function readReport(top: string, at: string, mask: (text: string) => string): ReadReport | undefined {
  const bytes = bytesAt(top, at);
  if (!bytes) return undefined;
  const text = plainText(bytes);
  if (typeof text !== 'string') return { bytes, format: null, tests: null };
  const start = text.trimStart();
  try {
    if (start.startsWith('<')) return { bytes, format: 'junit', tests: counted(junitRows(start), mask) };
    const json = readJson(Buffer.from(start), { bytesMax: REPORT_BYTES_MAX });
    if (json.ok) return { bytes, format: 'ctrf', tests: agreed(json.value, counted(ctrfRows(json.value), mask)) };
  } catch (error) {
    if (!(error instanceof ResultFault)) throw error;
  }
  return { bytes, format: null, tests: null };
}

const REPORT_BYTES_MAX = 16 * 1024 * 1024;

function bytesAt(top: string, at: string): Buffer | undefined {
  try {
    const { fd, stat } = openBelow(top, at);
    try {
      return stat.isFile() && stat.size <= REPORT_BYTES_MAX ? readFileSync(fd) : undefined;
    } finally {
      closeSync(fd);
    }
  } catch {
    // Missing, a link, or unreadable.
    return undefined;
  }
}

function counted(rows: Iterable<ResultRow>, mask: (text: string) => string): CheckTests {
  const tests = { total: 0, passed: 0, failed: 0, skipped: 0, failures: [] as string[] };
  for (const { case: name, pass } of rows) {
    tests.total++;
    if (pass === null) tests.skipped++;
    else if (pass) tests.passed++;
    else {
      tests.failed++;
      if (tests.failures.length < FAILURES_MAX)
        tests.failures.push(printable(mask(plain(name))).slice(0, NAME_UNITS_MAX));
    }
  }
  return tests;
}

/** Without the class that Node's reporter gives to every test. */
function plain(name: string): string {
  return name.replace(/^test > (?=.)/, '');
}

/** A summary that disagrees with the list of tests hides a test, so the report does not count. */
function agreed(report: unknown, tests: CheckTests): CheckTests | null {
  const { summary, tests: listed } = (report as { results: { summary?: unknown; tests: readonly unknown[] } }).results;
  if (summary === undefined) return tests;
  if (!isObject(summary) || summary['tests'] !== tests.total) return null;
  const failed = listed.filter(test => isObject(test) && test['status'] === 'failed').length;
  return summary['failed'] === failed ? tests : null;
}

const FAILURES_MAX = 100;
const NAME_UNITS_MAX = 200;
