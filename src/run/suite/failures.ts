import type { CaseArtifact } from '../../contracts/artifacts/index.ts';
import { failureName } from '../../contracts/artifacts/words.ts';

/** Counts case failures, so that a thousand identical ones need only one line. */
export class Failures {
  readonly #counts = new Map<string, Counted & { count: number }>();

  add({ runner_failure: failure }: CaseArtifact): void {
    if (!failure) return;
    const message = failure.error_message ?? '';
    const name = failureName(failure.class, failure.error_name);
    const key = `${name} ${message.replace(PATH_OF_URL, '$1')}`;
    const known = this.#counts.get(key);
    if (known) known.count++;
    else if (this.#counts.size < KINDS_MAX) this.#counts.set(key, { name, message, count: 1 });
  }

  list(): readonly Counted[] {
    return [...this.#counts.values()].sort((a, b) => b.count - a.count);
  }
}

/** The path of a request may name its case. The same failure of two cases must still count as one. */
const PATH_OF_URL = /\b((?:https?|wss?):\/\/[^\s/]{1,300})\/\S*/g;

interface Counted {
  readonly name: string;
  readonly message: string;
  readonly count: number;
}

const KINDS_MAX = 100;
