import { clip } from '../../base/clip.ts';
import type { CheckInCase } from '../../contracts/artifacts/index.ts';
import type { Answer } from './answer.ts';
import { all, fails, holds, type Judge, type Judgement } from './judgement.ts';
import { saying } from './sentence.ts';
import { Unjudgeable } from './unjudgeable.ts';

export const checkPasses: Judge<'check'> = (expected, answer) => {
  const checks = checksOf(answer);
  return all(expected).map(name => {
    const check = checks.find(one => one.name === name);
    if (!check) throw new Unjudgeable(`The run does not record the check ${name}.`);
    return passing(decided(check));
  });
};

export const testCounts: Judge<'tests'> = ({ passed_min, failed_max }, answer) => {
  const checks = checksOf(answer)
    .filter(({ report }) => report)
    .map(decided);
  if (checks.length === 0) return [fails('No check of this case declares a test report.', null)];
  const silent = checks.find(({ tests }) => !tests);
  if (silent) return [fails(`The check ${silent.name} left no readable test report: ${reasonText(silent)}`, null)];
  const sum = (key: 'total' | 'passed' | 'failed'): number =>
    checks.reduce((before, { tests }) => before + (tests?.[key] ?? 0), 0);
  return [
    ...(passed_min === undefined ? [] : [enoughPassed(sum('passed'), sum('total'), passed_min)]),
    ...(failed_max === undefined ? [] : [fewFailed(checks, sum('failed'), failed_max)]),
  ];
};

function enoughPassed(passed: number, total: number, least: number): Judgement {
  if (passed >= least) return holds(null);
  return fails(
    `${passed} of ${total} tests ${passed === 1 ? 'passes' : 'pass'}, but at least ${least} must pass.`,
    null,
  );
}

function fewFailed(checks: readonly CheckInCase[], failed: number, most: number): Judgement {
  if (failed <= most) return holds(null);
  const worst = checks.find(({ tests }) => (tests?.failed ?? 0) > 0) as CheckInCase;
  const allowed = most === 0 ? '' : ` At most ${most} may fail.`;
  return fails(`${failuresOf(worst)}${allowed}`, null);
}

function passing(check: CheckInCase): Judgement {
  if (check.verdict === 'passed') return holds(null);
  const { tests, reason } = check;
  if (reason === 'tests_failed' && tests) return fails(failuresOf(check), null);
  return fails(`The check ${check.name} does not pass: ${reasonText(check)}`, null);
}

/** "3 of 14 tests of the check hidden fail: parse handles empty input, …". */
function failuresOf({ name, tests }: CheckInCase): string {
  const { total = 0, failed = 0, failures = [] } = tests ?? {};
  const what = `${failed} of ${total} tests of the check ${name} ${failed === 1 ? 'fails' : 'fail'}`;
  const shown = testNames(failures);
  if (shown.length === 0) return `${what}.`;
  return `${what}: ${shown.join(', ')}${failed > shown.length ? ', …' : '.'}`;
}

/** The tested code writes the names of tests, so Proctor shortens and masks them, or leaves them out. */
function testNames(names: readonly string[]): string[] {
  return names
    .map(name => saying(clip(name, NAME_BYTES_MAX).text, ''))
    .filter(name => name !== '')
    .slice(0, NAMES_MAX);
}

const NAMES_MAX = 3;
const NAME_BYTES_MAX = 60;

/** The message of a check can quote a test name or a path. */
function reasonText({ message, reason }: CheckInCase): string {
  return saying(clip(message, MESSAGE_BYTES).text, `${reason}.`);
}

const MESSAGE_BYTES = 200;

/** Throws if Proctor or the machine is the reason why a check has no result. */
function decided(check: CheckInCase): CheckInCase {
  if (isDecided(check)) return check;
  throw new Unjudgeable(`The check ${check.name} has no result: ${reasonText(check)}`);
}

/** Whether the tree decided the check. The agent can suppress a report or bloat the tree, so neither is an excuse. */
function isDecided({ verdict, reason, second_look }: CheckInCase): boolean {
  if (verdict === 'passed' || verdict === 'failed') return true;
  return BY_THE_TREE.has(reason === 'second_look_differs' ? (second_look?.reason ?? '') : reason);
}

const BY_THE_TREE: ReadonlySet<string> = new Set([
  'no_report',
  'no_tests',
  'unreadable_report',
  'command_not_found',
  'tree_too_large',
]);

function checksOf({ artifact: { agent_run } }: Answer): readonly CheckInCase[] {
  if (!agent_run) throw new Unjudgeable('This expectation applies only to runs of an agent program.');
  if (!agent_run.checks) throw new Unjudgeable('The run does not record any check.');
  return agent_run.checks;
}
