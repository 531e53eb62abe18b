import { monotonicMs } from '../../base/clock.ts';
import { codeOf, type Fault } from '../../base/fault.ts';
import { QUEUE_DOWN } from '../../queue/database-down.ts';
import type { ServerLog } from '../operation/log.ts';

/** Logs when the queue cannot be reached and when it answers again, because every worker asks again each second. */
export class QueueContact {
  readonly #log: ServerLog;
  #away: { readonly sinceMs: number; refused: number } | undefined;

  constructor(log: ServerLog) {
    this.#log = log;
  }

  /** Whether a refusal is one of an outage. The first of them is logged. */
  takes(fault: Fault): boolean {
    if (!OUTAGE.has(fault.code)) return false;
    if (!this.#away) {
      this.#away = { sinceMs: monotonicMs(), refused: 0 };
      const reason = reasonOf(fault);
      this.#log.note('queue_unreachable', { message: AWAY, ...(reason !== '' && { reason }) });
    }
    this.#away.refused++;
    return true;
  }

  /** The queue has answered. */
  answered(): void {
    if (!this.#away) return;
    const { sinceMs, refused } = this.#away;
    this.#away = undefined;
    const seconds = Math.round((monotonicMs() - sinceMs) / 1_000);
    this.#log.note('queue_reachable', { message: 'The queue answers again.', seconds, refused_requests: refused });
  }
}

const OUTAGE: ReadonlySet<string> = new Set(['queue_unavailable', QUEUE_DOWN]);

const AWAY = 'The queue cannot be reached. Check that PostgreSQL runs. The server tries again at each request.';

/** The code of the error that the fault comes from, such as ECONNREFUSED. */
function reasonOf(fault: Fault): string {
  let error: unknown = fault;
  for (let depth = 0; depth < CAUSES_MAX && error instanceof Error && error.cause instanceof Error; depth++)
    error = error.cause;
  return error === fault ? '' : codeOf(error);
}

const CAUSES_MAX = 5;
