import { Fault } from '../base/fault.ts';
import type { RunEvent } from '../contracts/run-events.ts';
import type { Checker } from '../contracts/seal/index.ts';
import type { RunFolder } from '../evidence/run-folder/runs.ts';
import { followRun } from './follow-run.ts';
import { openSuiteIn } from './recover.ts';
import { runExitCode, untilJudged } from './run-exit.ts';

export interface WatchOptions {
  /** Stops watching. The run continues. */
  readonly signal: AbortSignal;
  readonly onEvent: (event: RunEvent) => void;
  /** The key that verifies the evaluation of a suite. */
  readonly key: Checker | undefined;
}

/** How watching ended. A sealed run has the exit code of its own command. */
export type WatchEnd = { readonly how: 'sealed'; readonly exitCode: 0 | 1 } | { readonly how: 'dead' | 'stopped' };

/** Reports the events of a run until it has ended and, for a suite, is judged. Needs no server. */
export async function watchRun(place: RunFolder, { signal, onEvent, key }: WatchOptions): Promise<WatchEnd> {
  let owner = ownerIn(place);
  for await (const event of followRun(place, { signal })) {
    onEvent(event);
    if (event.kind === 'begun') owner = ownerIn(place) ?? owner;
    if (event.kind === 'dead') return { how: 'dead' };
    if (event.kind === 'foreign')
      throw new Fault('not_started_here', 'You did not start this run on this machine, so Proctor does not follow it.');
    if (event.kind === 'gone') throw new Fault('no_run', 'The run folder was removed, or contains no run.');
    if (event.kind !== 'sealed') continue;
    await untilJudged(place, owner, signal);
    return signal.aborted ? { how: 'stopped' } : { how: 'sealed', exitCode: await runExitCode(place, key) };
  }
  return { how: 'stopped' };
}

/** How many cases of an open suite are finished; undefined for another run. */
export function suiteProgressIn(place: RunFolder): { readonly done: number; readonly total: number } | undefined {
  const { plan, done } = openSuiteIn(place.folder) ?? {};
  return plan && done !== undefined ? { done, total: plan.request.cases.count } : undefined;
}

function ownerIn({ folder }: RunFolder) {
  return openSuiteIn(folder)?.plan?.owner;
}
