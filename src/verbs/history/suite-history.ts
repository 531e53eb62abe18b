import { existsSync } from 'node:fs';
import path from 'node:path';
import type { Checker } from '../../contracts/seal/index.ts';
import type { CaseState, HistoryCase, HistoryRun, SuiteHistory } from '../../reports/pages/history-data.ts';
import { caseStateOf } from './case-states.ts';
import { type CaseColumns, CaseTable } from './case-table.ts';
import type { Comparisons } from './comparisons.ts';
import type { RunGroup } from './find-runs.ts';
import { addFlips, type Flips, flipsOf, shareOf } from './flakiness.ts';
import { type ReadGroup, readGroup } from './run-row.ts';

export interface SuiteHistoryOptions {
  readonly home: string;
  readonly key: Checker | undefined;
  readonly comparisons: Comparisons;
  /** The maximum number of runs. */
  readonly limit: number;
  readonly casesMax: number;
  /** Reads this case only. */
  readonly caseId?: string | undefined;
  /** Links to reports are relative to this folder. */
  readonly linkFrom: string;
  readonly onUnreadable: (one: { readonly run_id: string; readonly why: string }) => void;
}

/** The history of one suite. Reads one evaluation at a time, newest first. */
export function suiteHistory(name: string, groups: readonly RunGroup[], options: SuiteHistoryOptions): SuiteHistory {
  const table = new CaseTable(options.caseId);
  const read: (Pick<ReadGroup, 'row' | 'version'> & { readonly group: RunGroup })[] = [];
  for (const group of groups.slice(0, options.limit)) {
    if (table.cells > CELLS_MAX) break;
    const { row, version, trials, unreadable } = readGroup(group, options.key);
    unreadable.forEach(options.onUnreadable);
    table.add(trials);
    read.push({ row, version, group });
  }
  read.reverse();
  const rows = read.map(({ row }) => row);
  const side = rows.some(row => row.side === 'new') ? 'new' : 'baseline';
  const older = groups.length - rows.length;
  const flips: Flips[] = rows.map(() => NO_FLIPS);
  const cases = table.columns().map(columns => {
    const ofCase = caseFlips(columns, read);
    for (const [index, count] of ofCase.entries()) flips[index] = addFlips(flips[index] ?? NO_FLIPS, count);
    const share = shareOf(ofCase.reduce(addFlips, NO_FLIPS));
    const { state, since } = caseStateOf(columns.trials, (share ?? 0) > 0, { runs: rows, side, hasOlder: older > 0 });
    return { columns, share, state, since };
  });
  const states = { fails: 0, flaky: 0, fixed: 0, gone: 0, unknown: 0, passes: 0 };
  for (const { state } of cases) states[state]++;
  const shown = cases.sort(byUrgency).slice(0, options.casesMax);
  return {
    name,
    side,
    runs: read.map(({ row, group }, index) => ({
      ...row,
      flakiness: shareOf(flips[index] ?? NO_FLIPS),
      report: reportOf(group, options),
    })),
    older_runs: older,
    cases: shown.map(one => shownCase(one, read[one.since?.run ?? -1]?.group, options.comparisons)),
    states,
    flakiness: shareOf(flips.reduce(addFlips, NO_FLIPS)),
  };
}

/** A table with this many cells takes about 100 MB. Older runs are then not read. */
const CELLS_MAX = 2_000_000;

const NO_FLIPS: Flips = { flips: 0, pairs: 0 };

interface StatedCase {
  readonly columns: CaseColumns;
  readonly share: number | null;
  readonly state: CaseState;
  readonly since: HistoryCase['since'];
}

/** The flips of a case in each run. The sides are different versions, so each has its own neighbours. */
function caseFlips({ trials, sha256 }: CaseColumns, read: readonly Pick<ReadGroup, 'row' | 'version'>[]): Flips[] {
  const flips: Flips[] = read.map(() => NO_FLIPS);
  for (const side of ['baseline', 'new'] as const) {
    const indexes = read.flatMap(({ row }, index) => (row.side === side && trials[index] !== '' ? [index] : []));
    const runs = indexes.map(index => ({
      letters: trials[index] as string,
      version: `${read[index]?.version} ${sha256[index]}`,
    }));
    for (const [position, count] of flipsOf(runs).entries()) flips[indexes[position] as number] = count;
  }
  return flips;
}

const URGENCY: readonly CaseState[] = ['fails', 'flaky', 'fixed', 'gone', 'unknown', 'passes'];

/** Failing cases first, and of those the ones that broke last. */
function byUrgency(a: StatedCase, b: StatedCase): number {
  const rank = URGENCY.indexOf(a.state) - URGENCY.indexOf(b.state);
  if (rank !== 0) return rank;
  const since = (b.since?.run ?? -1) - (a.since?.run ?? -1);
  if (since !== 0) return since;
  return (b.share ?? 0) - (a.share ?? 0);
}

function shownCase(
  { columns, share, state, since }: StatedCase,
  first: RunGroup | undefined,
  comparisons: Comparisons,
): HistoryCase {
  const { id, trials, latencyMs, costUsd, sha256, message } = columns;
  const causes = state !== 'fails' || !first ? [] : [...first.planned, ...first.rounds];
  return {
    case_id: id,
    state,
    since,
    flakiness: share,
    trials,
    latency_ms: latencyMs,
    cost_usd: costUsd,
    changed: changesIn(sha256),
    message,
    cause: causes.map(({ sealSha256 }) => comparisons.causeOf(sealSha256, id)).find(cause => cause !== null) ?? null,
  };
}

function changesIn(hashes: readonly string[]): number[] {
  let before = '';
  return hashes.flatMap((hash, index) => {
    if (hash === '') return [];
    const isChanged = before !== '' && hash !== before;
    before = hash;
    return isChanged ? [index] : [];
  });
}

/** The page of the run's newest comparison, else the page of the run. */
function reportOf(
  { id, side, planned }: RunGroup,
  { home, comparisons, linkFrom }: SuiteHistoryOptions,
): HistoryRun['report'] {
  const compared = planned.map(({ sealSha256 }) => comparisons.pageOf(sealSha256));
  const own = [`${side}-${id}`, id].map(name => path.join(home, 'reports', name, 'report.html'));
  const file = compared.find(page => page !== undefined) ?? own.find(page => existsSync(page));
  return file === undefined ? null : path.relative(linkFrom, file).split(path.sep).join('/');
}
