import { setTimeout as wait } from 'node:timers/promises';
import { systemClock, instantText } from '../../base/clock.ts';
import { chance } from '../../base/ids.ts';
import type { SuiteCase } from '../../contracts/suite/index.ts';
import type { Attempt } from '../../evidence/suite-run.ts';
import type { Asset } from '../../evidence/suite-store.ts';
import { answeredCase, bodyAssets, failedCase, type Kept, type Named } from './artifact.ts';
import type { Breaker } from './breaker.ts';
import type { Failed, Target, Told } from './target.ts';

/** What a case needs of the run around it. */
export interface Around {
  readonly target: Target;
  readonly breaker: Breaker;
  readonly runId: string;
  readonly signal: AbortSignal;
  readonly backoffMs: number;
  /** A request goes out. */
  readonly onSent: (id: string, attempt: number, atMs: number, key: string) => void;
  /** An attempt has failed, and another will be made. */
  readonly onFailed: (id: string, attempt: Attempt, assets: readonly Asset[]) => void;
}

/** Asks until there is an answer or no attempt is left. Returns undefined if the run was cancelled meanwhile. */
export async function runCase(
  one: SuiteCase,
  named: Named,
  before: readonly Attempt[],
  around: Around,
): Promise<Kept | undefined> {
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
    let told: Told | undefined;
    try {
      around.onSent(one.id, number, startedAtMs, key);
      told = await around.target.ask({ one, key, attempt: number, signal: around.signal });
    } finally {
      // Also where a disk or a sandbox of ours has failed: others may wait for the end of this attempt.
      finished(!told || told.outcome.ok || !isSilence(told.outcome, told));
    }
    const { outcome } = told;
    if (!outcome.ok && outcome.cancelled) return undefined;
    const attempt = { attempt: number, started_at: instantText(startedAtMs), ...factsOf(told), idempotency_key: key };
    if (outcome.ok) {
      attempts.push({ ...attempt, outcome: 'ok' });
      return answeredCase(named, attempts, outcome, told);
    }
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
    if (pauseMs === undefined) return { artifact: failedCase(named, attempts, outcome, told), assets };
    around.onFailed(one.id, failed, assets);
    await wait(pauseMs, undefined, { signal: around.signal }).catch(() => undefined);
    if (around.signal.aborted) return undefined;
  }
}

function factsOf({ latencyMs, httpStatus, runId, outcome: { masked = {} } }: Told) {
  return {
    latency_ms: latencyMs,
    ...(httpStatus !== undefined && { http_status: httpStatus }),
    ...(runId !== undefined && { run_id: runId }),
    ...(Object.keys(masked).length > 0 && { masked: { ...masked } }),
  };
}

/** Whether nobody seems to be there. */
function isSilence({ class: errorClass }: Failed, { httpStatus }: Told): boolean {
  return httpStatus === undefined && (errorClass === 'network_error' || errorClass === 'timeout');
}

/** How long to wait before the next attempt; undefined if there is none. */
function pauseBefore(tries: number, failed: Failed, retries: number, backoffMs: number): number | undefined {
  if (!failed.mayRetry || tries > retries) return undefined;
  const own = backoffMs * 2 ** Math.min(tries - 1, 6) * (1 + 0.2 * chance());
  if (failed.retryAfterMs === undefined) return own;
  // Who asks for longer than anybody would wait has said no.
  return failed.retryAfterMs > RETRY_AFTER_MS_MAX ? undefined : Math.max(own, failed.retryAfterMs);
}

const RETRY_AFTER_MS_MAX = 120_000;

const GIVEN_UP = { ok: false, class: 'network_error', errorName: 'GIVEN_UP', mayRetry: false } as const;
const NOT_SENT: Failed = { ...GIVEN_UP, message: 'The target did not answer for so long that this case was not sent.' };
const GAVE_UP: Failed = { ...GIVEN_UP, message: 'The target did not answer for so long that it was given up.' };
