import { createInterface } from 'node:readline';
import { isatty } from 'node:tty';
import { Fault } from '../../base/fault.ts';
import { stderr } from '../text/out.ts';

/** Whether a person can answer: standard input and standard error are a terminal. */
export function canAsk(): boolean {
  return isatty(0) && isatty(2);
}

export interface TerminalQuestion {
  readonly text: string;
  /** What an empty answer means. */
  readonly otherwise: string;
  /** Says what is wrong with an answer; undefined if it is good. */
  readonly refuse?: (answer: string) => string | undefined;
}

/** Asks questions in a terminal, on standard error. Ctrl-C and Ctrl-D end with a fault. */
export class Questions {
  readonly #lines;
  readonly #over = new AbortController();

  constructor(signal: AbortSignal) {
    this.#lines = createInterface({
      input: process.stdin,
      output: process.stderr,
      terminal: process.env['TERM'] !== 'dumb',
    });
    // With its own line editing, readline reports Ctrl-C as an event. Otherwise it arrives as a signal.
    for (const event of ['SIGINT', 'close'] as const) this.#lines.on(event, () => this.#over.abort());
    signal.addEventListener('abort', () => this.#over.abort());
  }

  async ask({ text, otherwise, refuse }: TerminalQuestion): Promise<string> {
    for (let attempt = 1; ; attempt++) {
      const answer = (await this.#line(text)).trim() || otherwise;
      const wrong = refuse?.(answer);
      if (wrong === undefined) return answer;
      if (attempt === ATTEMPTS_MAX) throw new Fault('usage', wrong);
      stderr.write(`  ${wrong}\n`);
    }
  }

  /** The exit code if the user ended the questions; undefined if not. */
  exit(): number | undefined {
    return this.#over.signal.aborted ? 130 : undefined;
  }

  close(): void {
    this.#lines.close();
  }

  #line(text: string): Promise<string> {
    const { signal } = this.#over;
    return new Promise((resolve, reject) => {
      const stop = (): void => {
        stderr.write('\n');
        reject(new Fault('cancelled', 'Cancelled. Nothing was written.'));
      };
      if (signal.aborted) return stop();
      signal.addEventListener('abort', stop);
      this.#lines.question(text, answer => {
        signal.removeEventListener('abort', stop);
        resolve(answer);
      });
    });
  }
}

const ATTEMPTS_MAX = 3;
