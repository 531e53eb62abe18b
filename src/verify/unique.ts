import { Fingerprints } from '../base/fingerprints.ts';
import { byRuleThenPath, type Violation } from '../contracts/check.ts';
import type { Examined } from './examine.ts';
import type { Verdict } from './verdict.ts';

/** Remembers the ids of one file or folder, and tells when one comes back. */
export class Unique {
  readonly #ids = new Fingerprints(IDS_MAX);

  /** What could not be told, if there were more ids than are remembered. */
  get limit(): string | undefined {
    return this.#ids.isFull ? `whether ids repeat after the first ${IDS_MAX.toLocaleString('en-US')}` : undefined;
  }

  /** The verdict, made invalid if the document has an id that was met before. */
  judge({ verdict, contract, value }: Examined): Verdict {
    const unique = contract?.unique;
    if (!unique || typeof value !== 'object' || value === null) return verdict;
    const { [unique.field]: id, [unique.within ?? '']: within } = value as Record<string, unknown>;
    if (typeof id !== 'string' || !this.#ids.hasMet(typeof within === 'string' ? `${within}/${id}` : id))
      return verdict;
    const repeated: Violation = {
      rule_id: unique.rule,
      message: `${unique.field} was used by an earlier document here.`,
      path: unique.field,
    };
    const violations = [...verdict.violations, repeated].sort(byRuleThenPath);
    return { ...verdict, outcome: 'invalid', violations, hash: undefined, environment_hash: undefined };
  }
}

const IDS_MAX = 1_000_000;
