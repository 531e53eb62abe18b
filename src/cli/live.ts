import { StringDecoder } from 'node:string_decoder';
import { printable } from '../base/printable.ts';

/**
 * What a script says, made fit for a terminal: text with line ends and tabs, and everything that could move the cursor
 * or colour the screen written out. A line that ends with a return alone is one that was written over; it becomes a line.
 * Lines are shown whole, so that two streams do not mix within one; the beginning of one that takes its time is shown as
 * it is.
 */
export class LiveText {
  readonly #decoder = new StringDecoder('utf8');
  readonly #write: (text: string) => void;
  #begun = '';
  #timer: NodeJS.Timeout | undefined;

  constructor(write: (text: string) => void) {
    this.#write = write;
  }

  take(bytes: Uint8Array): void {
    const text = this.#begun + shown(this.#decoder.write(Buffer.from(bytes)));
    const end = text.length > BEGUN_MAX ? text.length : text.lastIndexOf('\n') + 1;
    this.#begun = text.slice(end);
    if (end > 0) this.#write(text.slice(0, end));
    clearTimeout(this.#timer);
    if (this.#begun !== '') this.#timer = setTimeout(() => this.#flush(), PATIENCE_MS).unref();
  }

  end(): void {
    this.#begun += shown(this.#decoder.end());
    this.#flush();
  }

  #flush(): void {
    clearTimeout(this.#timer);
    if (this.#begun !== '') this.#write(this.#begun);
    this.#begun = '';
  }
}

const BEGUN_MAX = 4_096;
const PATIENCE_MS = 100;

function shown(text: string): string {
  const lines = text.replaceAll('\r\n', '\n').replaceAll('\r', '\n');
  return lines
    .split(/([\n\t])/)
    .map((part, index) => (index % 2 === 1 ? part : printable(part)))
    .join('');
}
