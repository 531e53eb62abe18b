import type { PageGrounds } from '../../src/reports/page-data.ts';
import { anchorOf, spaced } from './axis-labels.ts';
import { useWidth } from './plots.tsx';
import { axisOf } from './interval-axis.ts';

interface Props {
  readonly rates: NonNullable<PageGrounds['rates']>;
  /** The plot as a sentence. */
  readonly says: string;
}

const EDGE = 8;
const ROW = 54;
const BAR_Y = 36;
const AXIS = 24;

/** The pass rate of each side with its interval, on one axis. */
export function IntervalPlot({ rates, says }: Props) {
  const [box, width] = useWidth();
  const { from, to, ticks } = axisOf(rates);
  const x = (rate: number): number => EDGE + ((rate - from) / (to - from)) * (width - 2 * EDGE);
  const sides = [
    { key: 'baseline', label: 'Baseline', of: rates.baseline },
    { key: 'candidate', label: 'Candidate', of: rates.new },
  ] as const;
  const bottom = sides.length * ROW;
  return (
    <figure class="plot intervals" ref={box}>
      <svg
        viewBox={`0 0 ${width} ${bottom + AXIS}`}
        width={width}
        height={bottom + AXIS}
        role="img"
        aria-label={`Pass rate: ${says}`}
      >
        {spaced(ticks, x, width, percent).map(tick => (
          <g key={tick} class="tick">
            <line x1={x(tick)} x2={x(tick)} y1={BAR_Y - 8} y2={bottom} />
            <text x={x(tick)} y={bottom + 16} text-anchor={anchorOf(x(tick), width)}>
              {percent(tick)}
            </text>
          </g>
        ))}
        {sides.map(({ key, label, of: { rate, low, high } }, row) => (
          <g key={key} class={`interval ${key}`} transform={`translate(0 ${row * ROW})`}>
            <text class="label" x={EDGE} y="20">
              {label}
            </text>
            <text class="figures" x={width - EDGE} y="20" text-anchor="end">
              <tspan class="rate">{percent(rate)}</tspan> ({percent(low)} to {percent(high)})
            </text>
            <line class="reach" x1={x(low)} x2={x(high)} y1={BAR_Y} y2={BAR_Y} />
            <circle cx={x(rate)} cy={BAR_Y} r="5.5" />
          </g>
        ))}
      </svg>
      <figcaption class="note">Pass rate with its 95 % confidence interval. Each case counts once.</figcaption>
    </figure>
  );
}

const percent = (share: number): string => `${Number((100 * share).toFixed(1))} %`;
