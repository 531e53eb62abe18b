import { printable } from '../../base/printable.ts';
import type { CaseState, History, HistoryCase, HistoryRun, SuiteHistory } from '../../verbs/history/history.ts';
import type { Paint } from './paint.ts';
import { tableLines } from './table.ts';
import { countText, durationText, numberText } from './units.ts';

/** The lines of a history: all suites, one suite or one case. */
export function historyLines(history: History, paint: Paint): string[] {
  const { suites, case_id, suite } = history;
  const [first] = suites;
  if (!first) return [...EMPTY, ...remarkLines(history, paint)];
  const [one] = first.cases;
  const body =
    case_id !== null && one
      ? caseLines(first, one, paint)
      : suite !== null
        ? suiteLines(first, paint)
        : overviewLines(suites, paint);
  return [...body, ...remarkLines(history, paint)];
}

const EMPTY = ['No suite has been run here yet. Run proctor test, or proctor run suite CASES.'];

function overviewLines(suites: readonly SuiteHistory[], paint: Paint): string[] {
  const rows = suites.map(suite => {
    const last = suite.runs.at(-1) as HistoryRun;
    return [
      markOf(suite, paint),
      printable(suite.name),
      sparkline(suite.runs),
      rateText(last),
      stateText(suite),
      `${countText(suite.runs.length + suite.older_runs, 'run')}, newest ${whenText(last.started_at)}`,
    ];
  });
  return [
    ...tableLines(rows),
    '',
    paint('faint', 'To see one suite, run proctor history SUITE. To open a page, add --open.'),
  ];
}

function suiteLines(suite: SuiteHistory, paint: Paint): string[] {
  const { runs, cases, older_runs, flakiness } = suite;
  const flaky = flakiness === null ? '' : ` Flakiness ${percentText(flakiness)}.`;
  const changed = cases.filter(({ state }) => state !== 'passes');
  const total = Object.values(suite.states).reduce((sum, count) => sum + count, 0) - suite.states.passes;
  const shown = changed.slice(0, CHANGED_SHOWN);
  const older =
    older_runs > 0 ? [paint('faint', `${countText(older_runs, 'older run')} not shown; use --limit to see more`)] : [];
  return [
    `${markOf(suite, paint)} ${paint('strong', printable(suite.name))}  ${stateText(suite)}.${flaky}`,
    '',
    ...older,
    ...runTable(runs),
    ...(runs.some(({ dirty }) => dirty) ? [paint('faint', '* with uncommitted changes')] : []),
    ...(shown.length > 0 ? ['', ...shown.flatMap(one => changedLines(one, paint))] : []),
    ...(total > shown.length
      ? [`  and ${numberText(total - shown.length)} more; --json and --open show up to 200`]
      : []),
  ];
}

const CHANGED_SHOWN = 20;

function caseLines(suite: SuiteHistory, one: HistoryCase, paint: Paint): string[] {
  const { runs } = suite;
  const rows = runs.flatMap((run, index) => {
    const letters = one.trials[index] ?? '';
    if (letters === '') return [];
    return [
      {
        ...baseCells(run),
        trials: trialsText(letters),
        latency: msText(one.latency_ms[index] ?? null),
        cost: costText(one.cost_usd[index] ?? null),
        note: one.changed.includes(index) ? 'the case changed' : '',
      },
    ];
  });
  return [
    ...changedLines(one, paint),
    `  ${paint('faint', `suite ${printable(suite.name)}${flakyText(one.flakiness)}`)}`,
    '',
    ...named(rows, { trials: 'trials', latency: 'latency', cost: 'cost', note: '' }),
  ];
}

function runTable(runs: readonly HistoryRun[]): string[] {
  const rows = runs.map(run => ({
    ...baseCells(run),
    rate: rateText(run),
    fails: failsText(run),
    latency: run.latency_ms ? `${msText(run.latency_ms.p50)} / ${msText(run.latency_ms.p95)}` : '–',
    cost: run.cost_usd !== null && run.unpriced > 0 ? `≥ ${costText(run.cost_usd)}` : costText(run.cost_usd),
    flaky: run.flakiness === null ? '–' : percentText(run.flakiness),
  }));
  return named(rows, { rate: 'pass rate', fails: 'failing', latency: 'p50 / p95', cost: 'cost', flaky: 'flakiness' });
}

function baseCells(run: HistoryRun) {
  const { started_at, side, commit, dirty, model, agent_version, run_id } = run;
  return {
    when: whenText(started_at),
    side: side === 'new' ? 'candidate' : side,
    commit: commit === null ? '–' : `${printable(commit).slice(0, COMMIT_CHARS)}${dirty ? '*' : ''}`,
    version: printable([model, agent_version].filter(text => text !== null).join(' ') || '–').slice(0, VERSION_CHARS),
    run: printable(run_id),
  };
}

/** A table with headings. A column without any value is left out. */
function named(rows: readonly Readonly<Record<string, string>>[], own: Readonly<Record<string, string>>): string[] {
  const { run, ...base } = HEADINGS;
  const all = Object.entries({ ...base, ...own, run });
  const used = all.filter(([key]) => rows.some(row => row[key] !== '–' && row[key] !== ''));
  return tableLines([used.map(([, heading]) => heading), ...rows.map(row => used.map(([key]) => row[key] ?? '–'))]);
}

