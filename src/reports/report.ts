import { counted } from '../base/counted.ts';
import { failureName } from '../contracts/artifacts/words.ts';
import type { RunArtifact } from '../contracts/artifacts/index.ts';
import type { Evaluation, JudgedCase } from '../contracts/evaluation/index.ts';
import { repetitionId, type SuiteRequest } from '../contracts/suite/index.ts';
import type { LimitCheck } from '../contracts/gate/limits/index.ts';
import {
  type ComparedCase,
  type Comparison,
  type MetricComparison,
  standingOf,
  VERDICT_OF,
} from '../contracts/comparison/index.ts';

/** A report format. It yields pieces in order; the same documents give the same bytes on every machine. */
export interface Report {
  /** Its file name. */
  readonly file: string;
  readonly ofComparison: (comparison: Comparison, places?: CasePlaces) => Iterable<string>;
  readonly ofRun: (run: JudgedRun, places?: CasePlaces) => Iterable<string>;
}

/** Where the cases are written. */
export interface CasePlaces {
  /** The case file, relative to its repository, with slashes. */
  readonly file: string;
  /** Undefined if the file does not contain the case. */
  readonly lineOf: (caseId: string) => number | undefined;
}

/** A suite run and its evaluation: run.json and evaluation.json. */
export interface JudgedRun {
  readonly run: Pick<RunArtifact, 'run_id' | 'version' | 'base_url'>;
  readonly evaluation: Pick<Evaluation, 'summary' | 'cases' | 'gate' | 'repairs'>;
  readonly repetition?: Repetition | undefined;
  /** Says which part of a suite the run is, or of which parts it consists. */
  readonly parts?: string | undefined;
}

/** What a reader must know about a run that is not a whole suite in one process. */
export function runNote({ repetition, parts }: Pick<JudgedRun, 'repetition' | 'parts'>): string | undefined {
  const notes = [repetitionNote(repetition), parts].filter(note => note !== undefined);
  return notes.length === 0 ? undefined : notes.join(' ');
}

/** Its position among the repetitions. */
export type Repetition = SuiteRequest['repetition'];

/** A note for a report that shows only one of several repetitions. */
function repetitionNote(repetition: Repetition | undefined): string | undefined {
  if (!repetition || repetition.total === 1) return undefined;
  const { of, number, total } = repetition;
  const others = Array.from({ length: total }, (_, index) => index + 1).filter(other => other !== number);
  const named = others.slice(0, OTHERS_MAX).map(other => repetitionId(of, other));
  const more = others.length > OTHERS_MAX ? ` and ${others.length - OTHERS_MAX} more` : '';
  return `This is only repetition ${number} of ${total}. The others are ${named.join(', ')}${more}; compare uses all of them.`;
}

const OTHERS_MAX = 5;

/** Why a case needs attention; undefined if it needs none. */
export function concernOf({
  change,
  new: candidate,
}: ComparedCase): 'regressed' | 'failing' | 'flaky' | 'missing' | undefined {
  if (change === 'regressed' || change === 'flaky' || change === 'missing') return change;
  if (change === 'same' && candidate.trials.some(trial => standingOf(trial) === 'failed')) return 'failing';
  return undefined;
}

/** The failed expectations of a case, one line each: the name and the judge's sentence. */
export function failuresOf({
  failing,
  new: candidate,
}: ComparedCase): readonly { readonly name: string; readonly message: string }[] {
  if (failing.length > 0)
    return failing.map(({ name, message }) => ({ name, message: message ?? 'The expectation is not met.' }));
  const trial = candidate.trials.find(({ verdict }) => verdict === 'error');
  const error = trial?.error_class;
  return error ? [troubleWith(error, trial?.failure)] : [];
}

/** The failures of a case in a run without a comparison. */
export function problemsOf({
  verdict,
  error_class,
  failure,
  assertions,
}: JudgedCase): readonly { readonly name: string; readonly message: string }[] {
  if (verdict === 'error') return [troubleWith(error_class ?? 'check', failure)];
  return assertions
    .filter(({ status }) => status === 'fail')
    .map(({ name, message }) => ({ name, message: message ?? 'The expectation is not met.' }));
}

/** Why there is no answer: the stored message, or what the class says. */
function troubleWith(errorClass: string, failure: JudgedCase['failure']): { name: string; message: string } {
  const status = failure?.status ?? null;
  const known =
    errorClass === 'http_error' && status !== null ? `The agent answered with status ${status}.` : TROUBLE[errorClass];
  return {
    name: failureName(errorClass, failure?.error_name),
    message: failure?.message ?? known ?? 'The case could not be judged.',
  };
}

