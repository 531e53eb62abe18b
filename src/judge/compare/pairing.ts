import { changeOf, type ComparedCase, standingOf, type Trial } from '../../contracts/comparison/index.ts';
import { trialOf as judgedTrial } from '../../contracts/evaluation/index.ts';
import type { JudgedCase, Side } from '../compare-input.ts';

type Told = ComparedCase['new']['trials'][number];

/** A case with its trials on both sides, in the order of the runs. */
export interface Pair {
  readonly caseId: string;
  readonly baseline: Told[];
  readonly candidate: Told[];
  /** The same trials as judged; undefined for a run without the case. */
  readonly judged: {
    readonly baseline: readonly (JudgedCase | undefined)[];
    readonly candidate: readonly (JudgedCase | undefined)[];
  };
  readonly change: ReturnType<typeof changeOf>;
}

/** All cases of both sides: first the candidate's in order, then those only in the baseline. */
export function* pairsOf(baseline: Side, candidate: Side): Generator<Pair> {
  const before = new Trials(baseline);
  const now = new Trials(candidate);
  const seen = new Set<string>();
  for (const trial of [...candidate.trials, ...baseline.trials]) {
    for (const { case_id } of trial.evaluation.cases) {
      if (seen.size === seen.add(case_id).size) continue;
      const judged = {
        baseline: before.judged(case_id),
        candidate: now.judged(case_id),
      };
      const was = before.told(judged.baseline);
      const is = now.told(judged.candidate);
      if (was.length + is.length === 0) continue;
      yield { caseId: case_id, baseline: was, candidate: is, judged, change: changeOf(was, is) };
    }
  }
}

/** The runs of one side, with their cases by id. */
class Trials {
  readonly #runs: Side['trials'];
  readonly #cases: readonly ReadonlyMap<string, JudgedCase>[];
  readonly #hasReruns: boolean;

  constructor({ trials }: Side) {
    this.#runs = trials;
    this.#cases = trials.map(({ evaluation }) => new Map(evaluation.cases.map(one => [one.case_id, one])));
    this.#hasReruns = trials.some(({ isRerun }) => isRerun);
  }

  /** The case as each run judged it. A rerun counts only if its question matches a planned trial's. */
  judged(caseId: string): (JudgedCase | undefined)[] {
    const judged = this.#cases.map(cases => cases.get(caseId));
    if (!this.#hasReruns) return judged;
    const planned = new Set(judged.flatMap((one, index) => (one && !this.#isRerun(index) ? [one.case_sha256] : [])));
    return judged.map((one, index) => (one && this.#isRerun(index) && !planned.has(one.case_sha256) ? undefined : one));
  }

  /** One trial per run. Leaves out reruns that skip the case; empty if no run has it. */
  told(judged: readonly (JudgedCase | undefined)[]): Told[] {
    if (judged.every(one => one === undefined)) return [];
    if (!this.#hasReruns) return withOneMessage(judged.map((one, index) => toldTrial(this.#runs[index], one)));
    return withOneMessage(
      judged.flatMap((one, index) => (!one && this.#isRerun(index) ? [] : [toldTrial(this.#runs[index], one)])),
    );
  }

  #isRerun(index: number): boolean {
    return this.#runs[index]?.isRerun === true;
  }
}

/** Keeps only the first message: reports show one per case, and there can be a million trials. */
function withOneMessage(trials: Told[]): Told[] {
  let isSaid = false;
  for (const trial of trials) {
    if (trial.failure?.message === undefined) continue;
    if (isSaid) {
      const { message: _, ...rest } = trial.failure;
      trial.failure = rest;
    }
    isSaid = true;
  }
  return trials;
}

/** Written key by key: objects made by spreading take twice the memory, and there may be a million. */
function toldTrial(trial: Side['trials'][number] | undefined, one: JudgedCase | undefined): Told {
  const paired = pairedTrial(one);
  const { verdict, error_class, output_hash, answer_hash, latency_ms, ttft_ms, cost_usd, score } = paired;
  const told: Told = { run_id: trial?.runId ?? '', verdict, error_class, output_hash, latency_ms, cost_usd, score };
  if (answer_hash) told.answer_hash = answer_hash;
  if (ttft_ms !== undefined) told.ttft_ms = ttft_ms;
  if (paired.tokens !== undefined) told.tokens = paired.tokens;
  if (paired.input_tokens !== undefined) told.input_tokens = paired.input_tokens;
  if (paired.output_tokens !== undefined) told.output_tokens = paired.output_tokens;
  if (paired.failure) told.failure = paired.failure;
  if (paired.repairs) told.repairs = paired.repairs;
  if (trial?.isRerun) told.rerun = true;
  return told;
}

export function pairedTrial(one: JudgedCase | undefined): Trial {
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

/** The number of the first trial with the wanted verdict, else of the first with any verdict. */
export function firstTrial(trials: readonly Trial[], wanted: 'passed' | 'failed'): number | undefined {
  const standings = trials.map(standingOf);
  const index = standings.indexOf(wanted);
  const any = index < 0 ? standings.findIndex(standing => standing !== 'missing') : index;
  return any < 0 ? undefined : any;
}
