import { setTimeout as wait } from 'node:timers/promises';
import { clip } from '../base/clip.ts';
import { monotonicMs, systemClock } from '../base/clock.ts';
import { codeOf, Fault, fullDisk } from '../base/fault.ts';
import { printable } from '../base/printable.ts';
import type { AttemptQuestion } from '../contracts/attempt-request/index.ts';
import type { PublishedRequest } from '../contracts/published-request/index.ts';
import type { SuiteCase } from '../contracts/suite/index.ts';
import type { Settlement } from '../queue/queue.ts';
import { publishedQuestion, readPublishedRequest } from '../run/suite/published-question.ts';
import { attemptNeeds, PUBLISHED_PROTOCOL, readQuestion } from '../run/suite/attempt-question.ts';
import {
  attemptReport,
  failedReport,
  type MadeAttempt,
  type ReportedQuestion,
  type Reporter,
} from '../run/suite/attempt-report.ts';
import { type AttemptResult, type FailedAttempt, NotBegun, type Target } from '../run/suite/target.ts';
import { isStoreAway, patiently } from '../store/patience.ts';
import { isClaimLost } from '../store/remote.ts';
import type { HeldClaim } from './held-claims.ts';
import type { WorkerTargets } from './worker-targets.ts';

export type MadeEnd = Settlement['end'];

export interface Made {
  /** Undefined if the attempt is no longer ours. */
  readonly end: MadeEnd | undefined;
  /** Why this machine cannot make such attempts. */
  readonly unable?: string;
  /** Removes what the attempt left on this machine, once its outcome is settled or lost. */
  readonly discard?: () => void;
}

/** Opens the run of a published script. Rejects if this worker must not or cannot make it. */
export type MakePublished = (request: PublishedRequest, signal: AbortSignal) => Promise<Target>;

/** Turns a claim into an outcome: reads the request, asks the target, and signs what came back. */
export class AttemptMaker {
  readonly #reporter: Reporter;
  readonly #targets: WorkerTargets;
  readonly #makePublished: MakePublished | undefined;
  readonly #draining: AbortSignal;

  constructor(
    reporter: Reporter,
    targets: WorkerTargets,
    makePublished: MakePublished | undefined,
    draining: AbortSignal,
  ) {
    this.#reporter = reporter;
    this.#targets = targets;
    this.#makePublished = makePublished;
    this.#draining = draining;
  }

