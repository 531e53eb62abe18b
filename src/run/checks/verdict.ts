import type { CheckResult } from '../../contracts/check-result/index.ts';
import type { CheckTests } from '../../contracts/check-result/shape.ts';
import type { Ending } from '../../contracts/ending.ts';

export type CheckVerdict = Pick<CheckResult, 'verdict' | 'reason' | 'message'>;

/**
 * What a check that ended says about the tree. Proctor's own stops come first, then the report, then the exit code. A
 * check that declares a report and ran no test never passes.
 */
export function checkVerdictOf(
  ending: Ending,
  report: { readonly isDeclared: boolean; readonly isFound: boolean; readonly tests: CheckTests | null },
): CheckVerdict {
  const stopped = stoppedVerdict(ending);
  if (stopped) return stopped;
  const code = 'code' in ending ? ending.code : null;
  const { isDeclared, isFound, tests } = report;
  if (tests && tests.failed > 0) return { verdict: 'failed', reason: 'tests_failed', message: failuresText(tests) };
  if (code !== 0) {
    const message = code === null ? 'A signal ended the check.' : `The check exited with code ${code}.`;
    return { verdict: 'failed', reason: code === null ? 'signalled' : 'exit_code', message };
  }
  if (!isDeclared)
    return { verdict: 'passed', reason: 'ok', message: 'The check exited with code 0. No report is declared.' };
  if (!isFound) return none('no_report', 'The check exited with code 0 but did not write its report.');
  if (!tests)
    return { verdict: 'unknown', reason: 'unreadable_report', message: 'The report is neither JUnit nor CTRF.' };
  if (tests.passed === 0) return none('no_tests', 'The check exited with code 0 but ran no test.');
  return { verdict: 'passed', reason: 'ok', message: passedText(tests) };
}

function none(reason: string, message: string): CheckVerdict {
  return { verdict: 'did_not_run', reason, message };
}

/** The verdict if a limit, a missing program or a cancellation ended the check. */
function stoppedVerdict(ending: Ending): CheckVerdict | undefined {
  if (ending.how === 'out_of_memory')
    return { verdict: 'failed', reason: 'out_of_memory', message: 'The check ran out of memory.' };
  if (ending.how === 'lost')
    return { verdict: 'unknown', reason: 'interrupted', message: 'The check was interrupted.' };
  if (ending.how === 'killed') {
    if (ending.by === 'cancel') return none('cancelled', 'The run was cancelled before the check ended.');
    return { verdict: 'failed', reason: 'timeout', message: 'The check reached its time limit.' };
  }
  // The sandbox starts the shell, so the agent's tree cannot cause this.
  if (ending.how === 'not_started')
    return none('spawn_failed', 'Proctor could not start the shell of this check. The agent did not cause this.');
  const isMissing = ending.how === 'exited' && (ending.code === 127 || ending.code === 126);
  return isMissing ? none('command_not_found', 'The shell could not find or start the command.') : undefined;
}

/** Such as "3 of 14 tests fail: parse handles empty input". */
function failuresText({ failed, total, failures }: CheckTests): string {
  const [first] = failures;
  const more = failed > 1 && first !== undefined ? `, and ${failed - 1} more` : '';
  return `${failed} of ${total} tests ${failed === 1 ? 'fails' : 'fail'}${first === undefined ? '' : `: ${first}${more}`}`;
}

function passedText({ passed, total, skipped }: CheckTests): string {
  return `${passed} of ${total} tests ${passed === 1 ? 'passes' : 'pass'}${skipped > 0 ? `, ${skipped} skipped` : ''}.`;
}
