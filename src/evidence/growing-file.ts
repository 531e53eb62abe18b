import { createHash } from 'node:crypto';
import { closeSync, fdatasyncSync, openSync, writeSync } from 'node:fs';
import path from 'node:path';
import { Fault, fullDisk } from '../base/fault.ts';
import { makeFolders, OWN_FILE } from '../base/private.ts';
import type { Stored } from './agent-run.ts';

/** A file of a run that is written while the run lives, up to a size, and hashed on the way. */
export class GrowingFile {
  readonly #fd: number;
  readonly #bytesMax: number;
  readonly #hash = createHash('sha256');
  #bytes = 0;

  constructor(file: string, bytesMax: number) {
    this.#bytesMax = bytesMax;
    this.#fd = told(() => {
      makeFolders(path.dirname(file));
      return openSync(file, 'wx', OWN_FILE);
    });
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** False where it is full: then only as much was written as fits. */
  write(bytes: Uint8Array): boolean {
    const room = this.#bytesMax - this.#bytes;
    const fitting = bytes.length > room ? bytes.subarray(0, room) : bytes;
    told(() => {
      for (let from = 0; from < fitting.length; ) from += writeSync(this.#fd, fitting, from);
    });
    this.#hash.update(fitting);
    this.#bytes += fitting.length;
    return fitting.length === bytes.length;
  }

  /** What is in it is on the disk, and nothing more will be. */
  end(): Stored {
    // An empty one has nothing to be lost.
    if (this.#bytes > 0) told(() => fdatasyncSync(this.#fd));
    closeSync(this.#fd);
    return { sha256: `sha256:${this.#hash.digest('hex')}`, bytes: this.#bytes };
  }
}

function told<Value>(act: () => Value): Value {
  try {
    return act();
  } catch (cause) {
    throw new Fault('write_failed', `The evidence of the run could not be written${fullDisk(cause)}.`, { cause });
  }
}
