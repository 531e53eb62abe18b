/** Formats do not depend on the machine's locale. */
const WHOLE = new Intl.NumberFormat('en-US', { maximumFractionDigits: 0 });
const SHORT = new Intl.NumberFormat('en-US', { maximumSignificantDigits: 3 });

const SHORT4 = new Intl.NumberFormat('en-US', { maximumSignificantDigits: 4 });
const COMPACT = new Intl.NumberFormat('en-US', { notation: 'compact', maximumSignificantDigits: 3 });

export const count = (value: number): string => WHOLE.format(value);

export function milliseconds(value: number): string {
  if (value < 1_000) return `${value < 10 ? SHORT.format(value) : WHOLE.format(value)} ms`;
  if (value < 600_000) return `${SHORT.format(value / 1_000)} s`;
  return value < 36_000_000 ? `${SHORT.format(value / 60_000)} min` : `${SHORT.format(value / 3_600_000)} h`;
}

export const dollars = (value: number): string => `$${SHORT.format(value)}`;

export const score = (value: number): string => SHORT.format(value);

/** "9 % slower" or "2.5 × slower"; null if a side is unknown or the difference is small. */
export function pace(from: number | null, to: number | null): string | null {
  if (from === null || to === null || from <= 0 || to <= 0 || Math.abs(to - from) < 0.005 * from) return null;
  if (to < from) return `${percent((from - to) / from)} faster`;
  return to < 3 * from ? `${percent((to - from) / from)} slower` : `${SHORT.format(to / from)} × slower`;
}

/** "9 % above the baseline"; null if a side is unknown. */
export function against(from: number | null, to: number | null): string | null {
  if (from === null || to === null || from === 0) return null;
  if (Math.abs(to - from) < 0.005 * from) return 'same as the baseline';
  const step = to < from || to < 11 * from ? percent(Math.abs(to - from) / from) : null;
  if (step === null) return `${SHORT.format(to / from)} × the baseline`;
  return `${step} ${to > from ? 'above' : 'below'} the baseline`;
}

/** A share with at most one decimal, and none above 10 %. */
const percent = (share: number): string => `${Number((100 * share).toFixed(share < 0.1 ? 1 : 0))} %`;

export const tokens = (value: number): string => (value < 10_000 ? SHORT4.format(value) : COMPACT.format(value));

export const signed = (value: number, format: (value: number) => string): string =>
  value === 0 ? format(0) : `${value > 0 ? '+' : '−'}${format(Math.abs(value))}`;

const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];

/** "Jan 6, 2026, 12:00 UTC" */
export function instant(text: string): string {
  const ms = Date.parse(text);
  if (Number.isNaN(ms)) return text;
  const [date = '', time = ''] = new Date(ms).toISOString().split('T');
  const [year, month, day] = date.split('-').map(Number);
  return `${MONTHS[(month ?? 1) - 1]} ${day}, ${year}, ${time.slice(0, 5)} UTC`;
}

export const plural = (value: number, one: string, many = `${one}s`): string =>
  `${count(value)} ${value === 1 ? one : many}`;

/** Letters of both sides as "3/3 → 1/3". Skips trials that do not count; null if a side has none. */
export function tallyOf(baseline: string, candidate: string): string | null {
  const [countedBaseline, countedCandidate] = [baseline, candidate].map(letters => letters.replaceAll('n', ''));
  if (!countedBaseline || !countedCandidate) return null;
  return `${passesIn(countedBaseline)}/${countedBaseline.length} → ${passesIn(countedCandidate)}/${countedCandidate.length}`;
}

const passesIn = (letters: string): number => letters.split('p').length - 1;

export const sideName = (side: string): string => (side === 'new' ? 'candidate' : side);
