import type { Violation } from '../contracts/check.ts';
import type { Examined } from './examine.ts';
import type { Verdict } from './verdict.ts';

/** Remembers the ids of one file or folder, and tells when one comes back. */
export class Unique {
  readonly #seen = new Map<string, Set<string>>();
  #count = 0;
  /** Said once, when there are more ids than are remembered. */
  readonly limit = `whether ids repeat after the first ${IDS_MAX.toLocaleString('en-US')}`;

  get isFull(): boolean {
    return this.#count >= IDS_MAX;
  }

  /** The verdict, made invalid if the document has an id that was met before. */
  judge({ verdict, contract, value }: Examined): Verdict {
    const unique = contract?.unique;
    if (!unique || typeof value !== 'object' || value === null) return verdict;
    const id = (value as Record<string, unknown>)[unique.field];
    if (typeof id !== 'string') return verdict;
    const seen = this.#seen.get(contract.name) ?? new Set();
    if (seen.has(id)) {
      const repeated: Violation = {
        rule_id: unique.rule,
        message: `${unique.field} was used by an earlier document here.`,
        path: unique.field,
      };
      const { hash: _, environment_hash: __, ...rest } = verdict;
      return { ...rest, outcome: 'invalid', violations: [...verdict.violations, repeated] };
    }
    if (this.isFull) return verdict;
    this.#seen.set(contract.name, seen.add(id));
    this.#count++;
    return verdict;
  }
}

const IDS_MAX = 1_000_000;
