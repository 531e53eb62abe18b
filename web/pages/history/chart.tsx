import type { HistoryRun } from '../../../src/reports/pages/history-data.ts';
import { sideName } from '../../shared/format.ts';
import { useWidth } from '../../shared/plots.tsx';
import { runWords } from './parts.tsx';
import { scaleOf } from './scale.ts';

export interface Point {
  readonly value: number;
  /** The interval around the value. */
  readonly low?: number;
  readonly high?: number;
}

interface Series {
  readonly name: string;
  readonly style: 'main' | 'second';
  /** One entry per run; null if unknown. */
  readonly points: readonly (Point | null)[];
}

export interface ChartProps {
  readonly title: string;
  readonly note?: string;
  readonly runs: readonly HistoryRun[];
  readonly series: readonly Series[];
  readonly format: (value: number) => string;
  /** The highest value that the axis must reach. */
  readonly most?: number;
}

const LEFT = 58;
const RIGHT = 14;
const TOP = 12;
const HEIGHT = 150;
const AXIS = 26;

/** Values over the runs, oldest on the left. The table of runs has the same values as text. */
export function Chart({ title, note, runs, series, format, most }: ChartProps) {
  const [box, width] = useWidth();
  const values = series.flatMap(({ points }) => points.flatMap(point => (point ? [point.high ?? point.value] : [])));
  return (
    <section class="card history-chart" ref={box}>
      <h4>
        {title} {series.length > 1 && <Legend series={series} />}
      </h4>
      <figure>
        <Drawing {...{ title, runs, series, format, width }} ticks={scaleOf(Math.max(0, ...values), most)} />
        {note && <figcaption class="note">{note}</figcaption>}
      </figure>
    </section>
  );
}

function Legend({ series }: Pick<ChartProps, 'series'>) {
  return (
    <span class="legend">
      {series.map(({ name, style }) => (
        <span key={name} class={`key ${style}`}>
          <svg viewBox="0 0 22 8" width="22" height="8" aria-hidden="true">
            <line x1="0" x2="22" y1="4" y2="4" />
          </svg>
          {name}
        </span>
      ))}
    </span>
  );
}

interface DrawingProps extends Pick<ChartProps, 'title' | 'runs' | 'series' | 'format'> {
  readonly width: number;
  readonly ticks: readonly number[];
}

function Drawing({ title, runs, series, format, width, ticks }: DrawingProps) {
  const top = ticks.at(-1) ?? 1;
  const across = width - LEFT - RIGHT;
  const x = (index: number): number => LEFT + (runs.length === 1 ? across / 2 : (index / (runs.length - 1)) * across);
  const y = (value: number): number => TOP + HEIGHT - (value / top) * HEIGHT;
  return (
    <svg
      viewBox={`0 0 ${width} ${TOP + HEIGHT + AXIS}`}
      width={width}
      height={TOP + HEIGHT + AXIS}
      role="img"
      aria-label={`${title} over ${runs.length} runs. ${series.map(one => summaryOf(one, format)).join(' ')}`}
    >
      {ticks.map(tick => (
        <g key={tick} class="tick">
          <line x1={LEFT} x2={width - RIGHT} y1={y(tick)} y2={y(tick)} />
          <text x={LEFT - 8} y={y(tick) + 4} text-anchor="end">
            {format(tick)}
          </text>
        </g>
      ))}
      <Dates runs={runs} x={x} y={TOP + HEIGHT + 18} />
      {series.map(one => (
        <Line key={one.name} series={one} runs={runs} x={x} y={y} format={format} />
      ))}
    </svg>
  );
}

function Dates({
  runs,
  x,
  y,
}: {
  readonly runs: readonly HistoryRun[];
  readonly x: (index: number) => number;
  readonly y: number;
}) {
  const last = runs.length - 1;
  const ends = last > 0 ? [0, last] : [0];
  return (
    <>
      {ends.map(index => (
        <text
          key={index}
          class="date"
          x={x(index)}
          y={y}
          text-anchor={last === 0 ? 'middle' : index === 0 ? 'start' : 'end'}
        >
          {runs[index]?.started_at.slice(0, 16).replace('T', ' ')}
        </text>
      ))}
    </>
  );
}

interface LineProps extends Pick<ChartProps, 'runs' | 'format'> {
  readonly series: Series;
  readonly x: (index: number) => number;
  readonly y: (value: number) => number;
}

/** The line of each side, its interval, and a shape per run: circles for the candidate, squares for the baseline. */
function Line({ series: { name, style, points }, runs, x, y, format }: LineProps) {
  return (
    <>
      {(['baseline', 'new'] as const).map(side => {
        const known = points.flatMap((point, index) => (point && runs[index]?.side === side ? [{ point, index }] : []));
        if (known.length === 0) return null;
        const band = [
          ...known.map(({ point, index }) => `${x(index)},${y(point.high ?? point.value)}`),
          ...known.map(({ point, index }) => `${x(index)},${y(point.low ?? point.value)}`).reverse(),
        ];
        return (
          <g key={side} class={`series ${style} ${sideName(side)}`}>
            <polygon class="band" points={band.join(' ')} />
            <polyline points={known.map(({ point, index }) => `${x(index)},${y(point.value)}`).join(' ')} />
            {known.slice(runs.length > DOTS_MAX ? -1 : 0).map(({ point, index }) => (
              <Dot key={index} isRound={side === 'new'} at={[x(index), y(point.value)]}>
                {`${runWords(runs[index] as HistoryRun)}: ${name} ${format(point.value)}`}
              </Dot>
            ))}
          </g>
        );
      })}
    </>
  );
}

/** More dots would hide the line. Only the newest run then has one. */
const DOTS_MAX = 120;

interface DotProps {
  readonly isRound: boolean;
  readonly at: readonly [x: number, y: number];
  readonly children: string;
}

function Dot({ isRound, at: [x, y], children }: DotProps) {
  return isRound ? (
    <circle cx={x} cy={y} r="3.5">
      <title>{children}</title>
    </circle>
  ) : (
    <rect x={x - 3.2} y={y - 3.2} width="6.4" height="6.4">
      <title>{children}</title>
    </rect>
  );
}

function summaryOf({ name, points }: Series, format: (value: number) => string): string {
  const known = points.filter(point => point !== null);
  const [first, last] = [known[0], known.at(-1)];
  if (!first || !last) return `${name}: unknown.`;
  return `${name}: from ${format(first.value)} to ${format(last.value)}.`;
}
