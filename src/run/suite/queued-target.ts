import { contentHash } from '../../base/hash.ts';
import { printable } from '../../base/printable.ts';
import type { AttemptOutcome, AttemptRequest, Queue } from '../../queue/queue.ts';
import { patiently } from '../../store/patience.ts';
import { durationMs } from '../../base/units.ts';
import { type SuiteCase, targetName } from '../../contracts/suite/index.ts';
import {
  type AskedPlan,
  ATTEMPT_PROTOCOL,
  attemptNeeds,
  attemptScript,
  QuestionWriter,
  queuedText,
} from './attempt-question.ts';
import { Offers } from './offers.ts';
import { type AskedAttempt, reportedAttempt, type ReportReader } from './reported-attempt.ts';
import { type AttemptResult, CANCELLED, type CaseQuestion, type FailedAttempt, type Target } from './target.ts';

export interface QueuedRun extends ReportReader {
  readonly queue: Queue;
  readonly plan: AskedPlan;
  /** Whether to retry an attempt whose worker was lost. */
  readonly lost: 'again' | 'never';
  readonly priority: number;
  /** How many attempts at the target are active at once, over all runs and workers. */
  readonly targetSlots?: NonNullable<AttemptRequest['slots']>['max'] | undefined;
  readonly onWarning?: ((sentence: string) => void) | undefined;
  /** The pause before an attempt that was handed back is offered again; tests shorten it. */
  readonly handedBackMs?: number;
}

/** A target that workers ask. The queue lets each attempt begin at most once; the suite decides about retries. */
export function queuedTarget(run: QueuedRun): Target {
  const { queue, plan, store } = run;
  const { request } = plan;
  const { run_id: runId, target_sha256: targetSha256 } = request;
  const offers = new Offers(queue, runId, run.onWarning, run.handedBackMs);
  const writer = new QuestionWriter(plan);
  const shared = sharedRequest(run);
  return {
    isQueued: true,
    async ask({ one, attempt, key, signal, trace, onArrived }: CaseQuestion): Promise<AttemptResult> {
      const ask = await patiently(() => queuedText(writer.write(one, attempt, key), store), signal);
      if (ask === undefined) return { latencyMs: 0, outcome: TOO_LARGE };
      const asked = { key, caseId: one.id, one, targetSha256, caseSha256: contentHash(one) };
      const timeoutMs = givenUpAfterMs(caseTimeoutMs(one, request.settings.timeout_ms));
      const offered = { ...shared, key, ask, timeoutMs, ...(trace !== undefined && { trace }) };
      const outcome = await offers.outcomeOf(offered, signal);
      if (outcome === undefined) return { latencyMs: 0, outcome: CANCELLED };
      if (outcome.is === 'reported') {
        const result = await readWorkerReport(outcome.report, asked, run, signal);
        if (typeof result !== 'string') {
          if (result.outcome.ok) await onArrived?.();
          return result;
        }
        return unseen(outcome, 'lost', refused(outcome, result, run.lost));
      }
      if (outcome.is === 'handed_back') return { latencyMs: 0, outcome: handedBack(outcome.why) };
      if (outcome.is === 'withdrawn') return unseen(outcome, 'interrupted', WITHDRAWN);
      const isAgain = attempt > 1 && (await offers.wasLost(earlierKeys(key, attempt), signal));
      return unseen(outcome, 'lost', isAgain ? lostTwice(outcome) : lostOnce(outcome, run.lost));
    },
    cancel: () => offers.cancel(),
    close: () => offers.close(),
  };
}

/** What all attempts of a run have in common. */
export function sharedRequest({ plan, priority, targetSlots }: QueuedRun): Omit<AttemptRequest, 'key' | 'ask'> {
  const { request } = plan;
  const script = attemptScript(request.target, plan.bounds);
  return {
    runId: request.run_id,
    protocol: ATTEMPT_PROTOCOL,
    needs: attemptNeeds(request),
    priority,
    ...(script && { script }),
    timeoutMs: givenUpAfterMs(request.settings.timeout_ms),
    ...(targetSlots && {
      slots: { target: printable(targetName(request.target)).slice(0, TARGET_CHARS_MAX), max: targetSlots },
    }),
  };
}

