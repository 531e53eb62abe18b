/** Ticks from 0 to at least the highest value, in at most five round steps. */
export function scaleOf(highest: number, most = 0): number[] {
  const top = Math.max(highest, most);
  if (!(top > SMALLEST)) return [0, 1];
  const rough = top / STEPS_MAX;
  const unit = 10 ** Math.floor(Math.log10(rough));
  const step = ([1, 2, 2.5, 5, 10].find(factor => factor * unit >= rough - ROUNDING * unit) ?? 10) * unit;
  const steps = Math.ceil(top / step - ROUNDING);
  return Array.from({ length: steps + 1 }, (_, index) =>
    Number(Math.min(Number.MAX_VALUE, index * step).toPrecision(12)),
  );
}

const STEPS_MAX = 4;
/** A step of a smaller scale would be 0. */
const SMALLEST = 1e-300;
/** 0.3 / 0.1 is a little less than 3. */
const ROUNDING = 1e-9;
