import path from 'node:path';
import { instantText, systemClock } from '../../base/clock.ts';
import { Fault } from '../../base/fault.ts';
import { didYouMean } from '../../base/nearest.ts';
import { printable } from '../../base/printable.ts';
import { homeFrom } from '../../evidence/run-folder/runs.ts';
import type { History, SuiteHistory } from '../../reports/pages/history-data.ts';
import { checkerIfUsable } from '../keys.ts';
import { Comparisons } from './comparisons.ts';
import { findSuiteRuns, type FoundRuns, type RunGroup } from './find-runs.ts';
import { suiteHistory, type SuiteHistoryOptions } from './suite-history.ts';

export type {
  CaseState,
  History,
  HistoryCase,
  HistoryRun,
  SuiteHistory,
} from '../../reports/pages/history-data.ts';

export interface HistoryOptions {
  /** A suite, or a case of any suite; all suites by default. */
  readonly name?: string | undefined;
  /** A case of the suite that `name` names. */
  readonly caseId?: string | undefined;
  /** The maximum number of runs per suite; 50 by default. */
  readonly limit?: number | undefined;
  /** Reads the runs of one side only. */
  readonly side?: 'baseline' | 'new' | undefined;
  readonly cwd?: string | undefined;
  readonly signingKey?: string | undefined;
  /** Links to reports are relative to this folder; to `cwd` by default. */
  readonly linkFrom?: string | undefined;
}

/** What the sealed suite runs of a project say about its suites over time. Writes nothing. */
export function historyOf(options: HistoryOptions): History {
  const { name, caseId, limit = RUNS_DEFAULT, side, cwd = process.cwd() } = options;
  const home = homeFrom(cwd);
  const found = findSuiteRuns(home);
  const key = checkerIfUsable(cwd, options.signingKey);
  const unreadable = [...found.unreadable];
  const reading: Omit<SuiteHistoryOptions, 'casesMax'> = {
    home,
    key,
    comparisons: new Comparisons(home, key),
    limit: Math.min(limit, RUNS_MAX),
    linkFrom: options.linkFrom ?? cwd,
    onUnreadable: one => unreadable.push(one),
  };
  const bySuite = suitesIn(found, side);
  const asked = askedFor(name, caseId, bySuite);
  const read = (suite: string, casesMax: number): SuiteHistory =>
    suiteHistory(suite, bySuite.get(suite) ?? [], { ...reading, casesMax, caseId: asked.caseId });
  const chosen = asked.suites.slice(0, SUITES_MAX);
  const many = chosen.map(suite => read(suite, chosen.length === 1 ? CASES_MAX : CASES_OF_MANY_MAX));
  const suites = asked.caseId === undefined ? many : withCase(many, asked.caseId);
  return {
    generated_at: instantText(systemClock.now()),
    suites,
    suites_total: asked.caseId === undefined ? asked.suites.length : suites.length,
    suite: name === undefined ? null : (suites[0]?.name ?? null),
    case_id: asked.caseId ?? null,
    unreadable: unreadable.slice(0, UNREADABLE_MAX),
    unreadable_total: unreadable.length,
    unfinished: found.unfinished,
    not_read: found.notRead,
  };
}

const RUNS_DEFAULT = 50;
const RUNS_MAX = 1_000;
const SUITES_MAX = 50;
const CASES_MAX = 200;
const CASES_OF_MANY_MAX = 40;
const UNREADABLE_MAX = 20;

/** The runs of each suite, newest first. */
function suitesIn({ groups }: FoundRuns, side: HistoryOptions['side']): Map<string, RunGroup[]> {
  const suites = new Map<string, RunGroup[]>();
  for (const group of groups) {
    if (side !== undefined && group.side !== side) continue;
    suites.set(group.suite, [...(suites.get(group.suite) ?? []), group]);
  }
  return suites;
}

interface Asked {
  readonly suites: readonly string[];
  readonly caseId?: string | undefined;
}

/** The suites to read, and the case if the name is not a suite's. */
function askedFor(name: string | undefined, caseId: string | undefined, bySuite: ReadonlyMap<string, unknown>): Asked {
  const known = [...bySuite.keys()];
  if (name === undefined) return { suites: known };
  const suite = known.find(one => one === name) ?? known.find(one => path.basename(one) === name);
  if (suite !== undefined) return { suites: [suite], caseId };
  if (caseId === undefined) return { suites: known, caseId: name };
  throw new Fault('no_history', `No run belongs to a suite "${printable(name)}".${didYouMean(name, known)} ${SUITES}`);
}

const SUITES = 'Run proctor history to see the suites.';

/** The only suite that has the case. */
function withCase(suites: readonly SuiteHistory[], caseId: string): readonly SuiteHistory[] {
  const having = suites.filter(({ cases }) => cases.length > 0);
  if (having.length === 1) return having;
  const name = printable(caseId);
  if (having.length === 0) {
    const meant = didYouMean(
      caseId,
      suites.map(suite => suite.name),
    );
    throw new Fault('no_history', `No judged run has a suite or a case "${name}".${meant} ${SUITES}`);
  }
  const places = having.map(suite => printable(suite.name)).join(', ');
  throw new Fault(
    'ambiguous_case',
    `${having.length} suites have a case "${name}": ${places}. Name the suite first: proctor history SUITE CASE.`,
  );
}
