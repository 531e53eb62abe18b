import { setTimeout as wait } from 'node:timers/promises';
import { systemClock, instantText } from '../../base/clock.ts';
import { bytesHash } from '../../base/hash.ts';
import { random } from '../../base/ids.ts';
import type { SuiteCase } from '../../contracts/suite/index.ts';
import type { Attempt } from '../../evidence/suite/suite-run.ts';
import type { Asset } from '../../evidence/suite/suite-store.ts';
import { replyLine } from './reply-line.ts';
import { answeredCase, bodyAssets, failedCase, type KeptArtifact, type ArtifactIdentity } from './artifact.ts';
import type { Breaker } from './breaker.ts';
import type { Answered, AttemptResult, CaseQuestion, FailedAttempt, Target } from './target.ts';

export interface CaseContext {
  readonly target: Target;
  readonly breaker: Breaker;
  readonly runId: string;
  readonly signal: AbortSignal;
  readonly backoffMs: number;
  readonly onArrived: NonNullable<CaseQuestion['onArrived']>;
  readonly onSent: (id: string, attempt: number, atMs: number, key: string) => Promise<void>;
  /** Called when the run of a script or an agent has started. */
  readonly onRun?: (id: string, attempt: number, runId: string) => void;
  /** Called when an attempt failed and another one follows. `outcome` is what a worker signed. */
  readonly onFailed: (id: string, attempt: Attempt, assets: readonly Asset[], outcome?: string) => void;
}

/** Sends a case until it is answered or no attempt is left. Returns undefined if the run is cancelled. */
export async function runCase(
  one: SuiteCase,
  named: ArtifactIdentity,
  before: readonly Attempt[],
  around: CaseContext,
): Promise<KeptArtifact | undefined> {
  const { signal, onArrived } = around;
  const attempts = [...before];
  for (let tries = 1; ; tries++) {
    const finished = await around.breaker.enter(around.signal);
    if (around.signal.aborted) {
      finished?.(true);
      return undefined;
    }
    if (!finished)
      return { artifact: failedCase(named, attempts, attempts.length > 0 ? GAVE_UP : NOT_SENT), assets: [] };
    const number = attempts.length + 1;
    const key = `${around.runId}/${one.id}/${number}`;
    const startedAtMs = systemClock.now();
    let told: AttemptResult | undefined;
    try {
      await around.onSent(one.id, number, startedAtMs, key);
      // The target was cancelled while the journal was written, and would not notice a later request.
      if (around.signal.aborted) return undefined;
      const onRun = (runId: string): void => around.onRun?.(one.id, number, runId);
      const isLast = (failed: FailedAttempt): boolean =>
        pauseBefore(tries, failed, named.settings.retries, around.backoffMs) === undefined;
      told = await around.target.ask({ one, key, attempt: number, signal, onRun, onArrived, isLast });
    } finally {
      // Other cases may wait for this probe, so report its end even if the disk or the sandbox fails.
      finished(!told || told.outcome.ok || !isSilence(told.outcome, told));
    }
    const { outcome } = told;
    if (!outcome.ok && outcome.cancelled) return undefined;
    const attempt = attemptOf(number, startedAtMs, key, told);
    if (outcome.ok) return answered(named, attempts, attempt, outcome, told);
    const assets = outcome.body ? bodyAssets(named, number, outcome, outcome.body) : [];
    const failed: Attempt = {
      ...attempt,
      outcome: 'runner_error',
      error_class: outcome.class,
      note: outcome.message,
      ...(assets[0] && { full_body_saved_to: assets[0].href, full_body_meta_saved_to: assets[1].href }),
    };
    attempts.push(failed);
    const pauseMs = pauseBefore(tries, outcome, named.settings.retries, around.backoffMs);
    if (pauseMs === undefined)
      return {
        artifact: failedCase(named, attempts, outcome, told),
        assets,
        outcome: told.signedOutcome,
        twice: told.twice,
      };
    if (outcome.unseen === 'interrupted') tries--;
    around.onFailed(one.id, failed, assets, told.signedOutcome);
    await wait(pauseMs, undefined, { signal: around.signal }).catch(() => undefined);
    if (around.signal.aborted) return undefined;
  }
}

/** The artifact of a case whose last attempt was answered. */
function answered(
  named: ArtifactIdentity,
  before: readonly Attempt[],
  attempt: Attempt,
  outcome: Answered,
  told: AttemptResult,
): KeptArtifact {
  const reply = outcome.kept && replyLine(named.id, attempt.attempt, outcome.kept);
  if (Object.keys(outcome.repairs).length > 0) attempt.repairs = { ...outcome.repairs };
  if (outcome.ttftMs !== undefined) attempt.ttft_ms = outcome.ttftMs;
  if (reply) attempt.reply_sha256 = reply.sha256;
  const { artifact, assets } = answeredCase(named, [...before, attempt], outcome, told);
  return {
    artifact,
    assets: reply ? [...assets, ...reply.assets] : assets,
    reply: reply?.line,
    outcome: told.signedOutcome,
    twice: told.twice,
  };
}

/** Assigns optional keys, which is cheaper than spreading conditional objects. */
function attemptOf(number: number, startedAtMs: number, key: string, told: AttemptResult): Attempt {
  const { latencyMs, httpStatus, runId, worker, signedOutcome, outcome } = told;
  const attempt: Attempt = {
    attempt: number,
    started_at: instantText(told.startedAtMs ?? startedAtMs),
    idempotency_key: key,
    outcome: 'ok',
  };
  if (outcome.ok || !outcome.unseen) attempt.latency_ms = latencyMs;
  if (httpStatus !== undefined) attempt.http_status = httpStatus;
  if (runId !== undefined) attempt.run_id = runId;
  if (worker !== undefined) attempt.worker = worker;
  if (signedOutcome !== undefined) attempt.outcome_sha256 = bytesHash(signedOutcome);
  if (outcome.masked && Object.keys(outcome.masked).length > 0) attempt.masked = { ...outcome.masked };
  return attempt;
}

/** Tests whether the target did not respond at all. */
function isSilence({ class: errorClass }: FailedAttempt, { httpStatus }: AttemptResult): boolean {
  return httpStatus === undefined && (errorClass === 'network_error' || errorClass === 'timeout');
}

/** Returns the pause before the next attempt, or undefined if there is none. */
function pauseBefore(tries: number, failed: FailedAttempt, retries: number, backoffMs: number): number | undefined {
  if (failed.unseen === 'interrupted') return 0;
  if (!failed.mayRetry || tries > retries) return undefined;
  const own = backoffMs * 2 ** Math.min(tries - 1, 6) * (1 + 0.2 * random());
  if (failed.retryAfterMs === undefined) return own;
  // A longer Retry-After counts as a refusal.
  return failed.retryAfterMs > RETRY_AFTER_MS_MAX ? undefined : Math.max(own, failed.retryAfterMs);
}

const RETRY_AFTER_MS_MAX = 120_000;

const GIVEN_UP = { ok: false, class: 'network_error', errorName: 'GIVEN_UP', mayRetry: false } as const;
const NOT_SENT: FailedAttempt = {
  ...GIVEN_UP,
  message: 'The case was not sent because the target had stopped answering.',
};
const GAVE_UP: FailedAttempt = {
  ...GIVEN_UP,
  message: 'Proctor gave up on the target because it had stopped answering.',
};
