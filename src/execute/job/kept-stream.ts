import { createHash } from 'node:crypto';
import { closeSync, openSync, writeSync } from 'node:fs';
import { type KeptStream, LIVE_BYTES_MAX } from '../../contracts/capture.ts';
import { Masker, maskingOf } from '../../base/masker.ts';

export interface StreamLimits {
  readonly headBytes: number;
  readonly tailBytes: number;
  readonly secrets: readonly string[];
  readonly keepCredentials?: boolean;
  /** A file that always contains the head received so far. */
  readonly file?: string;
  /** A file that contains what follows the head, up to LIVE_BYTES_MAX, for viewers of a running program. */
  readonly more?: string;
}

/** Masks, counts and hashes a stream of any length in constant memory, and keeps its head and tail. */
export class StreamKeeper {
  readonly #keeping: StreamLimits;
  readonly #masker: Masker;
  readonly #hash = createHash('sha256');
  readonly #head: Buffer[] = [];
  #headLength = 0;
  /** A ring: `#tailAt` is where the next byte goes. Allocated when the head is full, because most streams are short. */
  #tail: Buffer | undefined;
  #tailAt = 0;
  #bytesTotal = 0;
  #fd: number | undefined;
  #isFileLost = false;
  #moreFd: number | undefined;
  #moreBytes = 0;

  constructor(keeping: StreamLimits) {
    this.#keeping = keeping;
    this.#masker = new Masker(maskingOf(keeping.secrets, keeping.keepCredentials));
  }

  /** Returns the masked bytes that are safe to show. Holds back a suffix that could be the start of a secret. */
  take(chunk: Buffer): Buffer {
    return this.#keep(this.#masker.take(chunk));
  }

  end(): { readonly rest: Buffer; readonly kept: KeptStream } {
    const rest = this.#keep(this.#masker.end());
    for (const fd of [this.#fd, this.#moreFd]) if (fd !== undefined) closeSync(fd);
    return {
      rest,
      kept: {
        bytesTotal: this.#bytesTotal,
        sha256: `sha256:${this.#hash.digest('hex')}`,
        head: Buffer.concat(this.#head),
        tail: this.#unrolled(),
        masked: this.#masker.masked,
        kinds: this.#masker.kinds,
      },
    };
  }

  #keep(bytes: Buffer): Buffer {
    this.#hash.update(bytes);
    this.#bytesTotal += bytes.length;
    const room = this.#keeping.headBytes - this.#headLength;
    if (room > 0 && bytes.length > 0) this.#keepHead(bytes.subarray(0, room));
    if (bytes.length > room) {
      this.#keepTail(bytes.subarray(room));
      this.#keepMore(bytes.subarray(room));
    }
    return bytes;
  }

  #keepHead(bytes: Buffer): void {
    this.#head.push(Buffer.from(bytes));
    this.#headLength += bytes.length;
    const { file } = this.#keeping;
    if (file === undefined || this.#isFileLost) return;
    try {
      this.#fd ??= openSync(file, 'wx', 0o600);
      writeSync(this.#fd, bytes);
    } catch {
      // Only recovery reads this file, so the run continues. The head must have no gap, so nothing more is written.
      this.#isFileLost = true;
    }
  }

  #keepMore(bytes: Buffer): void {
    const { more } = this.#keeping;
    const room = LIVE_BYTES_MAX - this.#moreBytes;
    if (more === undefined || room <= 0 || this.#isFileLost) return;
    try {
      this.#moreFd ??= openSync(more, 'wx', 0o600);
      const written = writeSync(this.#moreFd, bytes.subarray(0, room));
      // Viewers must not see a gap, so nothing follows a part that does not fit on the disk.
      this.#moreBytes = written < Math.min(room, bytes.length) ? LIVE_BYTES_MAX : this.#moreBytes + written;
    } catch {
      // Only viewers read this file, so the run continues.
      this.#moreBytes = LIVE_BYTES_MAX;
    }
  }

  #keepTail(bytes: Buffer): void {
    const { tailBytes } = this.#keeping;
    if (tailBytes === 0) return;
    this.#tail ??= Buffer.allocUnsafe(tailBytes);
    const last = bytes.subarray(Math.max(0, bytes.length - tailBytes));
    const copied = last.copy(this.#tail, this.#tailAt);
    last.copy(this.#tail, 0, copied);
    this.#tailAt = (this.#tailAt + last.length) % tailBytes;
  }

  #unrolled(): Buffer {
    if (this.#tail === undefined) return Buffer.alloc(0);
    const isFull = this.#bytesTotal - this.#headLength >= this.#tail.length;
    const newer = this.#tail.subarray(0, this.#tailAt);
    return isFull ? Buffer.concat([this.#tail.subarray(this.#tailAt), newer]) : Buffer.from(newer);
  }
}
