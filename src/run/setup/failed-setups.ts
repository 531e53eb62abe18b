import { Fault } from '../../base/fault.ts';
import type { ContentHash } from '../../base/hash.ts';

/** A setup command that failed by itself: its exit code or one of its limits, not a fault of Proctor. */
export class SetupFailure extends Fault {
  readonly #why: string;
  readonly #lines: readonly string[];

  constructor(why: string, lines: readonly string[]) {
    super('setup_failed', `The setup command ${why}, so the agent did not start.${lastWords(lines)}`);
    this.#why = why;
    this.#lines = lines;
  }

  /** The same failure, for a run that does not try the command again. */
  again(): Fault {
    const before = `The setup command ${this.#why} earlier in this suite run.`;
    const now = 'Proctor did not run it again, so the agent did not start.';
    return new Fault('setup_failed', `${before} ${now}${lastWords(this.#lines)}`);
  }
}

export function lastWords(lines: readonly string[]): string {
  return lines.length === 0 ? '' : ` Its last lines:\n  ${lines.join('\n  ')}`;
}

/** The setups that failed in one suite run. A later run tries them again, because a cause such as a network may pass. */
export class FailedSetups {
  readonly #failures = new Map<ContentHash, SetupFailure>();

  refuse(key: ContentHash): void {
    const failure = this.#failures.get(key);
    if (failure) throw failure.again();
  }

  /** Beyond the limit, a setup runs again. */
  note(key: ContentHash, error: unknown): void {
    if (error instanceof SetupFailure && this.#failures.size < FAILURES_MAX) this.#failures.set(key, error);
  }
}

const FAILURES_MAX = 1_000;
