import { BusyFault } from './busy-fault.ts';

/** Limits how many clients do the same costly thing at once, in all and per identity. */
export class ClientSlots {
  readonly #max: number;
  readonly #perIdentity: number;
  readonly #taken = new Map<string, number>();

  constructor({ max, perIdentity }: { readonly max: number; readonly perIdentity: number }) {
    this.#max = max;
    this.#perIdentity = perIdentity;
  }

  /** Takes a slot until the returned function is called. */
  take(identity: string): () => void {
    const own = this.#taken.get(identity) ?? 0;
    const all = [...this.#taken.values()].reduce((sum, one) => sum + one, 0);
    if (own >= this.#perIdentity || all >= this.#max)
      throw new BusyFault(
        'too_many_uploads',
        'Too many uploads are being checked. Try again in a few seconds.',
        RETRY_S,
      );
    this.#taken.set(identity, own + 1);
    return () => {
      const left = (this.#taken.get(identity) ?? 1) - 1;
      if (left > 0) this.#taken.set(identity, left);
      else this.#taken.delete(identity);
    };
  }
}

const RETRY_S = 5;
