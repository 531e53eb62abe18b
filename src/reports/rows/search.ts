import { eachRow } from '../../base/row-list.ts';
import { eachWord } from '../../base/search-words.ts';
import type { PageIndex } from '../page-data.ts';

/** Finds the rows whose case contains a part of a word, in any text that the index covers. */
export class Search {
  readonly #words: readonly string[];
  readonly #rows: readonly string[];

  constructor({ words, rows }: Pick<PageIndex, 'words' | 'rows'>) {
    let last = '';
    this.#words =
      words === ''
        ? []
        : words.split(' ').map(word => {
            last = last.slice(0, Number.parseInt(word[0] ?? '0', 36)) + word.slice(1);
            return last;
          });
    this.#rows = rows.split(' ');
  }

  /** A mark for each row that contains the text as a part of a word, or all words of the text. */
  marks(text: string, rows: number): Uint8Array {
    const parts: string[] = [];
    eachWord(text, part => parts.push(part));
    const found = this.#containing(text.toLowerCase(), rows);
    if (parts.length === 0 || parts[0] === text.toLowerCase()) return found;
    const each = parts.map(part => this.#containing(part, rows));
    return found.map((mark, row) => (mark || each.every(one => one[row] === 1) ? 1 : 0));
  }

  #containing(part: string, rows: number): Uint8Array {
    const marks = new Uint8Array(rows);
    if (part === '') return marks;
    for (const [index, word] of this.#words.entries()) {
      if (word.includes(part)) eachRow(this.#rows[index] ?? '', row => void (marks[row] = 1));
    }
    return marks;
  }
}
