import { shortened } from '../../src/base/shortened.ts';
import type { PageGrounds } from '../../src/reports/page-data.ts';
import { anchorOf, spaced } from './axis-labels.ts';
import { useWidth } from './plots.tsx';
import { axisOf, type Interval } from './interval-axis.ts';

const EDGE = 8;
const ROW = 54;
const BAR_Y = 36;
const AXIS = 24;

/** The pass rate of each side with its interval, on one axis. */
export function IntervalPlot({
  rates,
  says,
}: {
  readonly rates: NonNullable<PageGrounds['rates']>;
  readonly says: string;
}) {
  const sides: readonly Row[] = [
    { as: 'baseline', label: 'Baseline', of: rates.baseline },
    { as: 'candidate', label: 'Candidate', of: rates.new },
  ];
  return <Intervals rows={sides} says={says} />;
}

interface Row {
  readonly as: 'baseline' | 'candidate';
  readonly label: string;
  readonly of: Interval;
}

/** Pass rates with their intervals, one below the other. `says` is the plot as a sentence. */
export function Intervals({ rows, says }: { readonly rows: readonly Row[]; readonly says: string }) {
  const [box, width] = useWidth();
  const { from, to, ticks } = axisOf(rows.map(({ of }) => of));
  const x = (rate: number): number => EDGE + ((rate - from) / (to - from)) * (width - 2 * EDGE);
  const bottom = rows.length * ROW;
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
        {rows.map(({ as, label, of: { rate, low, high } }, row) => (
          <g key={row} class={`interval ${as}`} transform={`translate(0 ${row * ROW})`}>
            <text class="label" x={EDGE} y="20">
              {fitted(label, width)}
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

/** A label that leaves room for the figures beside it. Text in an SVG does not wrap. */
function fitted(label: string, width: number): string {
  return shortened(label, Math.max(4, Math.floor((width - FIGURES) / LETTER)));
}

/** The width of the figures, and of a letter, in pixels. */
const FIGURES = 180;
const LETTER = 8;

const percent = (share: number): string => `${Number((100 * share).toFixed(1))} %`;
