import { weightOf } from './json-text.ts';
import type { StepBudget } from './step-budget.ts';

/** One reply, while it is mapped. Values that many items share are computed once. */
export class MappingRun {
  readonly document: unknown;
  readonly budget: StepBudget;
  readonly #kept = new Map<object, unknown>();
  readonly #weighed = new Map<object, Map<unknown, Weighed>>();

  constructor(document: unknown, budget: StepBudget) {
    this.document = document;
    this.budget = budget;
  }

  /** What `make` returned the first time for this owner. */
  once<Value>(owner: object, make: () => Value): Value {
    if (!this.#kept.has(owner)) this.#kept.set(owner, make());
    return this.#kept.get(owner) as Value;
  }

  /**
   * Like `once`, for a value that goes into the reply once per item. Every use costs the size of the value, because a small
   * reply could otherwise become a very large artifact.
   */
  shared(owner: object, key: unknown, make: () => unknown): unknown {
    let ofOwner = this.#weighed.get(owner);
    if (!ofOwner) this.#weighed.set(owner, (ofOwner = new Map()));
    let weighed = ofOwner.get(key);
    if (!weighed) {
      const value = make();
      weighed = { value, weight: weightOf(value) };
      ofOwner.set(key, weighed);
    }
    this.budget.take(weighed.weight);
    return weighed.value;
  }
}

interface Weighed {
  readonly value: unknown;
  readonly weight: number;
}

/** Reads one value for an item. Outside of a rule, the item is the document. Undefined means that nothing was found. */
export type ReadValue = (run: MappingRun, item: unknown) => unknown;
