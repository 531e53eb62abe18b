import { Fault } from '../../base/fault.ts';
import { fileHashInTurns } from '../../base/file-hash.ts';
import { contentHash } from '../../base/hash.ts';
import type { PublishedOrder } from '../../verbs/publish/run-published.ts';

/** The key with which a client repeats an order, and the hash of the whole order. */
export type OrderKey = NonNullable<PublishedOrder['repeat']>;

export async function orderKeyOf(
  { name, version, values = {}, files = [] }: PublishedOrder,
  key: string,
): Promise<OrderKey> {
  const uploads: { field: string; name: string; sha256: string | null }[] = [];
  for (const { field, name: called, file } of files)
    uploads.push({ field, name: called, sha256: (await fileHashInTurns(file)) ?? null });
  return { key, digest: contentHash({ name, version: version ?? null, values, uploads }) };
}

/** The newest orders of published scripts by the keys that their clients chose. */
export class OrderKeys {
  readonly #known = new Map<string, { readonly runId: string; readonly digest: string }>();

  has(by: string, key: string): boolean {
    return this.#known.has(nameOf(by, key));
  }

  /** The run of the same order; undefined if it is new. Throws if the key belongs to another order. */
  find(by: string, { key, digest }: OrderKey): string | undefined {
    const known = this.#known.get(nameOf(by, key));
    if (known && known.digest !== digest)
      throw new Fault('run_exists', 'Another order has this idempotency-key. Use another one.');
    return known?.runId;
  }

  keep(by: string, { key, digest }: OrderKey, runId: string): void {
    this.#known.set(nameOf(by, key), { runId, digest });
    for (const oldest of this.#known.keys()) {
      if (this.#known.size <= KEYS_MAX) break;
      this.#known.delete(oldest);
    }
  }
}

const KEYS_MAX = 10_000;

function nameOf(by: string, key: string): string {
  return JSON.stringify([by, key]);
}
