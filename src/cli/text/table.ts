import { stripVTControlCharacters } from 'node:util';

/** Aligns the cells of rows in columns, two spaces apart. */
export function tableLines(rows: readonly (readonly string[])[]): string[] {
  const widths: number[] = [];
  for (const row of rows) {
    for (const [column, cell] of row.entries()) widths[column] = Math.max(widths[column] ?? 0, widthOf(cell));
  }
  return rows.map(row =>
    row
      .map((cell, column) => cell + ' '.repeat((widths[column] ?? 0) - widthOf(cell)))
      .join('  ')
      .trimEnd(),
  );
}

/** Colours take no columns. */
function widthOf(cell: string): number {
  return Array.from(stripVTControlCharacters(cell)).length;
}
