import { CARRIAGE_BYTE, FEED_BYTE, isBlankByte, BYTE_ORDER_MARK } from './frame-lines.ts';
import { FRAMES_MAX, type StreamFormat } from './frames.ts';

/**
 * Counts frames as their bytes arrive, so that the caller can note when each was complete. It keeps no data. For any split
 * of the bytes, the counts add up to the number of frames that `readFrames` finds.
 */
export class FrameCounter {
  readonly #isSse: boolean;
  #frames = 0;
  /** The first bytes of the current line, which tell whether it is blank or has data. */
  readonly #head: number[] = [];
  #isFirstLine = true;
  #isBlank = true;
  #hasData = false;
  #endedWithCarriage = false;

  constructor(format: StreamFormat) {
    this.#isSse = format === 'sse';
  }

  /** How many frames this chunk completes. Counting stops at FRAMES_MAX. */
  take(chunk: Uint8Array): number {
    const before = this.#frames;
    for (let index = 0; index < chunk.length; index++) {
      const byte = chunk[index] as number;
      if (this.#isSse) this.#sseByte(byte);
      else this.#ndjsonByte(byte);
    }
    return Math.min(this.#frames, FRAMES_MAX) - Math.min(before, FRAMES_MAX);
  }

  /** How many frames the end of the stream completes: an NDJSON line needs no line feed at the end. */
  end(): number {
    const before = this.#frames;
    if (!this.#isSse) this.#endNdjsonLine();
    return Math.min(this.#frames, FRAMES_MAX) - Math.min(before, FRAMES_MAX);
  }

  #sseByte(byte: number): void {
    const isSecondHalf = byte === FEED_BYTE && this.#endedWithCarriage;
    this.#endedWithCarriage = byte === CARRIAGE_BYTE;
    if (isSecondHalf) return;
    if (byte === FEED_BYTE || byte === CARRIAGE_BYTE) this.#endSseLine();
    else if (this.#head.length < HEAD_BYTES) this.#head.push(byte);
  }

  #endSseLine(): void {
    const head = this.#lineHead();
    if (head.length === 0) {
      if (this.#hasData) this.#frames++;
      this.#hasData = false;
    } else if (startsWith(head, DATA) && (head.length === DATA.length || head[DATA.length] === COLON)) {
      this.#hasData = true;
    }
  }

  #ndjsonByte(byte: number): void {
    if (byte === FEED_BYTE) this.#endNdjsonLine();
    else if (this.#isFirstLine && this.#head.length <= BYTE_ORDER_MARK.length) this.#head.push(byte);
    else this.#isBlank &&= isBlankByte(byte);
  }

  #endNdjsonLine(): void {
    const head = this.#lineHead();
    if (!this.#isBlank || !head.every(isBlankByte)) this.#frames++;
    this.#isBlank = true;
  }

  /** The first bytes of the line that just ended, without a byte order mark. */
  #lineHead(): number[] {
    const head = this.#head.splice(0);
    if (this.#isFirstLine && startsWith(head, BYTE_ORDER_MARK)) head.splice(0, BYTE_ORDER_MARK.length);
    this.#isFirstLine = false;
    return head;
  }
}

const DATA: readonly number[] = [...Buffer.from('data')];
const COLON = 0x3a;
/** A byte order mark, `data` and the colon. */
const HEAD_BYTES = BYTE_ORDER_MARK.length + DATA.length + 1;

const startsWith = (bytes: readonly number[], start: readonly number[]): boolean =>
  start.every((byte, index) => bytes[index] === byte);
