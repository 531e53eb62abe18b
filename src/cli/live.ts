import { StringDecoder } from 'node:string_decoder';
import { printable } from '../base/printable.ts';

/**
 * What a script says, made fit for a terminal: text with line ends and tabs, and everything that could move the cursor
 * or colour the screen written out. A line that ends with a return alone is one that was written over; it becomes a line.
 */
export class LiveText {
  readonly #decoder = new StringDecoder('utf8');

  take(bytes: Uint8Array): string {
    return this.#shown(this.#decoder.write(Buffer.from(bytes)));
  }

  end(): string {
    return this.#shown(this.#decoder.end());
  }

  #shown(text: string): string {
    return text
      .replaceAll('\r\n', '\n')
      .replaceAll('\r', '\n')
      .split(/([\n\t])/)
      .map((part, index) => (index % 2 === 1 ? part : printable(part)))
      .join('');
  }
}
