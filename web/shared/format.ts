/** Formats do not depend on the machine's locale. */
const WHOLE = new Intl.NumberFormat('en-US', { maximumFractionDigits: 0 });
const SHORT = new Intl.NumberFormat('en-US', { maximumSignificantDigits: 3 });

export const count = (value: number): string => WHOLE.format(value);

export function milliseconds(value: number): string {
  if (value < 1_000) return `${value < 10 ? SHORT.format(value) : WHOLE.format(value)} ms`;
  return `${SHORT.format(value / 1_000)} s`;
}

export const dollars = (value: number): string => `$${SHORT.format(value)}`;

export const score = (value: number): string => SHORT.format(value);

export function change(from: number | null, to: number | null): string | null {
  if (from === null || to === null || from === 0) return null;
  const percent = ((to - from) / from) * 100;
  if (Math.abs(percent) < 0.5) return '±0%';
  return `${percent > 0 ? '+' : '−'}${WHOLE.format(Math.abs(percent))}%`;
}

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
