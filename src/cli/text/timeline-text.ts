import { printable } from '../../base/printable.ts';
import type { Moment, Timeline } from '../../verbs/timeline.ts';
import type { Paint } from './paint.ts';
import { inWorkFolder } from './transcript-text.ts';
import { countText, durationText, shortText } from './units.ts';

export function timelineLines({ moments, omitted, calls, denials }: Timeline, paint: Paint): string[] {
  const sums = [
    countText(calls.total, 'tool call'),
    ...(calls.failed > 0 ? [`${calls.failed} failed`] : []),
    ...(calls.denied > 0 ? [`${calls.denied} denied`] : []),
  ];
  const tools = moments.filter(({ what }) => !WIDE.has(what)).map(({ tool }) => nameOf(tool).length);
  const width = Math.max(0, ...tools);
  const clockText = (moments.at(-1)?.atMs ?? 0) < SHORT_MS ? tenthsText : minutesText;
  const shown = moments.map(moment => momentLine(moment, clockText(moment.atMs), width, paint));
  if (omitted.count > 0) shown.splice(omitted.after, 0, paint('faint', `          … ${omitted.count} more …`));
  const told = denials.reduce((sum, { count }) => sum + count, 0);
  return [
    `  ${paint('strong', 'timeline')}  ${paint('faint', sums.join(', '))}`,
    ...shown,
    ...(denials.length > 0 ? ['', `  ${paint('strong', 'denied')}`] : []),
    ...denials.map(({ seq, tool, reason, count }) => {
      const why = printable(shortText(reason, REASON_UNITS_MAX));
      const where = count === 1 ? `line ${seq}` : `${countText(count, 'time')}, first in line ${seq}`;
      return `    ${paint('note', nameOf(tool))}  ${why}  ${paint('faint', where)}`;
    }),
    ...(told < calls.denied ? [paint('faint', `    ${calls.denied - told} more`)] : []),
  ];
}

/** Moments that are not tool calls, so they do not use the columns. */
const WIDE: ReadonlySet<Moment['what']> = new Set(['pause', 'final', 'trouble', 'retry']);
const REASON_UNITS_MAX = 120;
const ABOUT_UNITS_MAX = 72;
const TOOL_UNITS_MAX = 20;

function nameOf(tool: string): string {
  return printable(shortText(tool, TOOL_UNITS_MAX));
}

function momentLine(moment: Moment, clock: string, width: number, paint: Paint): string {
  const { what, tool, about, tookMs, state } = moment;
  const at = paint('faint', clock.padStart(8));
  if (what === 'pause') return `${''.padEnd(8)}  ${paint('note', `· ${durationText(tookMs ?? 0)} without output`)}`;
  if (what === 'final')
    return `${at}  ${state === 'ok' ? paint('good', '✓') : paint('bad', '✗')} ${state === 'ok' ? 'reports success' : 'reports failure'}`;
  const text = printable(shortText(inWorkFolder(about), ABOUT_UNITS_MAX));
  if (what === 'retry') {
    const during = tookMs ? `, retried for ${durationText(tookMs)}` : '';
    return `${at}  ${paint('note', '↻')} the model did not answer: ${text}${during}`;
  }
  if (what === 'trouble') return `${at}  ${paint(tool === 'error' ? 'bad' : 'note', '!')} ${text}`;
  const mark = state === null ? paint('faint', '…') : MARKS[state](paint);
  return `${at}  ${mark} ${nameOf(tool).padEnd(width)}  ${text}${endOf(moment, paint)}`.trimEnd();
}

const MARKS = {
  ok: (paint: Paint) => paint('good', '✓'),
  failed: (paint: Paint) => paint('bad', '✗'),
  denied: (paint: Paint) => paint('note', '⊘'),
} as const;

/** How a call ended unless it succeeded, and its duration if at least a second. */
function endOf({ what, state, tookMs, exitCode }: Moment, paint: Paint): string {
  const how =
    state === 'denied'
      ? ['denied']
      : state === 'failed'
        ? [exitCode === null ? 'failed' : `exit ${exitCode}`]
        : what === 'call' && state === null
          ? ['no answer']
          : [];
  const took = tookMs !== null && tookMs >= LONG_MS ? [durationText(tookMs)] : [];
  const end = [...how, ...took].join(', ');
  return end === '' ? '' : `  ${paint(state === 'failed' ? 'bad' : state === 'denied' ? 'note' : 'faint', end)}`;
}

const LONG_MS = 1_000;

/** Shorter runs show tenths of a second. */
const SHORT_MS = 60_000;

function tenthsText(ms: number): string {
  return `${(ms / 1_000).toFixed(1)}s`;
}

/** `0:08`, `1:02:30`. */
function minutesText(ms: number): string {
  const seconds = Math.floor(ms / 1_000);
  const [hours, minutes] = [Math.floor(seconds / 3_600), Math.floor(seconds / 60) % 60];
  const rest = String(seconds % 60).padStart(2, '0');
  return hours > 0 ? `${hours}:${String(minutes).padStart(2, '0')}:${rest}` : `${minutes}:${rest}`;
}
