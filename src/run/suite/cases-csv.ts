import { isWithin } from '../../base/place.ts';
import { isObject } from '../../contracts/kind.ts';
import { plainText } from '../written/plain-text.ts';
import { bytesIn, type CaseSource, jsonBytesMost, placeInCases, type Written } from './case-source.ts';
import { type CsvCell, rowsOf } from './csv.ts';
import { type Column, columnsOf, Unreadable } from './csv-columns.ts';

/** Reads a table with a header row and one case per row. */
export function csvSource(fd: number, bytes: number): CaseSource {
  const text = plainText(bytesIn(fd, bytes));
  if (typeof text !== 'string') return { written: [text], lineOf: () => 1 };
  const table = new CaseTable();
  return { written: table.written(text), lineOf: (index, place) => table.lineOf(index, place) };
}

class CaseTable {
  #columns: readonly Column[] = [];
  /** The current row. Earlier rows keep only their line number. */
  #row: readonly CsvCell[] = [];
  readonly #lines: number[] = [];

  *written(text: string): Generator<Written> {
    let width = 0;
    for (const row of rowsOf(text)) {
      if ('says' in row) yield row;
      else if (width > 0) yield* this.#caseIn(row, width);
      else {
        const { columns, wrongs } = columnsOf(row);
        yield* wrongs;
        // Every row would repeat the header's faults.
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

  *#caseIn(row: readonly CsvCell[], width: number): Generator<Written> {
    const line = row[0]?.line ?? 1;
    this.#row = row;
    const index = this.#lines.push(line) - 1;
    if (row.length !== width) {
      yield { line, says: `${placeInCases(index, '')} has ${row.length} cells, but the header has ${width}` };
      return;
    }
    const one: Record<string, unknown> = {};
    let units = 0;
    for (const { at, place, read } of this.#columns) {
      const cell = row[at] as CsvCell;
      if (cell.text === '') continue;
      units += cell.text.length;
      const value = read(cell.text);
      const says = value instanceof Unreadable ? value.says : put(one, place, value);
      if (says !== undefined) yield { line: cell.line, says: `${placeInCases(index, place)} ${says}` };
    }
    yield { index, value: one, jsonBytesMost: jsonBytesMost(JSON_BYTES_PER_UNIT * units) };
  }
}

/** A control character is one UTF-16 unit and six bytes of JSON, which is the maximum. */
const JSON_BYTES_PER_UNIT = 6;

/** Sets the value of a cell in the case. Returns a fault if it cannot. */
function put(one: Record<string, unknown>, place: string, value: unknown): string | undefined {
  const [head = '', key] = place.split('.');
  if (key === undefined) {
    one[head] = value;
    return undefined;
  }
  one[head] ??= head === 'input' ? { user: '' } : {};
  const object = one[head];
  // The case check reports a non-object.
  if (!isObject(object)) return undefined;
  if (head === 'expected' && Object.hasOwn(object, key)) return 'is also set in the column expected';
  object[key] = value;
  return undefined;
}
