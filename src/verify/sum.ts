import type { Violation } from '../contracts/check.ts';
import type { Examined } from './examine.ts';
import { Unique } from './unique.ts';
import { EXIT, type Outcome, type Verdict } from './verdict.ts';

/** What the documents of one file or folder come to: how many of which contract, and the worst that was said of any. */
export class Sum {
  readonly #input: string;
  readonly #unique = new Unique();
  readonly #outcomes: Partial<Record<Outcome, number>> = {};
  readonly #contracts: Record<string, number> = {};
  #advised = 0;
  readonly #notChecked = new Set<string>();
  #worst: Outcome = 'valid';

  constructor(input: string) {
    this.#input = input;
  }

  /** The verdict on one of them, which also knows what came before it. */
  add(examined: Examined): Verdict {
    const verdict = this.#unique.judge(examined);
    const { outcome, contract, advice } = verdict;
    this.#outcomes[outcome] = (this.#outcomes[outcome] ?? 0) + 1;
    if (contract !== undefined) this.#contracts[contract] = (this.#contracts[contract] ?? 0) + 1;
    if (advice.length > 0) this.#advised++;
    if (EXIT[outcome] > EXIT[this.#worst]) this.#worst = outcome;
    for (const item of verdict.not_checked) this.#notChecked.add(item);
    return verdict;
  }

  get isEmpty(): boolean {
    return Object.keys(this.#outcomes).length === 0;
  }

  /** The verdict on the whole, with what was found about it beyond its documents. */
  verdict(violations: readonly Violation[], advice: readonly Violation[], notChecked: readonly string[] = []): Verdict {
    const { limit } = this.#unique;
    // What is said of this one folder comes before what is said of every document of a kind.
    const not_checked = [...notChecked, ...this.#notChecked, ...(limit === undefined ? [] : [limit])];
    const outcome = violations.length > 0 ? 'invalid' : this.#worst;
    const documents = { outcomes: this.#outcomes, contracts: this.#contracts, advised: this.#advised };
    return { input: this.#input, outcome, documents, violations, advice, not_checked };
  }
}
