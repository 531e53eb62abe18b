import { StringDecoder } from 'node:string_decoder';
import { printable } from '../../base/printable.ts';

/**
 * Shows a program's output in a terminal, with control characters escaped. It writes whole lines, so that two streams
 * do not mix within one, and flushes a partial line after 100 ms. A lone carriage return ends a line.
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
