import type { RunEvent } from '../contracts/run-events.ts';
import { cursorText, type RunCursor } from './run-cursor.ts';
import type { RunStream } from './run-stream.ts';

/** The growing texts of a run, as events with the position after each. */
export class RunTexts {
  readonly #streams: readonly RunStream[];

  constructor(streams: readonly RunStream[]) {
    this.#streams = streams;
  }

  /** How much of each stream has been read. */
  get offsets(): number[] {
    return this.#streams.map(({ end }) => end);
  }

  /** Whether only the sealed evidence can contain one of the texts, if the program has ended. */
  get needsSealed(): boolean {
    return this.#streams.some(({ needsSealed }) => needsSealed);
  }

  /** Reads about 1 MiB of text into `events`. Returns whether there is more. */
  read(events: RunEvent[], line: number, isOver: boolean): boolean {
    let room = TEXT_PIECES_MAX;
    for (const [index, stream] of this.#streams.entries()) {
      for (let found = stream.next(isOver); found; found = stream.next(isOver)) {
        for (const { event, end } of found) {
          const offsets = this.offsets.with(index, end);
          events.push({ ...event, id: cursorText({ line, offsets }) });
        }
        if (--room <= 0) return true;
      }
      const cut = stream.cutEvent();
      if (cut) events.push(cut);
    }
    return false;
  }

  /** Reads texts again, up to a position. Moves `offsets` along. */
  *again(line: number, offsets: number[], to: RunCursor): Generator<RunEvent> {
    for (const [index, stream] of this.#streams.entries()) {
      for (const { event, end } of stream.again(offsets[index] as number, to.offsets[index] ?? 0)) {
        offsets[index] = end;
        yield { ...event, id: cursorText({ line, offsets }) };
      }
    }
  }

  close(): void {
    for (const stream of this.#streams) stream.close();
  }
}

const TEXT_PIECES_MAX = 64;
