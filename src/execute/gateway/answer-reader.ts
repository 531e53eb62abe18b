import { defined } from '../../base/defined.ts';
import { readJson } from '../../base/json.ts';
import { LineCutter } from '../../base/line-cutter.ts';
import { isObject } from '../../contracts/kind.ts';
import type { Gateway, AnswerPart } from './gateway.ts';

/**
 * Reads the model, token counts and end of an answer while it is forwarded. Buffers one line of a stream at a time, or
 * a whole answer of up to 16 MiB. Skips events that contain none of these facts.
 */
export class AnswerReader {
  readonly #gateway: Gateway;
  readonly #cutter: LineCutter | undefined;
  #whole = Buffer.alloc(0);
  #bytes = 0;
  #heard: AnswerPart = {};

  constructor(gateway: Gateway, contentType: string | undefined) {
    this.#gateway = gateway;
    this.#cutter = /^text\/event-stream\b/i.test(contentType ?? '') ? new LineCutter(EVENT_BYTES_MAX) : undefined;
  }

  take(chunk: Buffer): void {
    this.#bytes += chunk.length;
    if (this.#cutter) this.#cutter.take(chunk, line => this.#line(line));
    else if (this.#bytes <= EVENT_BYTES_MAX) this.#hold(chunk);
    else this.#whole = Buffer.alloc(0);
  }

  /** Doubles the buffer, because an answer may arrive byte by byte. */
  #hold(chunk: Buffer): void {
    if (this.#bytes > this.#whole.length) {
      const larger = Buffer.allocUnsafe(this.#bytes * 2);
      this.#whole.copy(larger);
      this.#whole = larger;
    }
    chunk.copy(this.#whole, this.#bytes - chunk.length);
  }

  /** The facts read so far. A non-streamed answer has none until it ends. */
  heard(): AnswerPart {
    return this.#heard;
  }

  end(): AnswerPart {
    if (this.#cutter) this.#cutter.end(line => this.#line(line));
    else if (this.#whole.length > 0) this.#event(this.#whole.subarray(0, this.#bytes));
    this.#whole = Buffer.alloc(0);
    return this.#heard;
  }

  #line(line: Buffer | null): void {
    if (line === null || line[0] !== D || !line.subarray(0, DATA.length).equals(DATA)) return;
    const data = line.subarray(DATA.length);
    if (DONE.test(data.toString('latin1', 0, 16))) this.#heard = { ...this.#heard, isDone: true };
    else if (TELLING.some(word => data.includes(word))) this.#event(data);
  }

  #event(bytes: Buffer): void {
    const reading = readJson(bytes, { bytesMax: EVENT_BYTES_MAX });
    if (!reading.ok || !isObject(reading.value)) return;
    this.#heard = { ...this.#heard, ...defined(this.#gateway.hear(reading.value)) };
  }
}

/**
 * The last event of a response repeats the whole response. Longer events are skipped, and their tokens are estimated.
 */
const EVENT_BYTES_MAX = 16 * 1024 * 1024;

const DATA = Buffer.from('data:');
const D = 0x64;
const DONE = /^ ?\[DONE\]\s*$/;

/** Events without any of these are pieces of text. An answer has thousands of them. */
const TELLING: readonly string[] = ['"usage', '"message_stop"', '"error"', '"response.failed"'];
