import type { CaseArtifact } from '../../contracts/artifacts/index.ts';

/** Counts case failures, so that a thousand identical ones need only one line. */
export class Failures {
  readonly #counts = new Map<string, Counted & { count: number }>();

  add({ runner_failure: failure }: CaseArtifact): void {
    if (!failure) return;
    const message = failure.error_message ?? '';
    const key = `${failure.class} ${message}`;
    const known = this.#counts.get(key);
    if (known) known.count++;
    else if (this.#counts.size < KINDS_MAX) this.#counts.set(key, { class: failure.class, message, count: 1 });
  }

  list(): readonly Counted[] {
    return [...this.#counts.values()].sort((a, b) => b.count - a.count);
  }
}

interface Counted {
  readonly class: string;
  readonly message: string;
  readonly count: number;
}

const KINDS_MAX = 100;
