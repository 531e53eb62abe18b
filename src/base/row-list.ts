/**
 * Ascending row numbers as a short text: the gaps between them in digits of five bits, or one bit per row if that is
 * shorter. The text needs no escaping in JSON or HTML.
 */
export function rowList(rows: readonly number[]): string {
  let gaps = '';
  let next = 0;
  for (const row of rows) {
    let gap = row - next;
    while (gap >= 32) {
      gaps += DIGITS[32 + (gap % 32)];
      gap = Math.floor(gap / 32);
    }
    gaps += DIGITS[gap];
    next = row + 1;
  }
  return gaps.length <= 1 + next / 6 ? gaps : BITS + bitsOf(rows, next);
}

/** Calls back for each row number in the text. Ignores characters that `rowList` does not write. */
export function eachRow(text: string, visit: (row: number) => void): void {
  if (text.startsWith(BITS)) {
    for (let at = 1; at < text.length; at++) {
      const bits = VALUES[text.charCodeAt(at)] ?? 0;
      for (let bit = 0; bit < 6; bit++) if (bits & (1 << bit)) visit((at - 1) * 6 + bit);
    }
    return;
  }
  let next = 0;
  let gap = 0;
  let scale = 1;
  for (let at = 0; at < text.length; at++) {
    const digit = VALUES[text.charCodeAt(at)];
    if (digit === undefined) continue;
    gap += (digit % 32) * scale;
    scale *= 32;
    if (digit >= 32) continue;
    visit(next + gap);
    next += gap + 1;
    gap = 0;
    scale = 1;
  }
}

function bitsOf(rows: readonly number[], length: number): string {
  const bits = new Uint8Array(Math.ceil(length / 6));
  for (const row of rows) {
    const at = Math.floor(row / 6);
    bits[at] = (bits[at] ?? 0) | (1 << (row % 6));
  }
  return Array.from(bits, value => DIGITS[value]).join('');
}

const BITS = '.';
const DIGITS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
const VALUES: readonly (number | undefined)[] = Array.from({ length: 128 }, (_, code) => {
  const value = DIGITS.indexOf(String.fromCharCode(code));
  return value < 0 ? undefined : value;
});
