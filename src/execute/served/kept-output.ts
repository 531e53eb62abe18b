import type { KeptStream } from '../../contracts/capture.ts';
import { printable } from '../../base/printable.ts';
import { StreamKeeper } from '../job/kept-stream.ts';
import type { KeptOrder } from './keeper-messages.ts';

/** The output of a program: masked, cut to its limit, and searched for the awaited text. */
export class KeptOutput {
  readonly #keeper: StreamKeeper;
  readonly #awaited: Buffer;
  readonly #onSeen: () => void;
  #isSeen: boolean;
  /** The end of what was searched. The awaited text may continue in the next chunk. */
  #searched: Buffer = Buffer.alloc(0);
  /** The masked end of the output. */
  #end: Buffer = Buffer.alloc(0);
  #isEndCut = false;

  constructor({ keep, secrets, keepCredentials, awaited = '' }: KeptOrder, onSeen: () => void) {
    this.#keeper = new StreamKeeper({ ...keep, secrets, keepCredentials });
    this.#awaited = Buffer.from(awaited);
    this.#isSeen = awaited === '';
    this.#onSeen = onSeen;
  }

  take(chunk: Buffer): void {
    // Before masking: the awaited text may contain a secret.
    if (!this.#isSeen) this.#search(chunk);
    this.#keepEnd(this.#keeper.take(chunk));
  }

  end(): KeptStream {
    const { rest, kept } = this.#keeper.end();
    this.#keepEnd(rest);
    return kept;
  }

  /** The last lines, safe for a terminal. An end that may be the start of a secret is missing until `end`. */
  lastLines(): string[] {
    const lines = this.#end.toString().split(/\r?\n/);
    // The first line is incomplete if earlier bytes were dropped.
    if (this.#isEndCut && lines.length > 1) lines.shift();
    return lines
      .filter(line => line.trim() !== '')
      .slice(-LINES_MAX)
      .map(line => printable(line.replace(COLOR, '').replaceAll('\t', ' ')).slice(0, LINE_UNITS_MAX));
  }

  #search(chunk: Buffer): void {
    const bytes = Buffer.concat([this.#searched, chunk]);
    this.#isSeen = bytes.includes(this.#awaited);
    this.#searched = Buffer.from(bytes.subarray(Math.max(0, bytes.length - this.#awaited.length + 1)));
    if (this.#isSeen) this.#onSeen();
  }

  #keepEnd(bytes: Buffer): void {
    if (bytes.length === 0) return;
    const all = Buffer.concat([this.#end, bytes.subarray(-END_BYTES_MAX)]);
    this.#isEndCut ||= bytes.length > END_BYTES_MAX || all.length > END_BYTES_MAX;
    this.#end = Buffer.from(all.subarray(-END_BYTES_MAX));
  }
}

/** Most servers color their log. */
const COLOR = /\u001b\[[0-9;]*m/g;

const LINES_MAX = 20;
const LINE_UNITS_MAX = 400;
const END_BYTES_MAX = 16 * 1024;
