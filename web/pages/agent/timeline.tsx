import { useMemo, useState } from 'preact/hooks';
import type { AgentPage } from '../../../src/reports/pages/agent-page-data.ts';
import { count, milliseconds, plural } from '../../shared/format.ts';
import { useWidth } from '../../shared/plots.tsx';
import { plain, Text } from '../../shared/visible.tsx';
import { type AgentAddress, agentHash, goTo } from './address.ts';
import { type Bar, barsOf, clockText, lanesOf, rowTitle, stateWord, ticksOf } from './spans.ts';

interface Props {
  readonly data: AgentPage;
  readonly address: AgentAddress;
}

const LANE = 26;
const TOP = 22;
const BAR = 14;

/** Model, tools and retries on one time axis. A click or Enter leads to the transcript. */
export function Timeline({ data, address }: Props) {
  const lanes = useMemo(() => lanesOf(data), [data]);
  const [chosen, setChosen] = useState(() => firstTrouble(data));
  const [box, full] = useWidth();
  const side = full < 560 ? 84 : 132;
  const width = Math.max(120, full - side - 12);
  const end = Math.max(1, data.endMs);
  const x = (ms: number): number => (ms / end) * width;
  const steps = useMemo(
    () => [...new Set(lanes.flatMap(({ spans }) => spans.map(({ row }) => row)))].sort((a, b) => a - b),
    [lanes],
  );
  if (steps.length === 0) return <p class="muted">The transcript has no calls, waits or retries.</p>;
  const position = Math.max(0, steps.indexOf(chosen));
  const open = (row: number): void => {
    setChosen(row);
    const line = data.rows[row]?.seq;
    if (line !== undefined) goTo(agentHash(address, { line: String(line), q: '' }));
  };
  return (
    <figure class="timeline" ref={box}>
      <div
        class="timeline-track"
        role="slider"
        tabIndex={0}
        aria-label="Timeline. Arrow keys move, Enter opens the transcript."
        aria-valuemin={1}
        aria-valuemax={steps.length}
        aria-valuenow={position + 1}
        aria-valuetext={stepText(data, steps[position] ?? 0)}
        onKeyDown={event => {
          const next = KEYS[event.key]?.(position, steps.length);
          if (event.key === 'Enter') open(steps[position] ?? 0);
          else if (next === undefined) return;
          else setChosen(steps[Math.max(0, Math.min(steps.length - 1, next))] ?? 0);
          event.preventDefault();
        }}
      >
        <Drawing {...{ data, lanes, side, width, x, chosen: steps[position] ?? 0, open }} />
      </div>
      <Chosen data={data} address={address} row={steps[position] ?? 0} position={position} of={steps.length} />
      <figcaption class="timeline-key">
        <span class="key ok">ok</span>
        <span class="key failed">failed</span>
        <span class="key denied">denied</span>
        <span class="key wait">model</span>
        <span class="muted">
          “Model” is time in which no tool ran: the model was answering, or the agent itself was working.
          {data.omitted.count > 0 && ` ${plural(data.omitted.count, 'entry', 'entries')} in the middle left out.`}
        </span>
      </figcaption>
    </figure>
  );
}

/** The first denied or failed call, which a reader looks for; else the first entry. */
function firstTrouble({ rows }: AgentPage): number {
  return Math.max(
    0,
    rows.findIndex(({ kind, state }) => kind === 'call' && (state === 'denied' || state === 'failed')),
  );
}

const KEYS: Readonly<Record<string, (position: number, length: number) => number>> = {
  ArrowRight: position => position + 1,
  ArrowDown: position => position + 1,
  ArrowLeft: position => position - 1,
  ArrowUp: position => position - 1,
  PageDown: position => position + 10,
  PageUp: position => position - 10,
  Home: () => 0,
  End: (_, length) => length - 1,
};

interface DrawingProps extends Pick<Props, 'data'> {
  readonly lanes: ReturnType<typeof lanesOf>;
  readonly side: number;
  readonly width: number;
  readonly x: (ms: number) => number;
  readonly chosen: number;
  readonly open: (row: number) => void;
}

