import { clip } from '../../base/clip.ts';
import { printable } from '../../base/printable.ts';
import { TAIL_SHARE_MAX } from '../../contracts/comparison/index.ts';
import type { Gated, GatedSide } from '../../verbs/gate.ts';
import type { Paint } from './paint.ts';
import { countText } from './units.ts';

type Finding = Gated['decision']['broken'][number];

/** The cases, what is ruled out, then the verdict and what would settle it, so that no list scrolls them away. */
export function gateText(gated: Gated, paint: Paint): string {
  const { verdict, reason, decision, notes, sides, skipped } = gated;
  const [style, mark, words] = VERDICTS[verdict];
  const lines: string[] = [];
  const line = (label: string, text: string, as: 'bad' | 'note' | 'faint' = 'faint'): void => {
    lines.push(`  ${paint(as, label.padEnd(LABEL_UNITS))}  ${text}`);
  };
  for (const text of findingLines(decision.broken)) line('broken', text, 'bad');
  for (const text of findingLines(decision.suspects)) line('suspect', text, 'note');
  // Without pairs, every case counts as removed, although the real problem is that no names match.
  const gone = decision.cause === 'no_pairs' ? [] : decision.removed;
  for (const name of gone.slice(0, LINES_MAX)) line(skipped.includes(name) ? 'skipped' : 'removed', said(name), 'note');
  if (gone.length > LINES_MAX) line('', `and ${gone.length - LINES_MAX} more`);
  const { measured, ruledOut } = suiteWords(gated);
  if (measured !== undefined) line('measured', measured);
  if (ruledOut !== undefined) line('ruled out', ruledOut);
  for (const text of keptLimits(decision.metrics)) line('kept', text);
  for (const note of notes) line('note', said(note), 'note');
  line('baseline', sideText(sides.baseline));
  line('new', sideText(sides.new));
  lines.push('', `${paint(style, `${mark} ${words}`)}  ${said(reason)}`);
  for (const text of settling(gated)) line('to settle', text, 'note');
  return `${lines.join('\n')}\n`;
}

const VERDICTS = {
  no_regression: ['good', '✓', 'No regression'],
  regression: ['bad', '✗', 'Regression'],
  not_enough_evidence: ['note', '?', 'Not enough evidence'],
} as const;

/** The result for the whole suite. Without pairs, and in strict mode, there is none. */
function suiteWords({ decision, gate }: Gated): { readonly measured?: string; readonly ruledOut?: string } {
  const { cases, drop, high, p } = decision;
  if (drop === null || high === null || p === null) return {};
  const rate = drop === 0 ? 'as often as' : `${points(Math.abs(drop))} ${drop > 0 ? 'less' : 'more'} often than`;
  const chance = drop > 0 ? ` (${probability(p)} if nothing changed)` : '';
  return {
    measured: `${countText(cases, 'case')} ${cases === 1 ? 'passes' : 'pass'} ${rate} before${chance}`,
    ruledOut:
      high >= 1
        ? 'nothing yet'
        : `a drop of more than ${points(Math.max(0, high))}, with ${round(100 * (gate.confidence ?? 0.95))} % confidence`,
  };
}

function points(share: number): string {
  const value = round(100 * share);
  return `${value} ${value === '1' ? 'point' : 'points'}`;
}

function round(value: number): string {
  return String(Number(value.toFixed(1)));
}

function probability(p: number): string {
  return p < 0.001 ? 'p < 0.001' : `p = ${Number(p.toPrecision(2))}`;
}

const LABEL_UNITS = 9;
const LINES_MAX = 20;
const SAID_BYTES_MAX = 2_000;

function* findingLines(found: readonly Finding[]): Generator<string> {
  for (const { case_id, baseline, new: now, p } of found.slice(0, LINES_MAX)) {
    yield `${said(case_id)}  ${baseline.passes}/${baseline.trials} → ${now.passes}/${now.trials}  (${probability(p)} if nothing changed)`;
  }
  if (found.length > LINES_MAX) yield `and ${found.length - LINES_MAX} more`;
}

/** Limits in the gate file that are met. The reason names the others. */
function* keptLimits(metrics: Gated['decision']['metrics']): Generator<string> {
  for (const { metric, bounds, limit, verdict, cases, change, high } of metrics) {
    if (verdict !== 'no_regression' || change === null || high === null) continue;
    const isTail = bounds === 'p95' || bounds === 'p95_difference';
    const isShare = bounds === 'ratio' || bounds === 'p50' || isTail;
    const amount = (value: number): string =>
      `${Number(((isShare ? 100 : 1) * value).toPrecision(3))}${isShare ? ' %' : ''}`;
    const isMedian = bounds === 'p50' || bounds === 'p50_difference';
    const what = isTail ? `trials above the p95 of ${metric}` : isMedian ? `median ${metric}` : metric;
    const worse = metric === 'score' ? 'less' : 'more';
    yield `${what}: ${amount(change)} ${worse}, at most ${amount(high)} over ${countText(cases, 'case')}; the limit is ${amount(isTail ? TAIL_SHARE_MAX : limit)}`;
  }
}

/** What to do next if there is not enough evidence. */
function* settling({ verdict, ask_again: ids, more_trials: more, decision }: Gated): Generator<string> {
  if (verdict !== 'not_enough_evidence') return;
  if (ids.length > 0 && decision.suspects.length > 0) {
    const named = ids.slice(0, LINES_MAX).map(said).join(', ');
    const rest = ids.length > LINES_MAX ? ` and ${ids.length - LINES_MAX} more` : '';
    yield `one more trial of ${named}${rest} on both sides, marked as rerun`;
  } else if (more !== null) {
    yield `about ${countText(more, 'more trial')} per case on both sides`;
  }
}

function sideText({ files, cases, trials }: GatedSide): string {
  const [first] = files;
  const from = files.length === 1 && first ? first.name : countText(files.length, 'file');
  const formats = [...new Set(files.map(({ format }) => NAMES[format]))].join(', ');
  return `${countText(trials, 'trial')} of ${countText(cases, 'case')} (${from}, ${formats})`;
}

const NAMES = { csv: 'CSV', jsonl: 'JSON lines', junit: 'JUnit', ctrf: 'CTRF' } as const;

function said(text: string): string {
  const { text: head, truncated } = clip(text, SAID_BYTES_MAX);
  return `${printable(head)}${truncated ? '…' : ''}`;
}
