import type { Readable } from 'node:stream';
import { ends } from '../../policy/caps.ts';
import { type CommandContext, commandOrder, type DeclaredCommand } from './command.ts';
import { type KeptProgram, startKept } from './kept-program.ts';
import { LOG_BYTES_MAX, type ServedLog, servedLogOf } from './served.ts';

export interface TalkingListener {
  /** Receives every line of standard output, without its line feed. */
  readonly onLine: (line: TalkedLine) => void;
  /** Called whenever something arrives. */
  readonly onData: () => void;
  /** Called once, when standard output has ended. */
  readonly onEnd: () => void;
  readonly lineBytesMax: number;
}

export interface TalkedLine {
  /** At most `lineBytesMax` bytes. */
  readonly bytes: Buffer;
  /** The length and the last bytes of a line that is longer. */
  readonly cut?: { readonly bytesTotal: number; readonly tail: Buffer };
}

/** A program that reads lines from standard input and writes lines to standard output. */
export interface TalkingProgram {
  /** Whether the line could be taken. It cannot if the program has ended, or does not read what it gets. */
  write(line: string): boolean;
  hasEnded(): boolean;
  /** Ends the program and everything it started. Never rejects. */
  stop(): Promise<TalkingEnd>;
}

interface TalkingEnd {
  /** What the program wrote to standard error. */
  readonly log: ServedLog;
  /** The number of processes that could not be killed. */
  readonly survivors: number;
}

/** Starts a program. Throws a Fault if it does not start. */
export async function startTalking(
  command: DeclaredCommand,
  context: CommandContext,
  listener: TalkingListener,
): Promise<TalkingProgram> {
  const program = await startKept({
    ...commandOrder(command, context),
    talks: true,
    stderr: 'merged',
    stop: { signal: 'SIGTERM', withinMs: STOP_MS },
    keep: ends(LOG_BYTES_MAX),
  });
  const { input, output } = program.streams as NonNullable<KeptProgram['streams']>;
  // `write` and `onEnd` report stream errors, so these listeners only prevent a crash.
  input.on('error', () => undefined);
  output.on('error', () => undefined);
  readLines(output, listener);
  let isOver = false;
  output.once('close', () => {
    isOver = true;
    listener.onEnd();
  });
  return {
    write: line => {
      if (isOver || !input.writable || input.writableLength > WAITING_BYTES_MAX) return false;
      input.write(`${line}\n`);
      return true;
    },
    hasEnded: () => isOver || program.hasEnded(),
    stop: async () => {
      input.end();
      const end = await program.stop();
      output.destroy();
      return { log: servedLogOf(end, program.lastLines()), survivors: end.survivors };
    },
  };
}

const STOP_MS = 5_000;
/** A program that does not read lets at most this much wait. */
const WAITING_BYTES_MAX = 32 * 1024 * 1024;

function readLines(output: Readable, { onLine, onData, lineBytesMax }: TalkingListener): void {
  const reader = new LineReader(lineBytesMax);
  output.on('data', (chunk: Buffer) => {
    onData();
    for (const line of reader.take(chunk)) onLine(line);
  });
}

/** Splits chunks into lines. Keeps the start and the end of a long line. */
class LineReader {
  readonly #bytesMax: number;
  #parts: Buffer[] = [];
  #kept = 0;
  #total = 0;
  #tail: Buffer = Buffer.alloc(0);

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  take(chunk: Buffer): TalkedLine[] {
    const lines: TalkedLine[] = [];
    let from = 0;
    for (let feed = chunk.indexOf(FEED); feed >= 0; feed = chunk.indexOf(FEED, from)) {
      this.#keep(chunk.subarray(from, feed));
      lines.push(this.#line());
      from = feed + 1;
    }
    this.#keep(chunk.subarray(from));
    return lines;
  }

  #keep(bytes: Buffer): void {
    const room = this.#bytesMax - this.#kept;
    if (bytes.length > 0 && room > 0) this.#parts.push(bytes.subarray(0, room));
    this.#kept += Math.min(bytes.length, room);
    this.#total += bytes.length;
    if (this.#total > this.#bytesMax) {
      this.#tail = Buffer.from(Buffer.concat([this.#tail, bytes.subarray(-TAIL_BYTES)]).subarray(-TAIL_BYTES));
    }
  }

  #line(): TalkedLine {
    const bytes = Buffer.concat(this.#parts);
    const isCut = this.#total > this.#bytesMax;
    const line = { bytes, ...(isCut && { cut: { bytesTotal: this.#total, tail: this.#tail } }) };
    this.#parts = [];
    this.#kept = 0;
    this.#total = 0;
    this.#tail = Buffer.alloc(0);
    return line;
  }
}

const FEED = 0x0a;
const TAIL_BYTES = 200;
