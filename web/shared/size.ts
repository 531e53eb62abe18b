import { count, milliseconds } from './format.ts';

const UNITS = [
  ['GiB', 1024 ** 3],
  ['MiB', 1024 ** 2],
  ['KiB', 1024],
] as const;

/** "812 B", "14.2 KiB", "500 MiB" */
export function size(bytes: number): string {
  for (const [unit, of] of UNITS) if (bytes >= of) return `${Number((bytes / of).toFixed(1))} ${unit}`;
  return `${bytes} B`;
}

/** A value with the unit of its limit. */
export function amount(value: number, unit: 'ms' | 'bytes' | 'count'): string {
  if (unit === 'bytes') return size(value);
  return unit === 'ms' ? milliseconds(value) : value % 1 === 0 ? count(value) : `${value}`;
}