/** The default of a check. */
const CHECK_MS = 300_000;

function givenUpAfterMs(timeoutMs: number): number {
  return Math.min(timeoutMs + SETTLE_MS, TIMEOUT_MS_MAX);
}

/** A case can give its agent more time than the suite does, and each check runs at most twice. */
function caseTimeoutMs({ limits, checks = [] }: SuiteCase, suiteMs: number): number {
  const agentMs = limits?.timeout === undefined ? suiteMs : durationMs(limits.timeout);
  return checks.reduce(
    (sum, { timeout }) => sum + 2 * (timeout === undefined ? CHECK_MS : durationMs(timeout)),
    agentMs,
  );
}

/** How long a worker may try to report an outcome before the queue gives the attempt up. */
const SETTLE_MS = 600_000;
const TIMEOUT_MS_MAX = 86_400_000;
const TARGET_CHARS_MAX = 300;

/** The store may hold the reply. */
export async function readWorkerReport(
  report: string,
  asked: AskedAttempt,
  run: QueuedRun,
  signal: AbortSignal,
): Promise<AttemptResult | string> {
  return patiently(() => reportedAttempt(report, asked, run), signal);
}

function earlierKeys(key: string, attempt: number): string[] {
  const before = key.slice(0, key.lastIndexOf('/') + 1);
  return Array.from({ length: attempt - 1 }, (_, index) => `${before}${index + 1}`);
}

type Cause = Pick<FailedAttempt, 'message' | 'errorName' | 'mayRetry'>;

function unseen(
  { worker, begunAtMs }: AttemptOutcome,
  how: NonNullable<FailedAttempt['unseen']>,
  cause: Cause,
): AttemptResult {
  return {
    latencyMs: 0,
    worker,
    startedAtMs: begunAtMs,
    outcome: { ok: false, class: 'other', unseen: how, ...cause },
  };
}

function lostOnce({ worker, begunAtMs, endedAtMs }: AttemptOutcome, lost: QueuedRun['lost']): Cause {
  const begun = new Date(begunAtMs).toISOString();
  const ended = new Date(endedAtMs).toISOString();
  return {
    message: `Worker ${printable(worker)} started the attempt at ${begun} and was lost. The queue gave the attempt up at ${ended}.`,
    errorName: 'WORKER_LOST',
    mayRetry: lost === 'again',
  };
}

/** A case that kills its workers must not go from worker to worker. */
function lostTwice(outcome: AttemptOutcome): Cause {
  const { message } = lostOnce(outcome, 'never');
  return {
    message: `${message} This is the second worker that the case lost.`,
    errorName: 'LOST_TWICE',
    mayRetry: false,
  };
}

function refused({ worker }: AttemptOutcome, why: string, lost: QueuedRun['lost']): Cause {
  return {
    message: `Proctor refused the outcome of worker ${printable(worker)}: ${why}.`,
    errorName: 'OUTCOME_REFUSED',
    mayRetry: lost === 'again',
  };
}

function handedBack(why: string): FailedAttempt {
  const message = `No worker could make the attempt. The last one says: ${printable(why)}`;
  return { ok: false, class: 'other', message, errorName: 'HANDED_BACK', mayRetry: false };
}

const WITHDRAWN: Cause = {
  message: 'Proctor was interrupted while a worker made the attempt.',
  errorName: 'INTERRUPTED',
  mayRetry: true,
};

const TOO_LARGE: FailedAttempt = {
  ok: false,
  class: 'other',
  message: 'The case is too large for the queue. Specify a store that the workers share with --store.',
  errorName: 'NO_STORE',
  mayRetry: false,
};
