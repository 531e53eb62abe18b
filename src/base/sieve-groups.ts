import { OFFSETS, WINDOW_BYTES } from './sieve-program.ts';

/** The bytes that match each position of a window: one bit for each low and each high half of a byte. */
export interface Fit {
  readonly lows: readonly number[];
  readonly highs: readonly number[];
  /** The share of ordinary text that matches. */
  readonly rate: number;
}

/** Four bytes of a text, and their offset. */
export interface Window {
  readonly window: string;
  readonly offset: number;
}

/** Texts that share an offset. Texts that differ only in their last byte match almost as rarely together as alone. */
interface Family {
  readonly texts: string[];
  /** By offset. */
  readonly fits: readonly Fit[];
}

/**
 * Picks a window of each text and puts it into one of eight groups, one for each bit of the sieve. The commonest texts come
 * first. Each gets the window and the group that let the least additional text through.
 */
export function grouped(beginnings: readonly string[]): { readonly groups: Fit[]; readonly windows: Window[] } {
  const groups: Fit[] = [];
  const windows: Window[] = [];
  for (const { texts, fits } of familiesOf(beginnings)) {
    let best: { readonly at: number; readonly fit: Fit; readonly offset: number } | undefined;
    let least = Number.POSITIVE_INFINITY;
    fits.forEach((alone, offset) => {
      for (let at = 0; at < Math.min(GROUPS_MAX, groups.length + 1); at++) {
        const group = groups[at];
        const fit = group ? together(group, alone) : alone;
        const added = fit.rate - (group?.rate ?? 0);
        if (added < least) [best, least] = [{ at, fit, offset }, added];
      }
    });
    if (!best) continue;
    const { at, fit, offset } = best;
    groups[at] = fit;
    windows.push(...texts.map(text => ({ window: text.slice(offset, offset + WINDOW_BYTES), offset })));
  }
  return { groups, windows };
}

/** The eight windows of a text, which must be long enough. */
export function allWindows(beginning: string): Window[] {
  return Array.from({ length: OFFSETS }, (_, offset) => ({
    window: beginning.slice(offset, offset + WINDOW_BYTES),
    offset,
  }));
}

function familiesOf(beginnings: readonly string[]): Family[] {
  const families = new Map<string, string[]>();
  for (const text of beginnings) {
    const key = text.length === WINDOW_BYTES ? text.slice(0, -1) : text;
    families.set(key, [...(families.get(key) ?? []), text]);
  }
  return [...families.values()]
    .map(texts => ({ texts, fits: fitsOf(texts) }))
    .sort((a, b) => leastRate(b) - leastRate(a));
}

function leastRate({ fits }: Family): number {
  return Math.min(...fits.map(({ rate }) => rate));
}

function fitsOf(texts: readonly string[]): Fit[] {
  const offsets = (texts[0]?.length ?? 0) - WINDOW_BYTES + 1;
  return Array.from({ length: offsets }, (_, offset) =>
    texts.map(text => fitOf(text.slice(offset, offset + WINDOW_BYTES))).reduce(together),
  );
}

function fitOf(window: string): Fit {
  const bytes = [...Buffer.from(window, 'latin1')];
  return rated(
    bytes.map(byte => 1 << (byte & 15)),
    bytes.map(byte => 1 << (byte >> 4)),
  );
}

function together(one: Fit, other: Fit): Fit {
  return rated(
    one.lows.map((low, place) => low | (other.lows[place] as number)),
    one.highs.map((high, place) => high | (other.highs[place] as number)),
  );
}

function rated(lows: readonly number[], highs: readonly number[]): Fit {
  return { lows, highs, rate: lows.reduce((rate, low, place) => rate * rateOf(low, highs[place] as number), 1) };
}

function rateOf(low: number, high: number): number {
  const known = rates.get((low << 16) | high);
  if (known !== undefined) return known;
  let sum = 0;
  for (let byte = 0; byte < 256; byte++) {
    if (((low >> (byte & 15)) & (high >> (byte >> 4)) & 1) === 1) sum += RATES[byte] as number;
  }
  rates.set((low << 16) | high, sum);
  return sum;
}

/** How common each byte is in logs, sources and prose, roughly. */
const RATES = new Float64Array(256).fill(0.02);
for (let byte = 0x21; byte < 0x7f; byte++) RATES[byte] = 0.8;
for (const [letters, rate] of [
  [' ', 15],
  ['etaoinsr', 5],
  ['lcdupmfh\n', 2.5],
  ['bgjkqvwxyz', 1],
  ['ABCDEFGHIJKLMNOPQRSTUVWXYZ', 0.5],
] as const) {
  for (const letter of letters) RATES[letter.charCodeAt(0)] = rate;
}
const RATES_SUM = RATES.reduce((sum, rate) => sum + rate, 0);
RATES.forEach((rate, byte) => {
  RATES[byte] = rate / RATES_SUM;
});

const rates = new Map<number, number>();

const GROUPS_MAX = 8;
/** The sieve uses at most this many bytes of a text. */
export const BEGINNING_BYTES = OFFSETS + WINDOW_BYTES - 1;
