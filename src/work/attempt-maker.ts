import { setTimeout as wait } from 'node:timers/promises';
import { monotonicMs, systemClock } from '../base/clock.ts';
import { Fault } from '../base/fault.ts';
import type { AttemptQuestion } from '../contracts/attempt-request/index.ts';
import type { SuiteCase } from '../contracts/suite/index.ts';
import type { Settlement } from '../queue/queue.ts';
import { readQuestion } from '../run/suite/attempt-question.ts';
import { attemptReport, type MadeAttempt, type Reporter } from '../run/suite/attempt-report.ts';
import type { AttemptResult, FailedAttempt, Target } from '../run/suite/target.ts';
import type { HeldClaim } from './held-claims.ts';
import type { WorkerTargets } from './worker-targets.ts';

export type MadeEnd = Settlement['end'];

export interface Made {
  /** Undefined if the attempt is no longer ours. */
  readonly end: MadeEnd | undefined;
  /** Why this machine cannot make such attempts. */
  readonly unable?: string;
}

/** Turns a claim into an outcome: reads the request, asks the target, and signs what came back. */
export class AttemptMaker {
  readonly #reporter: Reporter;
  readonly #targets: WorkerTargets;
  readonly #draining: AbortSignal;

  constructor(reporter: Reporter, targets: WorkerTargets, draining: AbortSignal) {
    this.#reporter = reporter;
    this.#targets = targets;
    this.#draining = draining;
  }

  /** Never rejects. */
  async make(held: HeldClaim): Promise<Made> {
    const { request } = held.claim;
    // The worker began to shut down while it claimed the attempt.
    if (this.#draining.aborted) return { end: handedBack('The worker is shutting down.') };
    let question: AttemptQuestion;
    try {
      question = await readQuestion(request.ask, this.#reporter.store);
      if (question.key !== request.key)
        throw new Fault('attempt_request', 'The attempt has another key than its request.');
    } catch (error) {
      return { end: handedBack(sentenceOf(error)) };
    }
    try {
      return await this.#targets.with(question, async target => ({ end: await this.#asked(question, target, held) }));
    } catch (error) {
      // Only opening the target rejects, so nothing was sent.
      const why = sentenceOf(error);
      return { end: handedBack(why), ...(!isOfTheRun(error) && { unable: why }) };
    }
  }

  async #asked(question: AttemptQuestion, target: Target, held: HeldClaim): Promise<MadeEnd | undefined> {
    const startedAtMs = systemClock.now();
    const startedMs = monotonicMs();
    const one = question.case as SuiteCase;
    const { key, attempt } = question;
    const { trace } = held.claim.request;
    const asked = await target.ask({ one, key, attempt, signal: held.signal, trace }).catch((): AttemptResult => {
      return { latencyMs: Math.round(monotonicMs() - startedMs), outcome: WORKER_FAULT };
    });
    if (held.stopped === 'lost') return undefined;
    const isStopped = !asked.outcome.ok && asked.outcome.cancelled === true;
    const result = isStopped ? { ...asked, outcome: WORKER_STOPPED } : asked;
    return this.#reported(question, { startedAtMs, endedAtMs: systemClock.now(), result }, held);
  }

  /** Waits for an unavailable store, for as long as the attempt is ours. */
  async #reported(question: AttemptQuestion, made: MadeAttempt, held: HeldClaim): Promise<MadeEnd | undefined> {
    while (held.stopped !== 'lost') {
      try {
        return { is: 'reported', report: await attemptReport(question, made, this.#reporter) };
      } catch {
        await wait(STORE_PAUSE_MS);
      }
    }
    return undefined;
  }
}

const STORE_PAUSE_MS = 1_000;

function handedBack(why: string): MadeEnd {
  return { is: 'handed_back', why };
}

function sentenceOf(error: unknown): string {
  return error instanceof Fault ? error.message : 'The worker failed. Its log says why.';
}

/** Whether the cause is in the request, and not in this machine. */
function isOfTheRun(error: unknown): boolean {
  return error instanceof Fault && OF_THE_RUN.has(error.code);
}

const OF_THE_RUN: ReadonlySet<string> = new Set(['usage', 'attempt_request', 'not_offered', 'not_queueable']);

const WORKER_FAULT: FailedAttempt = {
  ok: false,
  class: 'other',
  message: 'The worker failed during the attempt.',
  errorName: 'WORKER_FAULT',
  mayRetry: true,
};

const WORKER_STOPPED: FailedAttempt = {
  ok: false,
  class: 'other',
  message: 'The worker was shut down during the attempt.',
  errorName: 'WORKER_STOPPED',
  mayRetry: true,
};
