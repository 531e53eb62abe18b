import { CARRIAGE_BYTE, FEED_BYTE } from './frame-lines.ts';

/** Reads the data of server-sent events as their bytes arrive. The result is that of `readFrames`, for any split. */
export class SseReader {
  readonly #lineBytesMax: number;
  /** The pieces of the current line. They are joined once, at its end. */
  #rest: Buffer[] = [];
  #restBytes = 0;
  #data: Buffer[] = [];
  #endedWithCarriage = false;
  #isFirst = true;

  /** An event with a line longer than `lineBytesMax` bytes is cut there. */
  constructor(lineBytesMax: number) {
    this.#lineBytesMax = lineBytesMax;
  }

  /** The data of every event that this chunk completes. */
  take(chunk: Buffer): Buffer[] {
    const events: Buffer[] = [];
    let from = this.#endedWithCarriage && chunk[0] === FEED_BYTE ? 1 : 0;
    this.#endedWithCarriage = chunk.length === 0 ? this.#endedWithCarriage : chunk.at(-1) === CARRIAGE_BYTE;
    for (let index = from; index < chunk.length; index++) {
      const byte = chunk[index];
      if (byte !== FEED_BYTE && byte !== CARRIAGE_BYTE) continue;
      const event = this.#endLine(chunk.subarray(from, index));
      if (event) events.push(event);
      if (byte === CARRIAGE_BYTE && chunk[index + 1] === FEED_BYTE) index++;
      from = index + 1;
    }
    this.#keep(chunk.subarray(from));
    return events;
  }

  #keep(bytes: Buffer): void {
    const room = this.#lineBytesMax - this.#restBytes;
    if (bytes.length === 0 || room <= 0) return;
    const piece = bytes.subarray(0, room);
    this.#rest.push(piece);
    this.#restBytes += piece.length;
  }

  /** The data of an event, if this line, which is empty, ends one. */
  #endLine(end: Buffer): Buffer | undefined {
    this.#keep(end);
    const whole = Buffer.concat(this.#rest.splice(0));
    this.#restBytes = 0;
    const line = this.#isFirst ? withoutMark(whole) : whole;
    this.#isFirst = false;
    if (line.length > 0) {
      const data = dataIn(line);
      if (data) this.#data.push(data);
      return undefined;
    }
    const lines = this.#data.splice(0);
    if (lines.length === 0) return undefined;
    return Buffer.concat(lines.flatMap((data, index) => (index === 0 ? [data] : [FEED, data])));
  }
}

/** The value of a `data` field. */
function dataIn(line: Buffer): Buffer | undefined {
  if (line.equals(DATA)) return Buffer.alloc(0);
  if (!line.subarray(0, DATA.length + 1).equals(DATA_COLON)) return undefined;
  const start = DATA_COLON.length;
  return line.subarray(line[start] === SPACE ? start + 1 : start);
}

const DATA = Buffer.from('data');
const DATA_COLON = Buffer.from('data:');
const FEED = Buffer.from('\n');
const SPACE = 0x20;
const MARK = Buffer.from('\uFEFF');

const withoutMark = (line: Buffer): Buffer => (line.subarray(0, 3).equals(MARK) ? line.subarray(3) : line);
