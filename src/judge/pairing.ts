import { changeOf, type ComparedCase, standingOf, type Trial } from '../contracts/comparison/index.ts';
import { trialOf as judgedTrial } from '../contracts/evaluation/index.ts';
import type { JudgedCase, Side } from './compare-input.ts';

type Told = ComparedCase['new']['trials'][number];

/** A case with its trials on both sides, in the order of the runs. */
export interface Pair {
  readonly caseId: string;
  readonly baseline: Told[];
  readonly candidate: Told[];
  /** The same, as judging told them; undefined where a run does not know the case. */
  readonly judged: {
    readonly baseline: readonly (JudgedCase | undefined)[];
    readonly candidate: readonly (JudgedCase | undefined)[];
  };
  readonly change: ReturnType<typeof changeOf>;
}

/** All cases of both sides, first those of the new side in their order, then those that only the baseline knows. */
export function* pairsOf(baseline: Side, candidate: Side): Generator<Pair> {
  const before = baseline.trials.map(casesById);
  const now = candidate.trials.map(casesById);
  const seen = new Set<string>();
  for (const trial of [...candidate.trials, ...baseline.trials]) {
    for (const { case_id } of trial.evaluation.cases) {
      if (seen.size === seen.add(case_id).size) continue;
      const judged = {
        baseline: judgedIn(baseline, before, case_id),
        candidate: judgedIn(candidate, now, case_id),
      };
      const was = toldOf(baseline, judged.baseline);
      const is = toldOf(candidate, judged.candidate);
      if (was.length + is.length === 0) continue;
      yield { caseId: case_id, baseline: was, candidate: is, judged, change: changeOf(was, is) };
    }
  }
}

function casesById({ evaluation }: Side['trials'][number]): ReadonlyMap<string, JudgedCase> {
  return new Map(evaluation.cases.map(one => [one.case_id, one]));
}

/** What each run says of a case. A rerun that asked something else than the planned trials says nothing. */
function judgedIn(
  { trials }: Side,
  runs: readonly ReadonlyMap<string, JudgedCase>[],
  caseId: string,
): (JudgedCase | undefined)[] {
  const judged = runs.map(cases => cases.get(caseId));
  if (!trials.some(({ isRerun }) => isRerun)) return judged;
  const planned = new Set(judged.flatMap((one, index) => (one && !trials[index]?.isRerun ? [one.case_sha256] : [])));
  return judged.map((one, index) => (one && trials[index]?.isRerun && !planned.has(one.case_sha256) ? undefined : one));
}

/** One entry per run, but for reruns, which ask some cases only; none at all where no run of the side knows the case. */
function toldOf({ trials }: Side, judged: readonly (JudgedCase | undefined)[]): Told[] {
  if (judged.every(one => one === undefined)) return [];
  if (!trials.some(({ isRerun }) => isRerun)) return judged.map((one, index) => toldTrial(trials[index], one));
  return judged.flatMap((one, index) => (!one && trials[index]?.isRerun ? [] : [toldTrial(trials[index], one)]));
}

/** Written key by key: objects that are spread together take twice the memory, and there are very many of them. */
function toldTrial(trial: Side['trials'][number] | undefined, one: JudgedCase | undefined): Told {
  const { verdict, error_class, output_hash, answer_hash, latency_ms, cost_usd, score, failure } = trialOf(one);
  const told: Told = { run_id: trial?.runId ?? '', verdict, error_class, output_hash, latency_ms, cost_usd, score };
  if (answer_hash) told.answer_hash = answer_hash;
  if (failure) told.failure = failure;
  if (trial?.isRerun) told.rerun = true;
  return told;
}

export function trialOf(one: JudgedCase | undefined): Trial {
  return one ? judgedTrial(one) : NOT_THERE;
}

const NOT_THERE: Trial = {
  verdict: 'error',
  error_class: 'missing',
  output_hash: null,
  latency_ms: null,
  cost_usd: null,
  score: null,
};

/** The number of the first trial that passed or failed, as asked for; of the first that says anything, if none did. */
export function firstTrial(trials: readonly Trial[], wanted: 'passed' | 'failed'): number | undefined {
  const standings = trials.map(standingOf);
  const index = standings.indexOf(wanted);
  const any = index < 0 ? standings.findIndex(standing => standing !== 'missing') : index;
  return any < 0 ? undefined : any;
}
