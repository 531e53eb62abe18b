import path from 'node:path';
import { printable } from '../../base/printable.ts';
import type { TestResult } from '../../verbs/test/test-project.ts';
import { terminalText } from '../../verbs/terminal.ts';
import type { Paint } from './paint.ts';
import { countText, numberText } from './units.ts';

type SuiteTested = TestResult['suites'][number];

/** The result of one suite: what failed and why, then its verdict. */
export function suiteTestText({ name, fault, subject, exitCode }: SuiteTested, paint: Paint): string {
  const title = `${paint('strong', name)}\n`;
  if (fault) return `${title}${paint('bad', '✗')} ${fault.message.split('\n').map(printable).join('\n')}\n\n`;
  if (!subject) return `${title}${paint('note', '…')} interrupted\n\n`;
  // The last lines count all repetitions, so a note about one of them only matters if something failed.
  const shown = 'run' in subject && exitCode === 0 ? { ...subject, repetition: undefined } : subject;
  return `${title}${terminalText(shown, paint)}\n`;
}

/** The verdict of all suites, the reports and the next command. */
export function endText({ suites, exitCode }: TestResult, isAccepting: boolean, paint: Paint): string {
  const rows = suites.map(
    suite => `${markOf(suite, paint)} ${suite.name.padEnd(width(suites))}  ${sentenceOf(suite, suites.length === 1)}`,
  );
  const reports = suites.flatMap(({ reports: { html } }) => (html === undefined ? [] : [`  report  ${here(html)}`]));
  const accepted = suites.flatMap(({ accepted: one }) =>
    one
      ? [
          `  ${one.isNew ? 'accepted' : 'replaced'}  ${here(one.file)}, ${countText(one.cases, 'case')}, ${numberText(one.passed)} passing`,
        ]
      : [],
  );
  return `${[...rows, ...accepted, ...reports, ...nextText(suites, exitCode, isAccepting)].join('\n')}\n`;
}

function width(suites: readonly SuiteTested[]): number {
  return Math.max(...suites.map(({ name }) => name.length), 0);
}

function markOf({ exitCode }: SuiteTested, paint: Paint): string {
  if (exitCode === 0) return paint('good', '✓');
  return exitCode === 3 ? paint('note', '?') : paint('bad', '✗');
}

/** The result of a suite in one sentence. The report of a lone suite ends with its reason, so this does not repeat it. */
function sentenceOf({ fault, comparison, run, accepted }: SuiteTested, isAlone: boolean): string {
  if (fault) return 'could not run.';
  const open = run?.runs.find(({ isOpen }) => isOpen);
  if (open) return `was interrupted. To continue:  proctor run suite --resume ${printable(open.place.id)}`;
  if (!run) return 'was interrupted.';
  if (comparison && !accepted) return isAlone ? VERDICTS[comparison.verdict] : printable(comparison.reason);
  const silent = run.runs.find(({ failed }) => failed > 0);
  if (silent) {
    const [{ message } = { message: '' }] = silent.troubles;
    return `${countText(silent.failed, 'case')} without an answer. ${printable(message)}`.trimEnd();
  }
  const unmet = run.checks?.find(({ is_met }) => !is_met);
  if (unmet) return printable(unmet.message);
  return passedText(run.runs.map(({ judged }) => judged));
}

const VERDICTS = {
  no_regression: 'passed.',
  regression: 'failed, for the reason above.',
  not_enough_evidence: 'is undecided, for the reason above.',
} as const;

/** The cases that passed, of all repetitions together. */
function passedText(judged: readonly SuiteRun['judged'][]): string {
  const sum = (key: 'total' | 'passed'): number => judged.reduce((all, one) => all + (one?.[key] ?? 0), 0);
  const total = sum('total');
  if (judged.length === 1) return `${numberText(sum('passed'))} of ${countText(total, 'case')} passed.`;
  return `${numberText(sum('passed'))} of ${countText(total, 'trial')} passed: ${countText(judged[0]?.total ?? 0, 'case')}, ${judged.length} times each.`;
}

type SuiteRun = NonNullable<SuiteTested['run']>['runs'][number];

function nextText(suites: readonly SuiteTested[], exitCode: number, isAccepting: boolean): string[] {
  const isFirst = suites.some(({ comparison, fault, subject }) => !comparison && !fault && subject !== null);
  if (isAccepting) return suites.every(({ accepted }) => accepted) ? [COMMIT] : [NOT_ACCEPTED];
  return [
    ...(isFirst ? [NO_BASELINE] : []),
    ...suites.flatMap(suite => tryText(suite)),
    ...(isFirst && exitCode === 0 ? ['  Make this result the baseline:  proctor test --accept'] : []),
    ...(suites.some(({ reports: { html } }) => html !== undefined) ? ['  Open the report:  proctor view'] : []),
  ];
}

/** The command that shows the reply, if a declared target gave no answer. */
function tryText({ subject, run, target }: SuiteTested): string[] {
  if (!subject || !('run' in subject) || !run?.runs.some(({ failed }) => failed > 0)) return [];
  return !/^(target|https?):/.test(subject.run.base_url)
    ? []
    : [`  See what the target replies:  proctor try ${printable(target)} "Hello"`];
}

const NO_BASELINE = '  There is no baseline yet, so only limits decided.';
const COMMIT = '  Commit the baseline, so that later tests compare with it.';
const NOT_ACCEPTED = '  Not every result was accepted: a baseline needs an answer to every case, and every limit met.';

export function suiteTestJson(tested: SuiteTested): object {
  const { name, exitCode, run, comparison, reports, accepted, fault } = tested;
  return {
    name,
    exit_code: exitCode,
    decided_by: fault || !run ? null : comparison ? 'comparison' : 'limits',
    verdict: comparison?.verdict ?? null,
    reason: comparison?.reason ?? null,
    comparison_id: comparison?.comparison_id ?? null,
    run_ids: run?.runs.map(({ place }) => place.id) ?? [],
    judged: run?.runs.map(({ judged }) => judged ?? null) ?? [],
    not_passed: [...new Set(run?.runs.flatMap(({ notPassed }) => notPassed))],
    checks: run?.checks ?? null,
    reports: Object.fromEntries(Object.entries(reports).map(([format, file]) => [format, here(file)])),
    accepted: accepted && { file: here(accepted.file), cases: accepted.cases, passed: accepted.passed },
    error: fault,
  };
}

function here(file: string): string {
  return printable(path.relative(process.cwd(), file));
}
