import type { MatrixPage } from '../../../src/reports/pages/matrix-page.ts';
import { type Histogram, histogramOf } from '../../shared/histogram.ts';
import { axisOf, type Interval } from '../../shared/interval-axis.ts';
import { useWidth } from '../../shared/plots.tsx';
import { plain } from '../../shared/visible.tsx';
import { COSTS } from './versions.tsx';
import { type MatrixView, show, viewHash } from './view.ts';
import { percent } from './words.tsx';

interface Props {
  readonly data: MatrixPage;
  readonly view: MatrixView;
}

/** The pass rate of each version against the cost of a solved case. Up and left is better. */
export function Scatter({ data, view }: Props) {
  const [box, width] = useWidth();
  const first = COSTS.find(({ key }) => data.versions.some(({ per_solved }) => per_solved[key] !== null));
  const chosen = COSTS.find(({ by }) => by === view.by) ?? first ?? COSTS[0];
  const points = data.versions.flatMap(({ name, pass_rate, per_solved }, index) => {
    const value = per_solved[chosen.key];
    return pass_rate && value !== null ? [{ number: index + 1, name: plain(name), value, of: pass_rate }] : [];
  });
  const unknown = data.versions.filter(({ per_solved, pass_rate }) => !pass_rate || per_solved[chosen.key] === null);
  const axis = histogramOf(
    Float64Array.from(points, ({ value }) => value),
    new Float64Array(),
  );
  return (
    <section class="card plot" ref={box}>
      <h2>Pass rate and price</h2>
      <div class="matrix-choices" role="group" aria-label="Price of a solved case">
        {COSTS.map(({ by, label }) => (
          <button
            type="button"
            class="matrix-choice"
            key={by}
            aria-pressed={by === chosen.by}
            onClick={() => show(viewHash(view, { by }))}
          >
            {label}
          </button>
        ))}
      </div>
      {axis && points.length > 0 ? (
        <Drawing points={points} axis={axis} width={width} chosen={chosen} />
      ) : (
        <p class="empty-plot">
          No version reports its {chosen.label.toLowerCase()} in every answer.
          {chosen.by !== 'time' && ' Agents report it in “usage”.'}
        </p>
      )}
      {unknown.length > 0 && points.length > 0 && (
        <p class="note">Not shown, because a value is unknown: {unknown.map(({ name }) => plain(name)).join(', ')}.</p>
      )}
    </section>
  );
}

interface Point {
  readonly number: number;
  readonly name: string;
  readonly value: number;
  readonly of: Interval;
}

const LEFT = 48;
const RIGHT = 20;
const TOP = 18;
const HEIGHT = 240;
const RADIUS = 11;

function Drawing({
  points,
  axis,
  width,
  chosen,
}: {
  readonly points: readonly Point[];
  readonly axis: Histogram;
  readonly width: number;
  readonly chosen: (typeof COSTS)[number];
}) {
  const { from, to, ticks } = axisOf(points.map(({ of }) => of));
  const bottom = TOP + HEIGHT;
  const x = (value: number): number => LEFT + axis.place(value) * (width - LEFT - RIGHT);
  const y = (rate: number): number => bottom - ((rate - from) / (to - from)) * HEIGHT;
  const says = points.map(({ name, value, of }) => `${name} ${chosen.format(value)}, ${percent(of.rate)}`).join('; ');
  return (
    <svg
      class="scatter"
      viewBox={`0 0 ${width} ${bottom + 44}`}
      width={width}
      height={bottom + 44}
      role="img"
      aria-label={`${chosen.label} per solved case and pass rate: ${says}.`}
    >
      {ticks.map(tick => (
        <g key={tick} class="tick">
          <line x1={LEFT} x2={width - RIGHT} y1={y(tick)} y2={y(tick)} />
          <text x={LEFT - 8} y={y(tick) + 4} text-anchor="end">
            {percent(tick)}
          </text>
        </g>
      ))}
      {spaced(axis.ticks, x).map(tick => (
        <g key={tick} class="tick">
          <line x1={x(tick)} x2={x(tick)} y1={TOP} y2={bottom} />
          <text x={x(tick)} y={bottom + 18} text-anchor="middle">
            {chosen.format(tick)}
          </text>
        </g>
      ))}
      <text class="unit" x={(LEFT + width - RIGHT) / 2} y={bottom + 38} text-anchor="middle">
        {chosen.label} per solved case{axis.isLog ? ' (logarithmic)' : ''}
      </text>
      {points.map(({ number, value, of }) => (
        <line key={number} class="whisker" x1={x(value)} x2={x(value)} y1={y(of.low)} y2={y(of.high)} />
      ))}
      <Dots points={points} x={x} y={y} right={width - RADIUS} chosen={chosen} />
    </svg>
  );
}

interface DotsProps {
  readonly points: readonly Point[];
  readonly x: (value: number) => number;
  readonly y: (rate: number) => number;
  /** The right edge. */
  readonly right: number;
  readonly chosen: (typeof COSTS)[number];
}

function Dots({ points, x, y, right, chosen }: DotsProps) {
  const places = apart(
    points.map(({ value, of }) => ({ x: x(value), y: y(of.rate) })),
    right,
  );
  return (
    <>
      {/* Below the dots, so that no line crosses a number. */}
      {places.map(({ at, shown }, index) => (
        <line key={index} class="leader" x1={at.x} y1={at.y} x2={shown.x} y2={shown.y} />
      ))}
      {places.map(({ shown }, index) => {
        const { number, name, value, of } = points[index] as Point;
        return (
          <g key={number} class="dot" data-first={number === 1}>
            <title>{`${name}: ${chosen.format(value)}, ${percent(of.rate)}`}</title>
            <circle cx={shown.x} cy={shown.y} r={RADIUS} />
            <text x={shown.x} y={shown.y + 4} text-anchor="middle">
              {number}
            </text>
          </g>
        );
      })}
    </>
  );
}

interface Place {
  readonly x: number;
  readonly y: number;
}

/**
 * Moves overlapping dots aside, so that each keeps the height of its pass rate. A line leads back to the true position.
 */
function apart(places: readonly Place[], right: number): { readonly at: Place; readonly shown: Place }[] {
  const done: { readonly at: Place; readonly shown: Place }[] = [];
  for (const at of places) {
    const isFree = (place: Place): boolean =>
      done.every(({ shown }) => Math.hypot(shown.x - place.x, shown.y - place.y) >= 2 * RADIUS + 2);
    const aside = Array.from({ length: 2 * places.length + 1 }, (_, step) => (2 * RADIUS + 4) * step * 0.5);
    const tried = [1, -1].flatMap(way => aside.map(by => ({ x: at.x + way * by, y: at.y })));
    const shown = tried.find(place => place.x <= right && isFree(place)) ?? at;
    done.push({ at, shown });
  }
  return done;
}

/** Keeps only ticks whose labels do not overlap. */
function spaced(ticks: readonly number[], x: (value: number) => number): number[] {
  const kept: number[] = [];
  for (const tick of ticks) {
    const last = kept.at(-1);
    if (last === undefined || x(tick) - x(last) > 66) kept.push(tick);
  }
  return kept;
}
