import { isWithin } from '../../base/place.ts';
import { plainText } from '../written/plain-text.ts';
import { bytesIn, type CaseSource, isObject, jsonBytesMost, placeInCases, type Written } from './case-source.ts';
import { type Cell, rowsOf } from './csv.ts';
import { type Column, columnsOf, Unreadable } from './csv-columns.ts';

/** A table with a header row, and a case in each row after it. */
export function csvSource(fd: number, bytes: number): CaseSource {
  const text = plainText(bytesIn(fd, bytes));
  if (typeof text !== 'string') return { written: [text], lineOf: () => 1 };
  const table = new CaseTable();
  return { written: table.written(text), lineOf: (index, place) => table.lineOf(index, place) };
}

class CaseTable {
  #columns: readonly Column[] = [];
  /** The row at hand. Of those before it, only the line is kept. */
  #row: readonly Cell[] = [];
  readonly #lines: number[] = [];

  *written(text: string): Generator<Written> {
    let width = 0;
    for (const row of rowsOf(text)) {
      if ('says' in row) yield row;
      else if (width > 0) yield* this.#caseIn(row, width);
      else {
        const { columns, wrongs } = columnsOf(row);
        yield* wrongs;
        // Every row would repeat what is wrong with the header.
        if (wrongs.length > 0) return;
        this.#columns = columns;
        width = row.length;
      }
    }
  }

  lineOf(index: number, place: string): number {
    const line = this.#lines[index] ?? 1;
    if (index < this.#lines.length - 1) return line;
    const column = this.#columns.findLast(one => isWithin(place, one.place));
    return (column && this.#row[column.at]?.line) ?? line;
  }

  *#caseIn(row: readonly Cell[], width: number): Generator<Written> {
    const line = row[0]?.line ?? 1;
    this.#row = row;
    const index = this.#lines.push(line) - 1;
    if (row.length !== width) {
      yield { line, says: `${placeInCases(index, '')} has ${row.length} cells, and the header has ${width}` };
      return;
    }
    const one: Record<string, unknown> = {};
    let units = 0;
    for (const { at, place, read } of this.#columns) {
      const cell = row[at] as Cell;
      if (cell.text === '') continue;
      units += cell.text.length;
      const value = read(cell.text);
      const says = value instanceof Unreadable ? value.says : put(one, place, value);
      if (says !== undefined) yield { line: cell.line, says: `${placeInCases(index, place)} ${says}` };
    }
    yield { index, value: one, jsonBytesMost: jsonBytesMost(JSON_BYTES_PER_UNIT * units) };
  }
}

/** A control character is one unit of a cell and six bytes of JSON; nothing takes more. */
const JSON_BYTES_PER_UNIT = 6;

/** Puts what a cell holds where its column says, or tells why it cannot. */
function put(one: Record<string, unknown>, place: string, value: unknown): string | undefined {
  const [head = '', key] = place.split('.');
  if (key === undefined) {
    one[head] = value;
    return undefined;
  }
  one[head] ??= head === 'input' ? { user: '' } : {};
  const object = one[head];
  // What is no object is told of as such when the case is judged.
  if (!isObject(object)) return undefined;
  if (head === 'expected' && Object.hasOwn(object, key)) return 'stands in the column expected, too';
  object[key] = value;
  return undefined;
}
