import path from 'node:path';
import { printable } from '../../base/printable.ts';
import type { TestResult } from '../../verbs/test/test-project.ts';
import { terminalText } from '../../verbs/terminal.ts';
import type { Paint } from './paint.ts';
import { countText, numberText } from './units.ts';

type SuiteTested = TestResult['suites'][number];

/** The result of one suite: what failed and why, then its verdict. */
export function suiteTestText({ name, fault, subject, parts }: SuiteTested, paint: Paint): string {
  const title = `${paint('strong', name)}\n`;
  if (fault) return `${title}${paint('bad', '✗')} ${fault.message.split('\n').map(printable).join('\n')}\n\n`;
  if (parts.length > 0) return '';
  if (!subject) return `${title}${paint('note', '…')} interrupted\n\n`;
  return `${title}${terminalText(subject, paint, { hasVerdict: false })}\n`;
}

/** The verdict of all suites, the reports and the next command. */
export function endText({ suites, exitCode }: TestResult, isAccepting: boolean, paint: Paint): string {
  const rows = suites.map(suite => `${markOf(suite, paint)} ${suite.name.padEnd(width(suites))}  ${sentenceOf(suite)}`);
  const reports = suites.flatMap(({ reports: { html } }) => (html === undefined ? [] : [`  report  ${here(html)}`]));
  const accepted = suites.flatMap(({ accepted: one }) =>
    one
      ? [
          `  ${one.isNew ? 'accepted' : 'replaced'}  ${here(one.file)}, ${countText(one.cases, 'case')}, ${numberText(one.passed)} passing`,
        ]
      : [],
  );
  const packs = suites.flatMap(({ parts }) => parts.map(file => `  part    ${here(file)}`));
  if (packs.length > 0) return `${[...rows, ...packs, COLLECT].join('\n')}\n`;
  return `${[...rows, ...accepted, ...reports, ...nextText(suites, exitCode, isAccepting)].join('\n')}\n`;
}

function width(suites: readonly SuiteTested[]): number {
  return Math.max(...suites.map(({ name }) => name.length), 0);
}

function markOf({ exitCode }: SuiteTested, paint: Paint): string {
  if (exitCode === 0) return paint('good', '✓');
  return exitCode === 3 ? paint('note', '?') : paint('bad', '✗');
}

function sentenceOf({ fault, comparison, run, accepted, parts }: SuiteTested): string {
  if (fault) return 'could not run.';
  const open = run?.runs.find(({ isOpen }) => isOpen);
  if (open) return `was interrupted. To continue:  proctor run suite --resume ${printable(open.place.id)}`;
  if (!run) return 'was interrupted.';
  if (comparison && !accepted) return printable(comparison.reason);
  if (parts.length > 0 && run.shard)
    return `part ${run.shard.index} of ${run.shard.total}: ${passedText(run.runs.map(({ judged }) => judged))}`;
  const silent = run.runs.find(({ failed }) => failed > 0);
  if (silent) {
    const [{ message } = { message: '' }] = silent.troubles;
    return `${countText(silent.failed, 'case')} without an answer. ${printable(message)}`.trimEnd();
  }
  const unmet = run.checks?.find(({ is_met }) => !is_met);
  if (unmet) return printable(unmet.message);
  return passedText(run.runs.map(({ judged }) => judged));
}

/** The cases that passed, of all repetitions together. */
function passedText(judged: readonly SuiteRun['judged'][]): string {
  const sum = (key: 'total' | 'passed' | 'unjudged'): number => judged.reduce((all, one) => all + (one?.[key] ?? 0), 0);
  const [total, unjudged] = [sum('total'), sum('unjudged')];
  // A case with nothing to judge counts as passed in the evaluation, but it proves nothing.
  const passed = numberText(sum('passed') - unjudged);
  const open = unjudged > 0 ? `, ${numberText(unjudged)} not judged` : '';
  if (judged.length === 1) return `${passed} of ${countText(total, 'case')} passed${open}.`;
  return `${passed} of ${countText(total, 'trial')} passed${open}: ${countText(judged[0]?.total ?? 0, 'case')}, ${judged.length} times each.`;
}

