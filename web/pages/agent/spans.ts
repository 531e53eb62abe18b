import type { AgentPage, AgentRow } from '../../../src/reports/pages/agent-page-data.ts';

/** A bar or a mark on the timeline. */
export interface Span {
  /** The row that it leads to. */
  readonly row: number;
  readonly from: number;
  readonly to: number;
  readonly state: 'ok' | 'failed' | 'denied' | 'open' | 'wait' | 'retry' | 'change';
}

export interface Lane {
  readonly name: string;
  readonly spans: readonly Span[];
}

/** The tools with a lane of their own: those that took the longest. */
const TOOLS_MAX = 6;

/** The lanes of the timeline: waiting for the model, each tool, retries, and changes without a call. */
export function lanesOf({ rows, endMs }: Pick<AgentPage, 'rows' | 'endMs'>): Lane[] {
  const lanes = new Map<string, Span[]>();
  const totals = new Map<string, number>();
  const add = (lane: string, span: Span): void => {
    const spans = lanes.get(lane);
    if (spans) spans.push(span);
    else lanes.set(lane, [span]);
  };
  for (const row of rows) {
    if (row.kind !== 'call' && row.kind !== 'denial') continue;
    const tool = row.tool ?? '';
    totals.set(tool, (totals.get(tool) ?? 0) + (row.took ?? 0) + 1);
  }
  const named = new Set(
    [...totals]
      .sort((a, b) => b[1] - a[1])
      .slice(0, TOOLS_MAX)
      .map(([tool]) => tool),
  );
  for (const tool of named) lanes.set(laneOf(tool), []);
  for (const [index, row] of rows.entries()) {
    const { kind, at, waited, tool = '' } = row;
    if (waited) add(MODEL, { row: index, from: at - waited, to: at, state: 'wait' });
    if (kind === 'call' || kind === 'denial') {
      const to = row.took === undefined ? (row.state === null ? endMs : at) : at + row.took;
      add(named.has(tool) ? laneOf(tool) : OTHERS, { row: index, from: at, to, state: row.state ?? 'open' });
    } else if (kind === 'retry') add(RETRIES, { row: index, from: at, to: at + (row.took ?? 0), state: 'retry' });
    else if (kind === 'change') add(CHANGES, { row: index, from: at, to: at, state: 'change' });
  }
  const order = [MODEL, ...[...named].map(laneOf), OTHERS, CHANGES, RETRIES];
  return order.flatMap(name => {
    const spans = lanes.get(name);
    return spans && spans.length > 0 ? [{ name: TITLES.get(name) ?? name.slice(1), spans }] : [];
  });
}

/** The lane of a tool. Its first character differs from the other lanes, because a tool may have any name. */
const laneOf = (tool: string): string => `=${tool}`;
const [MODEL, OTHERS, CHANGES, RETRIES] = ['model', 'others', 'changes', 'retries'] as const;
const TITLES: ReadonlyMap<string, string> = new Map([
  [MODEL, 'Model'],
  [OTHERS, 'Other tools'],
  [CHANGES, 'File changes'],
  [RETRIES, 'Retries'],
]);

/** A bar as drawn, in pixels. Neighbours of the same state that would touch are one bar. */
export interface Bar extends Span {
  readonly x: number;
  readonly width: number;
  readonly count: number;
}

/** The bars of a lane. Their number is limited by the width, not by the run. */
export function barsOf(spans: readonly Span[], x: (ms: number) => number): Bar[] {
  const bars: { -readonly [Key in keyof Bar]: Bar[Key] }[] = [];
  for (const span of spans) {
    const [left, right] = [x(span.from), x(span.to)];
    const last = bars.at(-1);
    const isTouching = last && last.state === span.state && left - (last.x + last.width) < GAP;
    // A wide bar stays apart, so that a click finds the right line.
    if (isTouching && (right - left < GAP || last.width < GAP)) {
      last.width = Math.max(last.width, right - last.x);
      last.count++;
    } else bars.push({ ...span, x: left, width: Math.max(MARK, right - left), count: 1 });
  }
  return bars;
}

const GAP = 1;
const MARK = 2;

/** Round instants for the axis, at most about six. */
export function ticksOf(endMs: number): number[] {
  const rough = Math.max(endMs, 1) / 5;
  const step = STEPS_MS.find(one => one >= rough) ?? Math.ceil(rough / 3_600_000) * 3_600_000;
  return Array.from({ length: Math.floor(endMs / step) + 1 }, (_, index) => index * step);
}

const STEPS_MS = [
  1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 15_000, 30_000, 60_000, 120_000, 300_000, 600_000,
  900_000, 1_800_000, 3_600_000,
];

const two = (value: number): string => String(value).padStart(2, '0');

/** `0.8 s`, `12 s`, `3:20 min`, `1:02:30 h`. */
export function clockText(ms: number): string {
  if (ms < 60_000) return `${Number((ms / 1_000).toFixed(ms < 10_000 ? 2 : 1))} s`;
  const seconds = Math.floor(ms / 1_000);
  const [hours, minutes, rest] = [Math.floor(seconds / 3_600), Math.floor(seconds / 60) % 60, two(seconds % 60)];
  return hours > 0 ? `${hours}:${two(minutes)}:${rest} h` : `${minutes}:${rest} min`;
}

/** What a row is, in one line. */
export function rowTitle(row: AgentRow): string {
  const about = row.about ? ` ${inTree(row.about)}` : '';
  if (row.kind === 'call' || row.kind === 'denial') return `${row.tool ?? 'tool'}${about}`;
  if (row.kind === 'change') return `${row.tool}${about}`;
  if (row.kind === 'retry') return 'The model did not answer';
  return KIND_WORDS[row.kind];
}

/** Drops `/work/`, the work folder inside the sandbox, which every path would start with. */
export const inTree = (text: string): string => (text.startsWith('/work/') ? text.slice('/work/'.length) : text);

export const KIND_WORDS = {
  message: 'Agent',
  user: 'User',
  thinking: 'Thinking',
  call: 'Call',
  result: 'Result without a call',
  change: 'File change',
  denial: 'Denied',
  retry: 'Retry',
  note: 'Note',
  final: 'End',
} as const;

export function stateWord({ state, kind, exit }: AgentRow): string {
  if (kind === 'final') return state === 'ok' ? 'reports success' : 'reports failure';
  if (state === 'denied') return 'denied';
  if (state === 'failed') return exit === undefined ? 'failed' : `failed, exit ${exit}`;
  if (state === null) return 'no result';
  return state === 'ok' ? 'ok' : '';
}
