import { createHash } from 'node:crypto';
import { closeSync, fdatasyncSync, openSync, writeSync } from 'node:fs';
import path from 'node:path';
import { orWriteFault } from '../../base/fault.ts';
import { makeFolders, OWN_FILE } from '../../base/private.ts';
import type { Stored } from '../step/capture-note.ts';

/** A file that is written and hashed while the run is alive, up to a size limit. */
export class GrowingFile {
  readonly #fd: number;
  readonly #bytesMax: number;
  readonly #hash = createHash('sha256');
  #bytes = 0;

  constructor(file: string, bytesMax: number) {
    this.#bytesMax = bytesMax;
    this.#fd = written(() => {
      makeFolders(path.dirname(file));
      return openSync(file, 'wx', OWN_FILE);
    });
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** Returns false if the file is full. It then wrote as many bytes as fit. */
  write(bytes: Uint8Array): boolean {
    const room = this.#bytesMax - this.#bytes;
    const fitting = bytes.length > room ? bytes.subarray(0, room) : bytes;
    written(() => {
      for (let from = 0; from < fitting.length; ) from += writeSync(this.#fd, fitting, from);
    });
    this.#hash.update(fitting);
    this.#bytes += fitting.length;
    return fitting.length === bytes.length;
  }

  /** Syncs the file to disk and closes it. */
  end(): Stored {
    if (this.#bytes > 0) written(() => fdatasyncSync(this.#fd));
    closeSync(this.#fd);
    return { sha256: `sha256:${this.#hash.digest('hex')}`, bytes: this.#bytes };
  }
}

function written<Value>(act: () => Value): Value {
  return orWriteFault('write_failed', "The run's evidence", act);
}
