import { Fault } from './fault.ts';

/** A time as people write it, in flags and in files. */
export const TIME = /^\d{1,9}(?:[mM]?[sS]|[mMhHdD])$/;
const TIME_EXAMPLES = '500ms, 30s, 10m, 2h or 3d';

/** The milliseconds of a time such as `500ms`, `30s`, `10m`, `2h` or `3d`. Refuses a time without a unit. */
export function durationMs(text: string): number {
  if (/^\d{1,9}$/.test(text)) {
    throw new Fault('usage', `A time needs a unit. Write ${text}s, ${text}m, ${text}h or ${text}d.`);
  }
  if (!TIME.test(text)) throw new Fault('usage', `Use a time such as ${TIME_EXAMPLES}.`);
  const unit = text.replace(/^\d+/, '').toLowerCase() as keyof typeof UNITS_MS;
  return Number.parseInt(text, 10) * UNITS_MS[unit];
}

const UNITS_MS = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;

/** The bytes of a size. `64k` and `64KiB` count in powers of 1024, `64kB` in powers of 1000; `65536` is bytes. */
export function sizeBytes(text: string): number {
  const [, digits, unit = '', ending = ''] = /^(\d{1,12})(?:([kmg])(i?b)?|b)?$/i.exec(text) ?? [];
  const base = ending.toLowerCase() === 'b' ? 1000 : 1024;
  const bytes = Number(digits) * base ** ['', 'k', 'm', 'g'].indexOf(unit.toLowerCase());
  if (!Number.isSafeInteger(bytes)) throw new Fault('usage', `Use a size such as ${SIZE_EXAMPLES}.`);
  return bytes;
}

const SIZE_EXAMPLES = '65536, 512k, 64MiB, 10MB or 1g';
