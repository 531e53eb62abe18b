import { stripVTControlCharacters } from 'node:util';
import { monotonicMs } from '../../base/clock.ts';
import { printable } from '../../base/printable.ts';
import type { AttemptProgress } from '../../verbs/run-attempts.ts';
import { attemptInBrief } from './attempts-text.ts';
import type { Paint } from './paint.ts';
import { watchedColumns } from './progress.ts';
import { eventText } from './transcript-text.ts';
import { durationText } from './units.ts';

interface TerminalSize {
  readonly columns: number;
  readonly rows: number;
}

interface Line {
  state: 'waiting' | 'preparing' | 'running' | 'ended';
  text: string;
  sinceMs: number | undefined;
}

/** The progress of several attempts: a line for each that updates in a terminal, or a line per change elsewhere. */
export class AttemptsProgress {
  readonly #write: (text: string) => unknown;
  /** The current size of the terminal; undefined without one. */
  readonly #size: (() => TerminalSize) | undefined;
  readonly #paint: Paint;
  readonly #of: number;
  readonly #lines: readonly Line[];
  readonly #timer: NodeJS.Timeout | undefined;
  #shown = 0;
  #shownMs = 0;

  constructor(
    write: (text: string) => unknown,
    { size, of, paint }: { size: (() => TerminalSize) | undefined; of: number; paint: Paint },
  ) {
    this.#write = write;
    this.#size = size;
    this.#paint = paint;
    this.#of = of;
    this.#lines = Array.from({ length: of }, () => ({ state: 'waiting', text: '', sinceMs: undefined }));
    this.#timer = size && setInterval(() => this.#draw(true), TICK_MS).unref();
  }

  readonly take = (progress: AttemptProgress): void => {
    const line = this.#lines[progress.attempt - 1];
    if (!line) return;
    const before = `${line.state} ${line.text}`;
    change(line, progress);
    if (this.#size) this.#draw(progress.is === 'ended');
    else if (progress.is !== 'event' && progress.is !== 'preparing' && before !== `${line.state} ${line.text}`)
      this.#write(`attempt ${progress.attempt} of ${this.#of}  ${line.text}\n`);
  };

  /** Writes a line that stays. */
  say(line: string): void {
    this.#clear();
    this.#write(`${line}\n`);
    if (this.#size) this.#draw(true);
  }

  end(): void {
    clearInterval(this.#timer);
    this.#clear();
  }

  #clear(): void {
    if (this.#shown > 0) this.#write(`\u001b[${this.#shown}A\r\u001b[J`);
    this.#shown = 0;
  }

  #draw(isNow: boolean): void {
    const nowMs = monotonicMs();
    if (!this.#size || (!isNow && nowMs - this.#shownMs < PAUSE_MS)) return;
    this.#shownMs = nowMs;
    const { columns, rows } = this.#size();
    const up = this.#shown > 0 ? `\u001b[${this.#shown}A\r` : '';
    // A longer line would wrap, and could not be overwritten.
    const lines = this.#visible(rows).map(line => fitted(line, columns - 1));
    this.#write(`${up}${lines.map(line => `${line}\u001b[K\n`).join('')}\u001b[J`);
    this.#shown = lines.length;
  }

  /** One line per attempt. If the terminal has too few rows, only the running attempts and a count. */
  #visible(rows: number): string[] {
    const all = this.#lines.map((line, index) => ({ line, text: this.#text(line, index + 1) }));
    if (all.length < rows - 1) return all.map(({ text }) => text);
    const count = (state: Line['state']): number => all.filter(({ line }) => line.state === state).length;
    const running = all.filter(({ line }) => line.state === 'running' || line.state === 'preparing');
    return [
      ...running.slice(0, Math.max(0, rows - 3)).map(({ text }) => text),
      `${count('ended')} of ${this.#of} attempts ended, ${running.length} running, ${count('waiting')} waiting`,
    ];
  }

  #text({ state, text, sinceMs }: Line, attempt: number): string {
    const took =
      sinceMs === undefined ? '' : `${durationText(1_000 * Math.floor((monotonicMs() - sinceMs) / 1_000))}  `;
    const number = `${attempt}`.padStart(`${this.#of}`.length);
    const style = state === 'running' ? 'strong' : 'faint';
    return `${this.#paint(style, number)}  ${state === 'running' ? took : ''}${text === '' ? state : text}`;
  }
}

const TICK_MS = 1_000;
const PAUSE_MS = 100;

function change(line: Line, progress: AttemptProgress): void {
  switch (progress.is) {
    case 'event': {
      const said = eventText(progress.line, (_, text) => text);
      // The line already shows how long the attempt has run.
      if (said !== undefined) line.text = said.replace(/^ *[\d.]+s {2}/, '');
      return;
    }
    case 'running':
      Object.assign(line, { state: 'running', text: `running  ${progress.runId}`, sinceMs: monotonicMs() });
      return;
    case 'ended': {
      const { row } = progress;
      const text = 'code' in row ? `not run: ${printable(row.message)}` : attemptInBrief(row);
      Object.assign(line, { state: 'ended', text });
      return;
    }
    case 'preparing':
      Object.assign(line, { state: 'preparing', text: 'preparing' });
      return;
    default:
      Object.assign(line, { state: 'waiting', text: 'waiting for a slot' });
  }
}

/** Cuts a line to the width. Drops the colours of a line that is too long, because a cut could split one. */
function fitted(line: string, columns: number): string {
  const plain = stripVTControlCharacters(line);
  return plain.length <= columns ? line : `${plain.slice(0, Math.max(0, columns - 1))}…`;
}

/** The size of the terminal; undefined if it cannot rewrite lines. */
export function watchedSize(
  stream: NodeJS.WriteStream,
  environment: NodeJS.ProcessEnv,
): (() => TerminalSize) | undefined {
  const columns = watchedColumns(stream, environment);
  return columns && (() => ({ columns: columns(), rows: stream.rows || 24 }));
}
