import { eachRow } from '../../src/base/row-list.ts';
import { eachWord } from '../../src/base/search-words.ts';
import type { PageIndex } from '../../src/reports/page-data.ts';

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

  /** A mark for each row that contains all words of the text, in any order. */
  marks(text: string, rows: number): Uint8Array {
    const found = new Uint8Array(rows);
    let asked = 0;
    eachWord(text, word => {
      const isIn = new Uint8Array(rows);
      for (const [index, known] of this.#words.entries()) {
        if (known.includes(word)) eachRow(this.#rows[index] ?? '', row => void (isIn[row] = 1));
      }
      asked++;
      for (let row = 0; row < rows; row++) found[row] = (found[row] ?? 0) + (isIn[row] ?? 0);
    });
    return asked === 0 ? found : found.map(hits => (hits === asked ? 1 : 0));
  }
}
