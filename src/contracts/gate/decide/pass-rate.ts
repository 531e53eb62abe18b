import type { Count } from './case-test.ts';
import { normalQuantile, rounded } from './distributions.ts';

/** The mean pass rate over cases, with its 95 % confidence interval. */
export interface PassRate {
  readonly rate: number;
  readonly low: number;
  readonly high: number;
}

/** Wilson's interval. Each case counts once, however many trials it has, because trials of one case are correlated. */
export function passRate(cases: readonly Count[]): PassRate {
  const n = cases.length;
  const rate = cases.reduce((sum, { passes, trials }) => sum + passes / trials, 0) / n;
  const middle = (rate + Z ** 2 / (2 * n)) / (1 + Z ** 2 / n);
  const reach = (Z * Math.sqrt((rate * (1 - rate)) / n + (Z / (2 * n)) ** 2)) / (1 + Z ** 2 / n);
  return { rate: rounded(rate), low: rounded(Math.max(0, middle - reach)), high: rounded(Math.min(1, middle + reach)) };
}

const Z = normalQuantile(0.025);
