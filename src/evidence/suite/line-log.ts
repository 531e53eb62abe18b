import { closeSync, lstatSync, openSync, writeSync } from 'node:fs';
import path from 'node:path';
import { Fault } from '../../base/fault.ts';
import { fileHash } from '../../base/file-hash.ts';
import { OWN_FILE } from '../../base/private.ts';
import type { AssetNote } from './suite-run.ts';

/**
 * A file of a suite run with one line per attempt, such as its replies. A line is written before the journal names its
 * case, so a case in the journal has its line unless the machine lost power.
 */
export class LineLog {
  readonly #href: string;
  readonly #file: string;
  #fd: number | undefined;
  #held = '';

  constructor(folder: string, href: string) {
    this.#href = href;
    this.#file = path.join(folder, href);
  }

  hold(line: string): void {
    this.#held += `${line}\n`;
  }

  flush(): void {
    if (this.#held === '') return;
    const lines = this.#held;
    this.#held = '';
    this.#fd ??= openSync(this.#file, 'a', OWN_FILE);
    // A disk that is almost full may accept only part of a write.
    if (writeSync(this.#fd, lines) !== Buffer.byteLength(lines)) throw new Fault('disk_full', 'The disk is full.');
  }

  /** The log as an asset, if there is one. */
  notes(): AssetNote[] {
    const stat = lstatSync(this.#file, { throwIfNoEntry: false });
    const sha256 = stat && fileHash(this.#file);
    return stat && sha256 ? [{ href: this.#href, kind: 'other', caseId: null, bytes: stat.size, sha256 }] : [];
  }

  close(): void {
    if (this.#fd !== undefined) closeSync(this.#fd);
    this.#fd = undefined;
  }
}