  /** Never rejects. */
  async make(held: HeldClaim): Promise<Made> {
    const { request } = held.claim;
    // The worker began to shut down while it claimed the attempt.
    if (this.#draining.aborted) return { end: handedBack('The worker is shutting down.') };
    if (request.protocol === PUBLISHED_PROTOCOL) return this.#published(held);
    let question: AttemptQuestion;
    try {
      question = await patiently(() => readQuestion(request.ask, this.#reporter.store), held.signal);
      if (question.key !== request.key)
        throw new Fault('attempt_request', 'The attempt has another key than its request.');
      // Otherwise, a request could end what this worker offers by something that it does not.
      if (attemptNeeds(question) !== request.needs)
        throw new Fault('attempt_request', 'The attempt needs something else than its request says.');
    } catch (error) {
      return { end: handedBack(sentenceOf(error)) };
    }
    try {
      const asked = () => this.#targets.with(question, target => this.#asked(question, target, held));
      // It rejects only before anything began, for example because the script is in a store that is away.
      return await patiently(asked, held.signal);
    } catch (error) {
      return notBegun(error);
    }
  }

  async #published(held: HeldClaim): Promise<Made> {
    let target: Target | undefined;
    try {
      const make = this.#makePublished;
      if (!make) throw new Fault('not_offered', 'This worker runs no published scripts.');
      const request = await patiently(
        () => readPublishedRequest(held.claim.request, this.#reporter.store),
        held.signal,
      );
      target = await patiently(() => make(request, held.signal), held.signal);
      return await this.#asked(publishedQuestion(request), target, held);
    } catch (error) {
      return notBegun(error);
    } finally {
      await target?.close();
    }
  }

  async #asked(question: ReportedQuestion, target: Target, held: HeldClaim): Promise<Made> {
    const startedAtMs = systemClock.now();
    const startedMs = monotonicMs();
    const one = question.case as SuiteCase;
    const { key, attempt } = question;
    const { trace } = held.claim.request;
    const asked = await target
      .ask({ one, key, attempt, signal: held.signal, trace })
      .catch((error: unknown): AttemptResult => {
        if (error instanceof NotBegun) throw error;
        return { latencyMs: Math.round(monotonicMs() - startedMs), outcome: WORKER_FAULT };
      });
    const isStopped = !asked.outcome.ok && asked.outcome.cancelled === true;
    const result = isStopped ? { ...asked, outcome: WORKER_STOPPED } : asked;
    const made = { startedAtMs, endedAtMs: systemClock.now(), result };
    const end = held.stopped === 'lost' ? undefined : await this.#reported(question, made, held);
    return { end, ...(asked.packed && { discard: asked.packed.remove }) };
  }

  /** Waits for an unavailable store, for as long as the attempt is ours. If waiting cannot help, the attempt failed. */
  async #reported(question: ReportedQuestion, made: MadeAttempt, held: HeldClaim): Promise<MadeEnd | undefined> {
    while (held.stopped !== 'lost') {
      try {
        return { is: 'reported', report: await attemptReport(question, made, this.#reporter) };
      } catch (error) {
        if (isClaimLost(error)) return undefined;
        if (!isStoreAway(error))
          return { is: 'reported', report: failedReport(question, made, this.#reporter, notStored(error)) };
        await wait(STORE_PAUSE_MS);
      }
    }
    return undefined;
  }
}

const STORE_PAUSE_MS = 1_000;

/** Only a target that did not begin rejects, so nothing was sent. */
function notBegun(error: unknown): Made {
  const why = sentenceOf(error);
  return { end: handedBack(why), ...(isOfTheMachine(error) && { unable: why }) };
}

/** The reason may quote a request. The queue refuses a text with a NUL, and with it all outcomes that come together. */
function handedBack(why: string): MadeEnd {
  return { is: 'handed_back', why: clip(printable(why), WHY_BYTES_MAX).text };
}

const WHY_BYTES_MAX = 2_048;

function sentenceOf(error: unknown): string {
  return error instanceof Fault ? error.message : 'The worker failed. Its log says why.';
}

/**
 * Whether this machine can make no such attempt. Anyone who can write to the queue chooses requests, so a fault counts
 * only if no request can cause it.
 */
function isOfTheMachine(error: unknown): boolean {
  if (!(error instanceof Fault)) return UNUSABLE_DISK.has(codeOf(error));
  const { code, cause } = error;
  if (OF_THE_MACHINE.has(code)) return true;
  if (STATE_FAULTS.has(code)) return UNUSABLE_DISK.has(codeOf(cause)) || fullDisk(cause) !== '';
  return code === 'stage_failed' && UNUSABLE_DISK.has(codeOf(cause));
}

const OF_THE_MACHINE: ReadonlySet<string> = new Set([
  'sandbox_unavailable',
  'sandbox_leaks',
  'canary_missing',
  'cgroups_unavailable',
  'git_missing',
  'disk_full',
  // About the agent that this worker offers.
  'agent_unusable',
  'other_agent',
  'no_model',
  'no_login',
]);

/** About the state folder. Requests can cause them too, so their cause decides. */
const STATE_FAULTS: ReadonlySet<string> = new Set(['folder_failed', 'journal_failed', 'lock_failed']);

/** A full disk is not among them, because the files of one request can fill the disk that the worker fetches them to. */
const UNUSABLE_DISK: ReadonlySet<string> = new Set(['EACCES', 'EIO', 'EPERM', 'EROFS']);

function notStored(error: unknown): FailedAttempt {
  if (!(error instanceof Fault)) return WORKER_FAULT;
  return {
    ok: false,
    class: 'other',
    message: `The attempt was made, but what it left could not be stored: ${error.message}`,
    errorName: error.code.toUpperCase(),
    mayRetry: false,
  };
}

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