type SuiteRun = NonNullable<SuiteTested['run']>['runs'][number];

function nextText(suites: readonly SuiteTested[], exitCode: number, isAccepting: boolean): string[] {
  const isFirst = suites.some(({ comparison, fault, subject }) => !comparison && !fault && subject !== null);
  if (isAccepting) return suites.every(({ accepted }) => accepted) ? [COMMIT] : [NOT_ACCEPTED];
  return [
    ...(isFirst ? [suites.some(isUndecided) ? NO_LIMIT : NO_BASELINE] : []),
    ...suites.flatMap(tryText),
    ...(suites.some(isAcceptable) ? ['  If the change is intended:  proctor test --accept'] : []),
    ...(isFirst && exitCode === 0 ? ['  Make this result the baseline:  proctor test --accept'] : []),
    ...(suites.some(({ reports: { html } }) => html !== undefined) ? ['  Open the report:  proctor view'] : []),
  ];
}

/** Whether cases did not pass, and neither a baseline nor a limit could say that this is bad. */
function isUndecided({ exitCode, comparison, run }: SuiteTested): boolean {
  const isLimited = (run?.checks ?? []).length > 0;
  return (
    exitCode === 0 && !comparison && !isLimited && run?.runs.some(({ notPassed }) => notPassed.length > 0) === true
  );
}

const NO_LIMIT =
  '  There is neither a baseline nor a limit, so a failing case does not fail the test. To change that:  gate: { limits: { max_failing: 0 } }';

/** Whether `--accept` would take a result that the comparison rejects. */
function isAcceptable({ comparison, exitCode, run }: SuiteTested): boolean {
  if (!comparison || exitCode === 0 || !run) return false;
  return run.runs.every(({ failed }) => failed === 0) && (run.checks ?? []).every(({ is_met }) => is_met);
}

/** The command that shows the reply, if a declared target gave no answer. Scripts and agents have none to show. */
function tryText({ subject, run, target }: SuiteTested): string[] {
  if (!subject || !('run' in subject) || !run?.runs.some(({ failed }) => failed > 0)) return [];
  if (!/^(target|https?):/.test(subject.run.base_url)) return [];
  return [`  See what the target replies:  proctor try ${printable(target)} "Hello"`];
}

const NO_BASELINE = '  There is no baseline yet, so only limits decided.';
const COLLECT = '  A part decides nothing. Collect the packs of all parts, then decide:  proctor test --parts FOLDER';
const COMMIT = '  Commit the baseline, so that later tests compare with it.';
const NOT_ACCEPTED = '  Not every result was accepted: every case must have an answer, and every limit must be met.';

export function suiteTestJson(tested: SuiteTested): object {
  const { name, exitCode, run, comparison, reports, accepted, parts, fault } = tested;
  return {
    name,
    exit_code: exitCode,
    decided_by: fault || !run || parts.length > 0 ? null : comparison ? 'comparison' : 'limits',
    verdict: comparison?.verdict ?? null,
    reason: comparison?.reason ?? null,
    comparison_id: comparison?.comparison_id ?? null,
    run_ids: run?.runs.map(({ place }) => place.id) ?? [],
    judged: run?.runs.map(({ judged }) => judged ?? null) ?? [],
    not_passed: [...new Set(run?.runs.flatMap(({ notPassed }) => notPassed))],
    checks: run?.checks ?? null,
    reports: Object.fromEntries(Object.entries(reports).map(([format, file]) => [format, here(file)])),
    ...(run?.shard && { shard: run.shard, parts: parts.map(here) }),
    accepted: accepted && { file: here(accepted.file), cases: accepted.cases, passed: accepted.passed },
    error: fault,
  };
}

function here(file: string): string {
  return printable(path.relative(process.cwd(), file));
}
