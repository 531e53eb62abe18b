import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { anchorOf, spaced } from './axis-labels.ts';
import { count, plural } from './format.ts';
import { type Bin, type Histogram, histogramOf, quantile, type Values } from './histogram.ts';

interface Props {
  readonly title: string;
  readonly unit: string;
  readonly format: (value: number) => string;
  readonly baseline: Values;
  readonly candidate: Values;
  readonly isRun: boolean;
  /** Why there may be no values, and how to get them. */
  readonly without: string;
}

const LEFT = 8;
const RIGHT = 8;
const TOP = 42;
const HILL = 74;
const GAP = 58;
const AXIS = 42;

/** The distribution of a metric on both sides, on one axis. */
export function Plot({ title, unit, format, baseline, candidate, isRun, without }: Props) {
  const histogram = useMemo(() => histogramOf(baseline, candidate), [baseline, candidate]);
  const [box, width] = useWidth();
  const sides = isRun
    ? [{ key: 'candidate', label: 'This run', values: candidate } as const]
    : [
        { key: 'baseline', label: 'Baseline', values: baseline } as const,
        { key: 'candidate', label: 'Candidate', values: candidate } as const,
      ];
  return (
    <section class="card plot" ref={box}>
      <h3>{title}</h3>
      {histogram ? (
        <figure>
          <Drawing title={title} unit={unit} format={format} histogram={histogram} sides={sides} width={width} />
          <figcaption class="unseen">
            {sides.map(({ label, values }) => summaryOf(label, values, format)).join(' ')}
          </figcaption>
        </figure>
      ) : (
        <p class="empty-plot">{without}</p>
      )}
    </section>
  );
}

interface DrawnSide {
  readonly key: 'baseline' | 'candidate';
  readonly label: string;
  readonly values: Values;
}

interface DrawingProps extends Pick<Props, 'title' | 'unit' | 'format'> {
  readonly histogram: Histogram;
  readonly sides: readonly DrawnSide[];
  readonly width: number;
}

function Drawing({ title, unit, format, histogram, sides, width }: DrawingProps) {
  const { bins, ticks, place, isLog } = histogram;
  const across = Math.max(120, width - LEFT - RIGHT);
  const x = (value: number): number => LEFT + place(value) * across;
  const most = Math.max(1, ...bins.flatMap(bin => sides.map(({ key }) => bin[key])));
  const floors = sides.map((_, row) => TOP + HILL + row * (HILL + GAP));
  const bottom = floors.at(-1) ?? 0;
  const shown = spaced(ticks, x, width, format);
  return (
    <svg
      viewBox={`0 0 ${width} ${bottom + AXIS}`}
      width={width}
      height={bottom + AXIS}
      role="img"
      aria-label={`${title}: ${sides.map(({ label, values }) => summaryOf(label, values, format)).join(' ')}`}
    >
      {shown.map(tick => (
        <g key={tick} class="tick">
          <line x1={x(tick)} x2={x(tick)} y1={TOP} y2={bottom} />
          <text x={x(tick)} y={bottom + 16} text-anchor={anchorOf(x(tick), width)}>
            {format(tick)}
          </text>
        </g>
      ))}
      {sides.map(({ key, label, values }, row) => {
        const floor = floors[row] as number;
        return (
          <g key={key} class={`hill ${key}`}>
            <Bars bins={bins} side={key} x={x} floor={floor} most={most} />
            <line class="floor" x1={LEFT} x2={LEFT + across} y1={floor} y2={floor} />
            <text class="label" x={LEFT} y={floor - HILL - 26}>
              {label}
            </text>
            <text class="peak" x={LEFT + across} y={floor - HILL - 26} text-anchor="end">
              {across < NARROW ? 'up to' : 'highest bar:'} {plural(Math.max(...bins.map(bin => bin[key])), 'case')}
            </text>
            <Middle value={quantile(values, 0.5)} x={x} floor={floor} width={width} format={format} />
          </g>
        );
      })}
      <text class="unit" x={width / 2} y={bottom + 36} text-anchor="middle">
        {unit}
        {isLog ? ' (logarithmic)' : ''}
      </text>
    </svg>
  );
}

/** On a narrow plot, a long label would reach the name of the side. */
const NARROW = 320;

function Bars({
  bins,
  side,
  x,
  floor,
  most,
}: {
  readonly bins: readonly Bin[];
  readonly side: 'baseline' | 'candidate';
  readonly x: (value: number) => number;
  readonly floor: number;
  readonly most: number;
}) {
  return (
    <>
      {bins.map(bin => {
        const tall = (bin[side] / most) * HILL;
        // A single case must stay visible next to thousands.
        const height = bin[side] > 0 ? Math.max(1.5, tall) : 0;
        const left = x(bin.from);
        return (
          height > 0 && (
            <rect
              key={bin.from}
              x={left + 0.75}
              y={floor - height}
              width={Math.max(1, x(bin.to) - left - 1.5)}
              height={height}
              rx="1.5"
            />
          )
        );
      })}
    </>
  );
}

function Middle({
  value,
  x,
  floor,
  width,
  format,
}: {
  readonly value: number | null;
  readonly x: (value: number) => number;
  readonly floor: number;
  readonly width: number;
  readonly format: (value: number) => string;
}) {
  if (value === null) return null;
  const at = x(value);
  const isRight = at > width * 0.75;
  return (
    <g class="middle">
      <line x1={at} x2={at} y1={floor - HILL - 16} y2={floor} />
      <text x={at + (isRight ? -6 : 6)} y={floor - HILL - 7} text-anchor={isRight ? 'end' : 'start'}>
        median {format(value)}
      </text>
    </g>
  );
}

function summaryOf(label: string, values: Values, format: (value: number) => string): string {
  const [low, middle, high] = [0.05, 0.5, 0.95].map(share => quantile(values, share));
  if (
    low === null ||
    middle === null ||
    high === null ||
    low === undefined ||
    middle === undefined ||
    high === undefined
  )
    return `${label}: nothing measured.`;
  return `${label}: ${count(values.length)} cases, median ${format(middle)}, 5th percentile ${format(low)}, 95th percentile ${format(high)}.`;
}

/** A box and its width in pixels, for the plot inside it. */
export function useWidth() {
  const box = useRef<HTMLElement>(null);
  const [width, setWidth] = useState(480);
  useEffect(() => {
    const element = box.current;
    if (!element) return undefined;
    const watcher = new ResizeObserver(
      ([entry]) => entry && setWidth(Math.max(200, Math.floor(entry.contentRect.width))),
    );
    watcher.observe(element);
    return () => watcher.disconnect();
  }, []);
  return [box, width] as const;
}
