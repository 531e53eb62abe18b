import { monotonicMs } from '../../base/clock.ts';
import type { Audit, AuditAct } from './audit.ts';

/**
 * The refusals in the audit log. A flood of them must not fill the disk or push older lines out, so each client gets
 * some lines per minute and kind of refusal. One more line then says how many were left out.
 */
export class RefusalNotes {
  readonly #audit: Audit;
  readonly #counts = new Map<string, Count>();
  #sinceMs = Number.NEGATIVE_INFINITY;
  #timer: NodeJS.Timeout | undefined;

  constructor(audit: Audit) {
    this.#audit = audit;
  }

  /** Throws a fault if the line cannot be written. */
  note(act: AuditAct, code: string): void {
    if (monotonicMs() - this.#sinceMs >= WINDOW_MS) this.#begin();
    const count = this.#countOf(act, code);
    if (++count.seen <= LINES_PER_WINDOW) this.#audit.note(act, 'refused', code);
  }

  /** Writes how many were left out so far. */
  close(): void {
    clearTimeout(this.#timer);
    this.#tell();
  }

  #begin(): void {
    this.#tell();
    this.#sinceMs = monotonicMs();
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#tell(), WINDOW_MS).unref();
  }

  /** All clients without an identity share one count, as do those beyond a number of clients. */
  #countOf(act: AuditAct, code: string): Count {
    const full = this.#counts.size >= COUNTS_MAX;
    const who = full && !this.#counts.has(keyOf(act.who, code)) ? null : act.who;
    const key = keyOf(who, code);
    const count = this.#counts.get(key) ?? { who, code, seen: 0 };
    this.#counts.set(key, count);
    return count;
  }

  #tell(): void {
    const omitted = [...this.#counts.values()].filter(({ seen }) => seen > LINES_PER_WINDOW);
    this.#counts.clear();
    for (const { who, code, seen } of omitted) {
      const thing = `${seen - LINES_PER_WINDOW} more in this minute`;
      try {
        this.#audit.note({ who, verb: OMITTED, thing, correlationId: '' }, 'refused', code);
      } catch {
        // A full disk. Nothing was done, and the metrics count every refusal.
      }
    }
  }
}

interface Count {
  readonly who: AuditAct['who'];
  readonly code: string;
  seen: number;
}

const keyOf = (who: AuditAct['who'], code: string): string => `${code} ${who?.id ?? ''}`;

const OMITTED = 'audit.omitted';
const WINDOW_MS = 60_000;
const LINES_PER_WINDOW = 60;
const COUNTS_MAX = 1_000;
