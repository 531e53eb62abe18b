import type { CaseState, HistoryRun, Since } from '../../reports/pages/history-data.ts';

type Result = 'pass' | 'fail' | 'mixed' | null;

/** What the states of cases need to know about the runs. */
export interface StateContext {
  readonly runs: readonly Pick<
    HistoryRun,
    'run_id' | 'side' | 'started_at' | 'commit' | 'dirty' | 'partial' | 'cases'
  >[];
  /** The runs of this side decide. */
  readonly side: HistoryRun['side'];
  readonly hasOlder: boolean;
}

/** The state of a case, and when it began. `trials` has one entry per run, oldest first. */
export function caseStateOf(
  trials: readonly string[],
  isFlaky: boolean,
  context: StateContext,
): { readonly state: CaseState; readonly since: Since | null } {
  const { runs, side } = context;
  const results = trials.map((letters, index) => (runs[index]?.side === side ? resultOf(letters) : null));
  const last = results.findLastIndex(result => result !== null);
  if (isGone(trials, context)) return { state: 'gone', since: null };
  if (last === -1) return { state: 'unknown', since: null };
  if (results[last] === 'mixed' || (results[last] === 'pass' && isFlaky)) return { state: 'flaky', since: null };
  if (results[last] === 'fail') {
    const passed = results.findLastIndex(result => result === 'pass');
    return { state: 'fails', since: sinceAt(firstAfter(results, passed, 'fail'), passed === -1, context) };
  }
  const failed = results.findLastIndex(result => result === 'fail' || result === 'mixed');
  if (failed === -1) return { state: 'passes', since: null };
  return { state: 'fixed', since: sinceAt(firstAfter(results, failed, 'pass'), false, context) };
}

/** Trials without a verdict say nothing. */
function resultOf(letters: string): Result {
  const [passes, fails] = [letters.includes('p'), letters.includes('f')];
  return passes && fails ? 'mixed' : passes ? 'pass' : fails ? 'fail' : null;
}

function isGone(trials: readonly string[], { runs, side }: StateContext): boolean {
  const complete = runs.findLastIndex(run => run.side === side && !run.partial && run.cases !== null);
  return complete !== -1 && trials.slice(complete).every(letters => letters === '');
}

function firstAfter(results: readonly Result[], after: number, wanted: Result): number {
  return results.findIndex((result, index) => index > after && (result === wanted || result === 'mixed'));
}

function sinceAt(run: number, isFromStart: boolean, { runs, hasOlder }: StateContext): Since | null {
  const found = runs[run];
  if (!found) return null;
  const { run_id, commit, dirty, started_at } = found;
  return { run, run_id, commit, dirty, started_at, or_before: isFromStart && hasOlder };
}
