import type { ServerResponse } from 'node:http';
import type { LiveLimits } from './live-limits.ts';

/** The connection of one viewer. A viewer that does not read is cut off, so that it costs a bounded amount of memory. */
export class Viewer {
  readonly #to: ServerResponse;
  readonly #limits: LiveLimits;
  readonly #isAllowed: (() => Promise<boolean>) | undefined;
  #waitingBeats = 0;
  #isOver = false;

  constructor(to: ServerResponse, limits: LiveLimits, onGone: () => void, isAllowed?: () => Promise<boolean>) {
    this.#to = to;
    this.#limits = limits;
    this.#isAllowed = isAllowed;
    to.on('drain', () => (this.#waitingBeats = 0));
    to.on('error', () => this.cut());
    to.once('close', () => {
      this.#isOver = true;
      onGone();
    });
    to.writeHead(200, EVENT_STREAM);
    to.write('retry: 1000\n\n');
  }

  /** Sends what the viewer has missed, as fast as it reads. Calls `done` unless the viewer leaves. */
  catchUp(missed: Iterator<string>, done: () => void): void {
    const pump = (): void => {
      if (this.#isOver) return;
      const { text, isAll } = nextTexts(missed);
      const hasRoom = text === '' || this.#to.write(text);
      if (isAll) done();
      else if (hasRoom) setImmediate(pump);
      else this.#to.once('drain', pump);
    };
    setImmediate(pump);
  }

  /** Sends a frame. All viewers of a run get the same bytes. */
  send(frame: Buffer | string): void {
    if (this.#isOver) return;
    if (this.#to.writableLength > this.#limits.waitingBytesMax) this.cut();
    else this.#to.write(frame);
  }

  beat(): void {
    if (this.#to.writableLength === 0) this.#waitingBeats = 0;
    else if (++this.#waitingBeats > this.#limits.waitingBeatsMax) return this.cut();
    this.send(BEAT);
    this.#isAllowed?.().then(
      isAllowed => isAllowed || this.cut(),
      () => this.cut(),
    );
  }

  /** Closes the connection after everything is sent. */
  end(): void {
    if (!this.#isOver) this.#to.end();
  }

  /** Closes the connection now. */
  cut(): void {
    this.#isOver = true;
    this.#to.destroy();
  }
}

/** The headers of a stream of server-sent events. */
export const EVENT_STREAM = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-store',
  // Otherwise nginx would collect events before it forwards them.
  'x-accel-buffering': 'no',
};

/** A comment, which clients ignore. */
const BEAT = Buffer.from(':\n\n');

/** About 64 KiB of texts, so that a long run does not block the others. */
function nextTexts(missed: Iterator<string>): { readonly text: string; readonly isAll: boolean } {
  let text = '';
  while (text.length < PIECE_UNITS) {
    const next = missed.next();
    if (next.done) return { text, isAll: true };
    text += next.value;
  }
  return { text, isAll: false };
}

const PIECE_UNITS = 64 * 1024;
