import { instantText } from '../../base/clock.ts';
import { type Evaluation, evaluation as contract, type JudgedCase, trialOf } from '../../contracts/evaluation/index.ts';
import { rounded } from '../../contracts/gate/decide/distributions.ts';
import { passRate } from '../../contracts/gate/decide/pass-rate.ts';
import { countsAs } from '../../contracts/gate/limits/tally.ts';
import type { Checker } from '../../contracts/seal/index.ts';
import { evaluationIn, findEvaluation } from '../../evidence/judgement/evaluation-files.ts';
import { percentile } from '../../judge/compare/statistics.ts';
import type { CaseCounts, HistoryRun } from '../../reports/pages/history-data.ts';
import type { FoundRun, RunGroup } from './find-runs.ts';

/** A run of the history, and the judged cases of its trials: planned ones first, then later rounds. */
export interface ReadGroup {
  readonly row: Omit<HistoryRun, 'flakiness' | 'report'>;
  readonly trials: readonly (readonly JudgedCase[])[];
  /** Equal for runs of the same known version; otherwise unique. */
  readonly version: string;
  readonly unreadable: readonly { readonly run_id: string; readonly why: string }[];
}

/** Reads the stored evaluations of a run. One that does not match its seal is not used. */
export function readGroup(group: RunGroup, key: Checker | undefined): ReadGroup {
  const unreadable: { run_id: string; why: string }[] = [];
  const read = (runs: readonly FoundRun[]): Evaluation[] =>
    runs.flatMap(({ folder, run }) => {
      const found = findEvaluation(folder, contract, key);
      if (found.state === 'none') return [];
      const known = found.state === 'sound' ? evaluationIn(found, contract) : found;
      if (!('why' in known)) return [known as Evaluation];
      unreadable.push({ run_id: run.run_id, why: `Its evaluation ${known.why}.` });
      return [];
    });
  const planned = read(group.planned);
  const rounds = read(group.rounds);
  const row = rowOf(group, planned);
  return {
    row,
    trials: [...planned, ...rounds].map(({ cases }) => cases),
    version: versionOf(group, row),
    unreadable,
  };
}

function rowOf({ id, side, planned: runs }: RunGroup, planned: readonly Evaluation[]): ReadGroup['row'] {
  const { run, request, model, isPartial } = runs[0] as FoundRun;
  const { provenance: stated = {} } = request;
  const seen = planned[0]?.provenance ?? {};
  const ownCommit = seen.commit?.join(', ') ?? stated.commit;
  return {
    run_id: id,
    side,
    started_at: startOf(run),
    commit: ownCommit ?? run.repo_commit ?? null,
    dirty: ownCommit === undefined ? (run.dirty ?? null) : null,
    model: seen.model?.join(', ') ?? model ?? null,
    agent_version: run.provenance?.agent_version ?? null,
    target: run.base_url,
    trials: planned.length,
    partial: isPartial,
    ...measured(planned.map(({ cases }) => cases)),
  };
}

/** A run from elsewhere may claim a duration that no calendar has. */
function startOf({ generated_at, stats }: FoundRun['run']): string {
  const startMs = Date.parse(generated_at) - (stats?.duration_ms ?? 0);
  return startMs >= 0 ? instantText(startMs) : generated_at;
}

/** A version is known by its commit. A checkout with changes, or of unknown state, may be any version. */
function versionOf({ id, side, planned }: RunGroup, row: ReadGroup['row']): string {
  const { repo_commit, dirty } = planned[0]?.run ?? {};
  const { target_sha256, provenance } = (planned[0] as FoundRun).request;
  if (repo_commit === undefined || dirty !== false) return `${side}/${id}`;
  return JSON.stringify([side, repo_commit, row.commit, row.model, target_sha256, provenance ?? null]);
}

type Measured = Pick<HistoryRun, 'pass_rate' | 'cases' | 'latency_ms' | 'cost_usd' | 'unpriced'>;

function measured(trials: readonly (readonly JudgedCase[])[]): Measured {
  const tallies = new Map<string, { passes: number; trials: number }>();
  const latencies: number[] = [];
  let costUsd: number | null = null;
  let unpriced = 0;
  for (const one of trials.flat()) {
    const tally = tallies.get(one.case_id) ?? { passes: 0, trials: 0 };
    tallies.set(one.case_id, tally);
    const counted = countsAs(trialOf(one));
    if (counted === 'passed' || counted === 'failed') tally.trials++;
    if (counted === 'passed') tally.passes++;
    const { latency_ms, cost_usd } = one.metrics;
    if (latency_ms !== null) latencies.push(latency_ms);
    if (cost_usd !== null) costUsd = (costUsd ?? 0) + cost_usd;
    else if (counted !== 'missing') unpriced++;
  }
  const judged = [...tallies.values()].filter(tally => tally.trials > 0);
  const sorted = Float64Array.from(latencies).sort();
  return {
    pass_rate: judged.length === 0 ? null : passRate(judged),
    cases: trials.length === 0 ? null : countsOf([...tallies.values()]),
    latency_ms:
      sorted.length === 0 ? null : { p50: rounded(percentile(sorted, 0.5)), p95: rounded(percentile(sorted, 0.95)) },
    cost_usd: costUsd === null ? null : rounded(costUsd),
    unpriced,
  };
}

function countsOf(tallies: readonly { readonly passes: number; readonly trials: number }[]): CaseCounts {
  const counts = { passed: 0, failed: 0, mixed: 0, unknown: 0 };
  for (const { passes, trials } of tallies) {
    counts[trials === 0 ? 'unknown' : passes === trials ? 'passed' : passes === 0 ? 'failed' : 'mixed']++;
  }
  return counts;
}
