import { closeSync, readSync } from 'node:fs';
import path from 'node:path';
import { linesOf } from '../base/lines.ts';
import { openRegular } from '../base/regular.ts';
import { type SuiteCase, suiteCase } from '../contracts/suite/index.ts';
import { CASES } from '../evidence/suite/suite-folder.ts';

/** Finds the cases of a suite by id. Reads the file only as far as needed, because cases finish roughly in order. */
export class CaseFinder {
  readonly #fd: number | undefined;
  readonly #lines: Iterator<{ readonly bytes?: Buffer }> | undefined;
  readonly #places = new Map<string, { readonly from: number; readonly length: number }>();
  #end = 0;

  constructor(folder: string) {
    this.#fd = openRegular(path.join(folder, CASES));
    this.#lines = this.#fd === undefined ? undefined : linesOf(this.#fd, suiteCase.bytesMax, 0);
  }

  /** Undefined if the file does not contain the case. */
  find(id: string): SuiteCase | undefined {
    const place = this.#places.get(id);
    if (this.#fd === undefined || !place) return this.#scan(id);
    const bytes = Buffer.allocUnsafe(place.length);
    const length = readSync(this.#fd, bytes, 0, place.length, place.from);
    return JSON.parse(bytes.toString('utf8', 0, length)) as SuiteCase;
  }

  #scan(id: string): SuiteCase | undefined {
    for (;;) {
      const next = this.#lines?.next();
      if (!next || next.done || !next.value.bytes) return undefined;
      const { bytes } = next.value;
      const one = JSON.parse(bytes.toString()) as SuiteCase;
      this.#places.set(one.id, { from: this.#end, length: bytes.length });
      this.#end += bytes.length + 1;
      if (one.id === id) return one;
    }
  }

  close(): void {
    if (this.#fd !== undefined) closeSync(this.#fd);
  }
}
