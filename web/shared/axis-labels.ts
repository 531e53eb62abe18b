/** Labels at the edges extend inwards. */
export const anchorOf = (at: number, width: number): 'start' | 'middle' | 'end' =>
  at < 24 ? 'start' : at > width - 24 ? 'end' : 'middle';

/** Keeps only ticks whose labels do not overlap. A label at the edge extends to one side. */
export function spaced(
  ticks: readonly number[],
  x: (value: number) => number,
  width: number,
  format: (value: number) => string,
): number[] {
  const kept: number[] = [];
  let end = Number.NEGATIVE_INFINITY;
  for (const tick of ticks) {
    const long = format(tick).length * DIGIT_PX;
    const share = { start: 0, middle: 0.5, end: 1 }[anchorOf(x(tick), width)];
    const from = x(tick) - long * share;
    if (from < end + LABEL_GAP_PX) continue;
    kept.push(tick);
    end = from + long;
  }
  return kept;
}

/** The width of a digit in labels of 12 px, with some spare room. */
const DIGIT_PX = 7.5;
const LABEL_GAP_PX = 8;