const TROUBLE: Readonly<Record<string, string>> = {
  timeout: 'The agent did not answer in time.',
  http_error: 'The agent answered with an error.',
  invalid_json: 'The answer is not JSON.',
  schema_mismatch: 'The reply does not have the form that Proctor requires.',
  network_error: 'The agent could not be reached.',
  other: 'The case could not be run.',
  missing: 'The case has no artifact.',
  check: 'A check of the case could not be run.',
};

const VERDICTS = {
  no_regression: 'No regression',
  regression: 'Regression',
  not_enough_evidence: 'Not enough evidence',
} as const;

/** The verdict in one or two words. A missed limit says nothing about the baseline. */
export function verdictWord({ verdict, gate, decision }: Comparison): string {
  const isUnmet = gate.checks?.some(({ is_met }) => !is_met) === true;
  const isRegression = decision !== undefined && VERDICT_OF[decision.cause] === 'regression';
  return isUnmet && !isRegression ? 'Limit not met' : VERDICTS[verdict];
}

/** One sentence for each limit that is not met. Limits on the candidate come first. */
export function breachMessages({ gate }: Pick<Comparison, 'gate'>): string[] {
  return [...unmetMessages(gate.checks), ...gate.breaches.map(({ message }) => message)];
}

/** Limits that the candidate does not meet. */
export function unmetMessages(checks: readonly LimitCheck[] = []): string[] {
  return checks.filter(({ is_met }) => !is_met).map(({ message }) => message);
}

/** At most four significant digits. */
function figure(value: number): string {
  return String(Number(value.toPrecision(4)));
}

/** The value of a metric with its unit. */
export function measure(metric: keyof typeof METRICS, value: number): string {
  return `${figure(value)}${METRICS[metric].unit}`;
}

/** With its sign. */
export function change(metric: keyof typeof METRICS, value: number): string {
  return `${value > 0 ? '+' : ''}${measure(metric, value)}`;
}

/** The 95 % interval of a difference, as "low to high". A single case has none. */
export function intervalOf({ name, pairs, difference }: MetricComparison): string | undefined {
  return pairs < 2 ? undefined : `${change(name, difference.low)} to ${change(name, difference.high)}`;
}

export const NO_INTERVAL = 'no interval for a single case';

export const METRICS = {
  latency_ms: { label: 'latency', unit: ' ms' },
  ttft_ms: { label: 'ttft', unit: ' ms' },
  cost_usd: { label: 'cost', unit: ' USD' },
  score: { label: 'score', unit: '' },
} as const;

/** A note for accepted baselines, which store how cases ended but not the events that explain why. */
export function causesNote({ sides, cases }: Comparison): string | undefined {
  const isAsked = cases.some(one => concernOf(one) === 'regressed' || concernOf(one) === 'flaky');
  const { source, pack } = sides.baseline;
  if (source !== 'accepted' || pack === 'read' || !isAsked) return undefined;
  if (pack === 'missing')
    return "The baseline's pack is missing, so causes are mostly guesses: commit it next to the baseline, or compare with the run itself.";
  return 'The baseline is an accepted document, which contains no events, so causes are mostly guesses: compare with the run itself to see why.';
}

/**
 * How many trials each side has. Reruns cover only some cases, so they are counted separately.
 */
export function trialsNote({ sides, cases }: Comparison): string {
  const again = { baseline: 0, new: 0 };
  const rounds = { baseline: new Set<string>(), new: new Set<string>() };
  for (const one of cases) {
    for (const side of ['baseline', 'new'] as const) {
      for (const { rerun, run_id } of one[side].trials) {
        if (!rerun) continue;
        again[side]++;
        rounds[side].add(run_id);
      }
    }
  }
  const planned = (side: 'baseline' | 'new'): number => sides[side].trials - rounds[side].size;
  const asked = again.baseline + again.new;
  const more = asked === 0 ? '' : `, and ${counted(asked, 'trial')} of single cases that were run again`;
  return `${counted(planned('baseline'), 'trial')} of the baseline, ${planned('new')} of the candidate${more}`;
}

/** Names the sides on which a case is missing. Documents call the candidate `new`. */
export const SIDE_NAMES = { baseline: 'the baseline', new: 'the candidate', both: 'both sides' } as const;
