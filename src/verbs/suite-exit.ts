import type { ShownSuiteResult } from './run-suite.ts';

/** 0 only if every case has an answer, every limit is met, and not every judged case fails. */
export function suiteExitCode({ runs, isAllFailing, checks }: ShownSuiteResult): 0 | 1 {
  const isWhole = runs.every(({ failed, isOpen }) => failed === 0 && !isOpen);
  const isMet = checks?.every(({ is_met }) => is_met) === true;
  return isWhole && isMet && !isAllFailing ? 0 : 1;
}
