import type { Violation } from '../contracts/check.ts';
import type { Examined } from './examine.ts';
import { Unique } from './unique.ts';
import { EXIT, type Outcome, type Verdict } from './verdict.ts';

/** Totals for the documents of a file or folder: counts by outcome and contract, and the worst outcome. */
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

  /** Counts a document. Its verdict also considers earlier documents. */
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

  /** The verdict on the whole, including findings that involve several documents. */
  verdict(violations: readonly Violation[], advice: readonly Violation[], notChecked: readonly string[] = []): Verdict {
    const { limit } = this.#unique;
    // Items about this folder come before those about every document of a format.
    const not_checked = [...notChecked, ...this.#notChecked, ...(limit === undefined ? [] : [limit])];
    const outcome = violations.length > 0 ? 'invalid' : this.#worst;
    const documents = { outcomes: this.#outcomes, contracts: this.#contracts, advised: this.#advised };
    return { input: this.#input, outcome, documents, violations, advice, not_checked };
  }
}
