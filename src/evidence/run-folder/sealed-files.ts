import { compare } from '../../contracts/check.ts';
import type { SealedFile } from '../../contracts/seal/statement.ts';

/** Files that were hashed when they were stored. */
export interface StoredFiles {
  has(path: string): boolean;
  /** Sorted by path. */
  sorted(): Iterable<SealedFile>;
}

export function storedFiles(files: readonly SealedFile[]): StoredFiles {
  const paths = new Set(files.map(({ path }) => path));
  return { has: path => paths.has(path), sorted: () => [...files].sort((a, b) => compare(a.path, b.path)) };
}

/** The files of up to 100,000 cases: a name, a 32-byte digest and a size each. */
export class StoredCases implements StoredFiles {
  readonly #ids: string[] = [];
  readonly #sizes: number[] = [];
  #digests = Buffer.alloc(1_024 * DIGEST_BYTES);

  add(id: string, sha256: string, bytes: number): void {
    const at = this.#ids.length * DIGEST_BYTES;
    if (at === this.#digests.length) this.#digests = Buffer.concat([this.#digests], 2 * this.#digests.length);
    this.#digests.write(sha256.slice('sha256:'.length), at, 'hex');
    this.#ids.push(id);
    this.#sizes.push(bytes);
  }

  has(path: string): boolean {
    this.#paths ??= new Set(this.#ids);
    return path.endsWith('.json') && this.#paths.has(path.slice(0, -'.json'.length));
  }

  *sorted(): Generator<SealedFile> {
    const order = Uint32Array.from(this.#ids, (_, index) => index);
    order.sort((a, b) => compare(`${this.#ids[a]}.json`, `${this.#ids[b]}.json`));
    for (const index of order) {
      const digest = this.#digests.toString('hex', index * DIGEST_BYTES, (index + 1) * DIGEST_BYTES);
      yield { path: `${this.#ids[index]}.json`, sha256: `sha256:${digest}`, bytes: this.#sizes[index] as number };
    }
  }

  /** Built on first use, after the last case was added. */
  #paths: Set<string> | undefined;
}

const DIGEST_BYTES = 32;

/** Merges two sorted lists. */
export function* mergeSorted(first: Iterable<SealedFile>, second: Iterable<SealedFile>): Generator<SealedFile> {
  const others = second[Symbol.iterator]();
  let other = others.next();
  for (const file of first) {
    for (; !other.done && compare(other.value.path, file.path) < 0; other = others.next()) yield other.value;
    yield file;
  }
  for (; !other.done; other = others.next()) yield other.value;
}
