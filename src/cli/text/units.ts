import { InvalidArgumentError } from 'commander';
import { Fault } from '../../base/fault.ts';
import { durationMs, sizeBytes } from '../../base/units.ts';

export const duration = argument(durationMs);

/** A duration whose bare number is in seconds, as `--timeout 20` has always been. */
export const timeout = argument(text => durationMs(/^\d{1,9}$/.test(text) ? `${text}s` : text));

export const size = argument(sizeBytes);

/** A parser whose error counts as a wrong argument, so that Proctor names the flag. */
function argument(parse: (text: string) => number): (text: string) => number {
  return text => {
    try {
      return parse(text);
    } catch (error) {
      throw error instanceof Fault ? new InvalidArgumentError(error.message) : error;
    }
  };
}

export function wholeNumber(text: string): number {
  if (!/^\d{1,9}$/.test(text)) throw new InvalidArgumentError('Use an integer.');
  return Number(text);
}

/** `3`, `-3`. */
export function integer(text: string): number {
  if (!/^-?\d{1,9}$/.test(text)) throw new InvalidArgumentError('Use an integer.');
  return Number(text);
}

/** `0.5`, `2`. */
export function cpus(text: string): number {
  if (!/^\d{1,4}(?:\.\d{1,3})?$/.test(text)) throw new InvalidArgumentError('Use a number such as 0.5 or 2.');
  return Number(text);
}

/** `0.02`, `1`. */
export function share(text: string): number {
  const number = /^(?:0?\.\d{1,9}|1(?:\.0{1,9})?)$/.test(text) ? Number(text) : 0;
  if (number === 0) throw new InvalidArgumentError('Use a number above 0 and up to 1, such as 0.02.');
  return number;
}

/** `0.50`, `3`. */
export function dollars(text: string): number {
  if (!/^\d{1,6}(?:\.\d{1,6})?$/.test(text)) throw new InvalidArgumentError('Use an amount such as 0.50 or 3.');
  return Number(text);
}

export function atLeastOne(text: string): number {
  const number = wholeNumber(text);
  if (number < 1) throw new InvalidArgumentError('Use an integer of at least 1.');
  return number;
}

/** `1.5 s`, `12 ms`, `3 min`. */
export function durationText(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  const [value, unit] = ms < 120_000 ? [ms / 1_000, 's'] : [ms / 60_000, 'min'];
  return `${Number(value.toFixed(1))} ${unit}`;
}

/** `812 B`, `14.2 KiB`, `500 MiB`. */
export function sizeText(bytes: number): string {
  for (const [unit, of] of [
    ['GiB', 1024 ** 3],
    ['MiB', 1024 ** 2],
    ['KiB', 1024],
  ] as const) {
    if (bytes >= of) return `${Number((bytes / of).toFixed(1))} ${unit}`;
  }
  return `${bytes} B`;
}

export function countText(count: number, one: string, many = `${one}s`): string {
  return `${numberText(count)} ${count === 1 ? one : many}`;
}

/** `10,000`. */
export function numberText(count: number): string {
  return count.toLocaleString('en-US');
}

/** Collects the values of a repeatable flag. */
export function collect(word: string, words: readonly string[] | undefined): readonly string[] {
  return [...(words ?? []), word];
}

/** The first line of a text, cut to a maximum length. */
export function shortText(text: string, unitsMax: number): string {
  const [line = ''] = text.trim().split('\n', 1);
  return line.length > unitsMax || line.length < text.trim().length ? `${line.slice(0, unitsMax).trimEnd()}…` : line;
}
