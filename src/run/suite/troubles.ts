import type { CaseArtifact } from '../../contracts/artifacts/index.ts';

/** Why cases had no answer, counted: a thousand of one kind are told in one line. */
export class Troubles {
  readonly #counts = new Map<string, { readonly class: string; readonly message: string; count: number }>();

  add({ runner_failure: failure }: CaseArtifact): void {
    if (!failure) return;
    const message = failure.error_message ?? '';
    const key = `${failure.class} ${message}`;
    const known = this.#counts.get(key);
    if (known) known.count++;
    else if (this.#counts.size < KINDS_MAX) this.#counts.set(key, { class: failure.class, message, count: 1 });
  }

  list(): readonly { readonly class: string; readonly message: string; readonly count: number }[] {
    return [...this.#counts.values()].sort((a, b) => b.count - a.count);
  }
}

const KINDS_MAX = 100;
