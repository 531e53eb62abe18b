/** `812`, `10,000`. */
export function digitsText(count: number): string {
  return count.toLocaleString('en-US');
}

/** `1 file`, `10,000 files`. */
export function amount(count: number, one: string, many = `${one}s`): string {
  return `${digitsText(count)} ${count === 1 ? one : many}`;
}

/** `12 ms`, `1.5 s`, `3 min`. */
export function spanText(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  const [value, unit] = ms < 120_000 ? [ms / 1_000, 's'] : [ms / 60_000, 'min'];
  return `${Number(value.toFixed(1))} ${unit}`;
}

/** `812 B`, `14.2 KiB`, `500 MiB`. */
export function bytesText(bytes: number): string {
  const units = [
    ['GiB', 1024 ** 3],
    ['MiB', 1024 ** 2],
    ['KiB', 1024],
  ] as const;
  const [unit, of] = units.find(([, size]) => bytes >= size) ?? ['B', 1];
  return `${Number((bytes / of).toFixed(1))} ${unit}`;
}

/** `$0.0421`, `$3.10`. */
export function costText(usd: number): string {
  return `$${usd.toFixed(usd < 1 ? 4 : 2)}`;
}

/** The first line of a text, cut to a maximum length. */
export function lineOf(text: string, unitsMax: number): string {
  const [line = ''] = text.trim().split('\n', 1);
  return line.length > unitsMax ? `${line.slice(0, unitsMax).trimEnd().toWellFormed()}…` : line;
}

/** An identifier as words: `native policy block`. */
export function asWords(name: string): string {
  return name.replaceAll('_', ' ');
}
