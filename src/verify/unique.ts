import { Fingerprints } from '../base/fingerprints.ts';
import { byRuleThenPath, type Violation } from '../contracts/check.ts';
import type { Examined } from './examine.ts';
import type { Verdict } from './verdict.ts';

/** Detects ids that occur twice in a file or folder. */
export class Unique {
  readonly #ids = new Fingerprints(IDS_MAX);

  /** What was not checked, if there were more ids than the limit. */
  get limit(): string | undefined {
    return this.#ids.isFull ? `whether ids repeat after the first ${IDS_MAX.toLocaleString('en-US')}` : undefined;
  }

  /** Makes the verdict invalid if an earlier document has the same id. */
  judge({ verdict, contract, value }: Examined): Verdict {
    const unique = contract?.unique;
    if (!unique || typeof value !== 'object' || value === null) return verdict;
    const { [unique.field]: id, [unique.within ?? '']: within } = value as Record<string, unknown>;
    if (typeof id !== 'string' || !this.#ids.hasMet(typeof within === 'string' ? `${within}/${id}` : id))
      return verdict;
    const repeated: Violation = {
      rule_id: unique.rule,
      message: `An earlier document has the same ${unique.field}.`,
      path: unique.field,
    };
    const violations = [...verdict.violations, repeated].sort(byRuleThenPath);
    return { ...verdict, outcome: 'invalid', violations, hash: undefined, environment_hash: undefined };
  }
}

const IDS_MAX = 1_000_000;
