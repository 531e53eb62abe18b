import { clip } from '../../base/clip.ts';
import { instantText } from '../../base/clock.ts';
import { Fault } from '../../base/fault.ts';
import { printable } from '../../base/printable.ts';
import type { AttemptOutcome } from '../../queue/queue.ts';
import type { NotTaken } from '../../verbs/publish/sent-published.ts';

/** How a run on workers ends without a result. */
interface SentEnd {
  /** What its user sees. */
  readonly fault: Fault;
  /** What operators see besides. */
  readonly why: string | undefined;
}

/** The end of a run that no worker reported, or that was stopped. */
export function endWithoutReport(
  outcome: Exclude<AttemptOutcome, { is: 'reported' }> | undefined,
  stopped: Fault | undefined,
): SentEnd {
  if (outcome?.is === 'lost') {
    const [begun, ended] = [instantText(outcome.begunAtMs), instantText(outcome.endedAtMs)];
    const why = `Worker ${printable(outcome.worker)} began the run at ${begun} and was lost. The queue gave the run up at ${ended}.`;
    return { fault: new Fault('worker_lost', LOST), why };
  }
  if (outcome?.is === 'handed_back' && !stopped)
    return {
      fault: new Fault('handed_back', HANDED_BACK),
      why: `Worker ${printable(outcome.worker)} was the last to hand the run back: ${said(outcome)}`,
    };
  // The run began just before its version was withdrawn. A server that died does not say so, but a wish of the user is noted.
  if (outcome?.is === 'withdrawn' && stopped?.code !== 'cancelled')
    return {
      fault: new Fault('worker_lost', STOPPED),
      why: `Worker ${printable(outcome.worker)} began the run just before its version was withdrawn, so the run was stopped.`,
    };
  return { fault: stopped ?? cancelled(), why: undefined };
}

/** The end of a run whose report has no result, or none that the server believes. */
export function endOfReport(worker: string, not: NotTaken): SentEnd & { readonly why: string } {
  const who = printable(worker);
  return not.is === 'refused'
    ? {
        fault: new Fault('result_refused', REFUSED),
        why: `Proctor refused the result of worker ${who}: ${said(not)}.`,
      }
    : { fault: new Fault('worker_failed', FAILED), why: `Worker ${who} could not complete the run: ${said(not)}` };
}

export function cancelled(): Fault {
  return new Fault('cancelled', 'The run was cancelled.');
}

function said({ why }: { readonly why: string }): string {
  return clip(printable(why), WHY_BYTES_MAX).text;
}

const WHY_BYTES_MAX = 500;

const LOST =
  'The machine that ran the script was lost. The script may have done a part of its work. It does not run again by itself.';
const STOPPED =
  'The version was withdrawn as the run began, so the run was stopped. The script may have done a part of its work.';
const FAILED = 'The machine that ran the script could not complete the run. Tell the operator the id of the run.';
const REFUSED =
  'The server did not accept the result of the machine that ran the script. Tell the operator the id of the run.';
const HANDED_BACK = 'No machine could run the script, so it did not start. Tell the operator the id of the run.';
