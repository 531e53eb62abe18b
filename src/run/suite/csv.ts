/** One cell of a table, and the line where it starts. */
export interface CsvCell {
  readonly text: string;
  readonly line: number;
}

export interface CsvFault {
  readonly line: number;
  readonly says: string;
}

/**
 * Yields the rows of a table in the format of RFC 4180. Rows end with CRLF or LF; blank lines are skipped. A fault ends
 * the iteration, because the rest of the text is ambiguous.
 */
export function* rowsOf(text: string): Generator<readonly CsvCell[] | CsvFault> {
  let row: CsvCell[] = [];
  let line = 1;
  let at = 0;
  while (at < text.length) {
    const start = at;
    at = text[start] === '"' ? quotedEnd(text, start) : plainEnd(text, start);
    if (at < 0) {
      yield { line, says: 'The quote that opens here is never closed' };
      return;
    }
    const cell = text.slice(start, at);
    row.push({ text: cell.startsWith('"') ? cell.slice(1, -1).replaceAll('""', '"') : cell, line });
    line += feedsIn(cell);
    const separator = separatorAt(text, at);
    if (separator === undefined) {
      yield { line, says: strayWords(text[at]) };
      return;
    }
    at += separator.length;
    // A comma at the very end is followed by an empty cell.
    if (separator === ',' && at < text.length) continue;
    if (separator === ',') row.push({ text: '', line });
    if (row.length > 1 || cell !== '') yield row;
    row = [];
    line++;
  }
}

/** Returns the separator after a cell: a comma, a line ending, or '' at the end. Undefined if there is none. */
function separatorAt(text: string, at: number): string | undefined {
  if (at === text.length) return '';
  const unit = text[at];
  if (unit === ',' || unit === '\n') return unit;
  return unit === '\r' && text[at + 1] === '\n' ? '\r\n' : undefined;
}

function strayWords(unit: string | undefined): string {
  if (unit === '\r') return 'A carriage return is not followed by a line feed';
  if (unit === '"') return 'A quote appears inside an unquoted cell';
  return 'Text follows the closing quote of a cell';
}

/** The index after the closing quote, or -1. */
function quotedEnd(text: string, start: number): number {
  let quote = text.indexOf('"', start + 1);
  while (quote >= 0 && text[quote + 1] === '"') quote = text.indexOf('"', quote + 2);
  return quote < 0 ? -1 : quote + 1;
}

function plainEnd(text: string, start: number): number {
  let at = start;
  while (at < text.length && !STOPS.has(text[at] as string)) at++;
  return at;
}

const STOPS: ReadonlySet<string> = new Set(',"\n\r');

function feedsIn(text: string): number {
  let feeds = 0;
  for (let feed = text.indexOf('\n'); feed >= 0; feed = text.indexOf('\n', feed + 1)) feeds++;
  return feeds;
}