function Drawing({ data, lanes, side, width, x, chosen, open }: DrawingProps) {
  const bottom = TOP + lanes.length * LANE;
  const labels = Math.max(6, Math.floor((side - 10) / 7.2));
  const gap = gapOf(data);
  return (
    <svg
      viewBox={`0 0 ${side + width + 12} ${bottom + 4}`}
      width={side + width + 12}
      height={bottom + 4}
      aria-hidden="true"
    >
      <g transform={`translate(${side} 0)`}>
        {spacedTicks(data.endMs, x).map((tick, index) => (
          <g key={tick} class="tick">
            <line x1={x(tick)} x2={x(tick)} y1={TOP - 4} y2={bottom} />
            <text x={x(tick)} y={12} text-anchor={index === 0 ? 'start' : x(tick) > width - 30 ? 'end' : 'middle'}>
              {clockText(tick)}
            </text>
          </g>
        ))}
        {gap && (
          <rect class="gap" x={x(gap[0])} width={Math.max(2, x(gap[1]) - x(gap[0]))} y={TOP} height={bottom - TOP} />
        )}
      </g>
      {lanes.map(({ name, spans }, lane) => {
        const shown = plain(name);
        return (
          <g key={name} transform={`translate(0 ${TOP + lane * LANE})`}>
            <text class="lane" x={side - 10} y={LANE / 2 + 4} text-anchor="end">
              {shown.length > labels ? `${shown.slice(0, labels - 1)}…` : shown}
            </text>
            <line class="lane-line" x1={side} x2={side + width} y1={LANE} y2={LANE} />
            <g transform={`translate(${side} 0)`}>
              {failuresLast(barsOf(spans, x)).map(bar => (
                <BarMark
                  key={bar.row}
                  bar={bar}
                  data={data}
                  isChosen={chosen === bar.row}
                  onOpen={() => open(bar.row)}
                />
              ))}
            </g>
          </g>
        );
      })}
    </svg>
  );
}

/** The ticks whose labels do not overlap. */
function spacedTicks(endMs: number, x: (ms: number) => number): number[] {
  const kept: number[] = [];
  for (const tick of ticksOf(endMs)) {
    const last = kept.at(-1);
    if (last === undefined || x(tick) - x(last) > TICK_WIDTH) kept.push(tick);
  }
  return kept;
}

const TICK_WIDTH = 72;

/** Draws short failures over the bars next to them. */
function failuresLast(bars: readonly Bar[]): readonly Bar[] {
  return [...bars.filter(bar => !isFailed(bar)), ...bars.filter(isFailed)];
}

const isFailed = ({ state }: Bar): boolean => state === 'failed' || state === 'denied';

interface BarProps extends Pick<Props, 'data'> {
  readonly bar: Bar;
  readonly isChosen: boolean;
  readonly onOpen: () => void;
}

/** Failed bars have a notch and denied ones are diamonds, so that colour only repeats the shape. */
function BarMark({ bar, data, isChosen, onOpen }: BarProps) {
  const { x, width, state, count: merged, row } = bar;
  const y = (LANE - BAR) / 2;
  const wide = Math.max(width, state === 'failed' ? 7 : 2);
  const middle = LANE / 2;
  return (
    <g class={`bar-mark ${state}`} data-chosen={isChosen} onClick={onOpen} data-row={row}>
      <title>
        {stepText(data, row)}
        {merged > 1 ? `, and ${merged - 1} more` : ''}
      </title>
      <rect class="hit" x={x - 3} y={0} width={wide + 6} height={LANE} />
      {state === 'denied' || state === 'change' || state === 'retry' ? (
        <>
          {wide > 4 && <rect class="body" x={x} y={y + 4} width={wide} height={BAR - 8} rx="2" />}
          <path class="body" d={MARKS[state](x, middle)} />
        </>
      ) : (
        <rect
          class="body"
          x={x}
          y={state === 'wait' ? y + 4 : y}
          width={wide}
          height={state === 'wait' ? BAR - 8 : BAR}
          rx="2"
        />
      )}
      {state === 'failed' && <path class="cross" d={`M${x + 1} ${y - 3}l5 5m0 -5l-5 5`} />}
    </g>
  );
}

const MARKS = {
  denied: (x: number, y: number) => `M${x} ${y - 7}l7 7l-7 7l-7 -7z`,
  change: (x: number, y: number) => `M${x - 4} ${y - 4}h8v8h-8z`,
  retry: (x: number, y: number) => `M${x - 5} ${y + 5}l5 -10l5 10z`,
} as const;

/** The part of the axis that the page leaves out. */
function gapOf({ rows, omitted }: AgentPage): readonly [number, number] | undefined {
  const [before, after] = [rows[omitted.after - 1], rows[omitted.after]];
  if (omitted.count === 0 || !before || !after) return undefined;
  return [before.at + (before.took ?? 0), after.at - (after.waited ?? 0)];
}

function stepText(data: AgentPage, index: number): string {
  const row = data.rows[index];
  if (!row) return '';
  const parts = [
    `${clockText(row.at)}: ${plain(rowTitle(row)).slice(0, 120)}`,
    ...(stateWord(row) === '' ? [] : [stateWord(row)]),
    ...(row.took === undefined ? [] : [`took ${milliseconds(row.took)}`]),
    ...(row.waited ? [`after ${milliseconds(row.waited)} without a tool`] : []),
  ];
  return parts.join(', ');
}

interface ChosenProps extends Props {
  readonly row: number;
  readonly position: number;
  readonly of: number;
}

function Chosen({ data, address, row, position, of }: ChosenProps) {
  const one = data.rows[row];
  if (!one) return null;
  return (
    <p class="chosen">
      <span class="muted">
        {count(position + 1)} of {count(of)}
      </span>{' '}
      <Text value={stepText(data, row)} />{' '}
      <a href={agentHash(address, { line: String(one.seq), q: '' })}>line {count(one.seq)}</a>
    </p>
  );
}