const HEADINGS = { when: 'when (UTC)', side: 'side', commit: 'commit', version: 'version', run: 'run' } as const;
const COMMIT_CHARS = 9;
const VERSION_CHARS = 24;

function changedLines({ case_id, state, since, flakiness, message, cause }: HistoryCase, paint: Paint): string[] {
  const style = state === 'fails' ? 'bad' : state === 'fixed' || state === 'passes' ? 'good' : 'note';
  const when = since && `${since.or_before ? 'at least since' : 'since'} ${whenText(since.started_at)}`;
  const dirty = since?.dirty ? ' with uncommitted changes' : '';
  const commit = since?.commit ? `, commit ${printable(since.commit).slice(0, COMMIT_CHARS)}${dirty}` : '';
  const run = since ? `${when}${commit}, run ${printable(since.run_id)}` : '';
  const flaky = state === 'flaky' ? flakyText(flakiness).replace(/^, /, '') : '';
  const says = state === 'fails' || state === 'flaky' ? [message, cause && `cause: ${cause}`] : [];
  return [
    `${paint(style, WORDS[state].padEnd(WORD_WIDTH))}  ${printable(case_id)}  ${run}${flaky}`.trimEnd(),
    ...says.flatMap(text => (text ? [`${''.padEnd(WORD_WIDTH)}  ${printable(text)}`] : [])),
  ];
}

const WORDS: Readonly<Record<CaseState, string>> = {
  fails: '✗ fails',
  flaky: '~ flaky',
  fixed: '✓ fixed',
  gone: '– gone',
  unknown: '? open',
  passes: '✓ passes',
};
const WORD_WIDTH = 8;

function flakyText(flakiness: number | null): string {
  return flakiness === null || flakiness === 0 ? '' : `, flakiness ${percentText(flakiness)}`;
}

function remarkLines(history: History, paint: Paint): string[] {
  const { unreadable, unreadable_total, unfinished, not_read, suites_total, suites } = history;
  const left = suites_total - suites.length;
  const remarks = [
    ...(left > 0 ? [`${countText(left, 'more suite')}. Name one to see it.`] : []),
    ...(unfinished > 0 ? [`${countText(unfinished, 'run')} not finished, so not counted.`] : []),
    ...(not_read > 0 ? [`${countText(not_read, 'older run folder')} not read.`] : []),
    ...(unreadable_total > 0 ? [`${countText(unreadable_total, 'run')} not used:`] : []),
    ...unreadable.map(({ run_id, why }) => `  ${printable(run_id)}: ${printable(why)}`),
  ];
  return remarks.length > 0 ? ['', ...remarks.map(text => paint('note', text))] : [];
}

function markOf({ states, runs }: SuiteHistory, paint: Paint): string {
  if (states.fails > 0) return paint('bad', '✗');
  if (states.flaky > 0) return paint('note', '~');
  return runs.at(-1)?.pass_rate ? paint('good', '✓') : paint('note', '?');
}

/** `2 of 10 cases fail, 1 is flaky`. */
function stateText({ states }: SuiteHistory): string {
  const { fails, flaky, gone } = states;
  const total = Object.values(states).reduce((sum, count) => sum + count, 0) - gone;
  if (total === 0) return 'not judged';
  const parts = [
    fails > 0
      ? `${numberText(fails)} of ${countText(total, 'case')} ${fails === 1 ? 'fails' : 'fail'}`
      : `none of ${countText(total, 'case')} fails`,
    ...(flaky > 0 ? [`${numberText(flaky)} ${flaky === 1 ? 'is' : 'are'} flaky`] : []),
  ];
  return parts.join(', ');
}

function failsText({ cases }: HistoryRun): string {
  if (!cases) return 'not judged';
  const { failed, mixed } = cases;
  return `${numberText(failed)}${mixed > 0 ? ` + ${numberText(mixed)} mixed` : ''}`;
}

/** The pass rates of the newest runs, one bar each. Only a rate of 100 % fills its bar. */
function sparkline(runs: readonly HistoryRun[]): string {
  return runs
    .slice(-BARS_SHOWN)
    .map(({ pass_rate }) => (pass_rate ? (BARS[Math.floor(pass_rate.rate * (BARS.length - 1))] as string) : '·'))
    .join('');
}

const BARS = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'] as const;
const BARS_SHOWN = 20;

function rateText({ pass_rate }: HistoryRun): string {
  if (!pass_rate) return '–';
  const { rate, low, high } = pass_rate;
  return `${percentText(rate)} (${Math.round(100 * low)} to ${percentText(high)})`;
}

function percentText(share: number): string {
  return `${Math.round(100 * share)} %`;
}

function trialsText(letters: string): string {
  const marks = letters
    .slice(0, TRIALS_SHOWN)
    .split('')
    .map(letter => MARKS[letter] ?? '?');
  return `${marks.join('')}${letters.length > TRIALS_SHOWN ? `… (${letters.length})` : ''}`;
}

const MARKS: Readonly<Record<string, string>> = { p: '✓', f: '✗', u: '?', n: '–' };
const TRIALS_SHOWN = 20;

function msText(ms: number | null): string {
  return ms === null ? '–' : durationText(ms);
}

function costText(usd: number | null): string {
  return usd === null ? '–' : `$${Number(usd.toPrecision(3))}`;
}

/** `2026-01-06 12:00`. */
function whenText(instant: string): string {
  return printable(instant).replace('T', ' ').slice(0, 16);
}
