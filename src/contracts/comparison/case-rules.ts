import { REPAIRS_ASK } from '../artifacts/repairs.ts';
import { must, rulesFor } from '../rule.ts';
import type { Comparison, Divergence } from './shape.ts';
import { changeOf, standingOf } from './trial.ts';

const rule = rulesFor<Comparison>();

export const CM9 = rule({
  id: 'CM9',
  title: 'Change Follows From Trials',
  why: "A case's change must follow from its trials alone.",
  asks: [
    "baseline and new each have a list of trials; each trial's run_id is among the run_ids of its side",
    'a trial has verdict (pass, fail or error), and output_hash, latency_ms, cost_usd and score (each may be null)',
    `ttft_ms, if present, is the time to the first token, a non-negative number; ${REPAIRS_ASK}`,
    'a trial without an answer may have failure, with the HTTP status and latency_ms of its last attempt (each may be null)',
    'failure may have error_name, and the message of the first such trial of a side',
    'rerun, if present, is true and marks a rerun; answer_hash, if present, is a content hash',
    'the run_id of a rerun ends in .a and the number of its round',
    'run_ids are unique per case and side; if a side has trials, it has one for each planned run',
    'again, if present, has sides (both or new), rounds, trials, cost_usd (which may be null), stopped, max_trials, max_ms and optionally max_cost_usd',
    'again.trials is at most max_trials, and at most the number of trials marked rerun',
    'error_class is null unless verdict is error; it can also be null for an error if a check could not run',
    'a trial has passed if verdict is pass; it has failed if verdict is fail, or error with timeout, http_error, invalid_json or schema_mismatch',
    'other errors do not count; a side without a trial that counts is missing: side_missing is baseline, new or both',
    'change is missing if a side is; otherwise flaky if one side has both passed and failed',
    'otherwise change is regressed (passed, then failed), improved (failed, then passed) or same',
    'side_missing is present only if change is missing',
  ],
  fields: ['cases[].change', 'cases[].side_missing', 'cases[].baseline', 'cases[].new', 'again'],
  reads: ['sides'],
  *check({ cases, sides, again }) {
    if (again && (again.trials > again.max_trials || again.trials > rerunsIn(cases)))
      yield must('again.trials', 'exceeds max_trials or the number of reruns');
    const runs = { baseline: new Set(sides.baseline.run_ids), new: new Set(sides.new.run_ids) };
    for (const [index, one] of cases.entries()) {
      const at = `cases[${index}]`;
      for (const side of ['baseline', 'new'] as const)
        yield* trialFindings(one[side].trials, runs[side], `${at}.${side}.trials`);
      const { change, side_missing } = changeOf(one.baseline.trials, one.new.trials);
      if (one.change !== change) yield must(`${at}.change`, `must be "${change}" according to the trials`);
      else if (one.side_missing !== side_missing) {
        yield must(
          `${at}.side_missing`,
          side_missing ? `must be "${side_missing}"` : 'must be absent unless change is "missing"',
        );
      }
    }
  },
  breach: ({ cases, ...rest }) => ({
    ...rest,
    cases: cases.map(one => (one.change === 'same' ? { ...one, side_missing: 'new' } : one)),
  }),
});

/** Finds trials that are unknown, duplicate, omitted or mislabeled, which could change the verdict. */
function* trialFindings(trials: Comparison['cases'][number]['new']['trials'], runs: ReadonlySet<string>, at: string) {
  const seen = new Set<string>();
  for (const [number, { run_id, rerun, verdict, error_class }] of trials.entries()) {
    const place = `${at}[${number}]`;
    if (!runs.has(run_id)) yield must(`${place}.run_id`, 'is not a run of this side');
    if (verdict !== 'error' && error_class !== null)
      yield must(`${place}.error_class`, 'must be null unless verdict is "error"');
    if (seen.has(run_id)) yield must(`${place}.run_id`, 'is a duplicate');
    seen.add(run_id);
    if (rerun && !RERUN.test(run_id)) yield must(`${place}.rerun`, 'must be absent for a planned run');
  }
  if (trials.length === 0) return;
  for (const run of runs) {
    if (!seen.has(run) && !RERUN.test(run)) yield must(at, 'must have a trial for each planned run');
  }
}

const RERUN = /\.a\d+$/;

function rerunsIn(cases: Comparison['cases']): number {
  const trials = cases.flatMap(({ baseline, new: candidate }) => [...baseline.trials, ...candidate.trials]);
  return trials.filter(({ rerun }) => rerun).length;
}

export const CM10 = rule({
  id: 'CM10',
  title: 'Causes Cited',
  why: 'A cause without a reference to evidence is only an opinion.',
  asks: [
    'failing is a list, empty if no trial of new failed; each entry has name, and message and at (each may be null)',
    'divergence is null or has kind, baseline_at, new_at, says, confidence and cites',
    'kind is environment, policy, model, input, tool_choice, tool_arguments, tool_result, retrieval, output, runner, tool_order, tool_concurrency, tool_duplicate or tool_retry',
    'tool_order, tool_concurrency, tool_duplicate and tool_retry concern calls that both sides made; their confidence is never high',
    'confidence is high, medium or low; says is not blank and is at most 1,000 bytes',
    'baseline_at and new_at are null, or events[0], proposed_actions[0], proposed_actions, final_output, runner_failure or case',
    'cites is a list of such locations, prefixed with baseline: or new:, or of fields such as comparability.fields[0]',
    'baseline_at and new_at are cited unless null; a cited field exists; if kind is model, a field is cited',
  ],
  fields: ['cases[].failing', 'cases[].divergence'],
  reads: ['cases[].new', 'comparability'],
  *check({ cases, comparability }) {
    for (const [index, { failing, divergence, new: candidate }] of cases.entries()) {
      const at = `cases[${index}]`;
      if (failing.length > 0 && !candidate.trials.some(trial => standingOf(trial) === 'failed')) {
        yield must(`${at}.failing`, 'must be empty if no trial of new failed');
      }
      if (!divergence) continue;
      const { kind, confidence, cites, baseline_at, new_at, says } = divergence;
      if (confidence === 'high' && OF_COMMON_CALLS.has(kind)) {
        yield must(`${at}.divergence.confidence`, `must not be "high" for ${kind}`);
      }
      if (Buffer.byteLength(says) > SAYS_BYTES_MAX) {
        yield must(`${at}.divergence.says`, `must be at most ${SAYS_BYTES_MAX} bytes`);
      }
      if (baseline_at !== null && !cites.includes(`baseline:${baseline_at}`)) {
        yield must(`${at}.divergence.baseline_at`, 'must be among the cites');
      }
      if (new_at !== null && !cites.includes(`new:${new_at}`)) {
        yield must(`${at}.divergence.new_at`, 'must be among the cites');
      }
      if (kind === 'model' && !cites.some(cite => cite.startsWith('comparability.'))) {
        yield must(`${at}.divergence.cites`, 'must include the field that differs if kind is "model"');
      }
      for (const [number, cite] of cites.entries()) {
        const field = /^comparability\.fields\[(\d+)\]$/.exec(cite)?.[1];
        if (field !== undefined && Number(field) >= comparability.fields.length) {
          yield must(`${at}.divergence.cites[${number}]`, 'refers to a field that does not exist');
        }
      }
    }
  },
  breach: ({ cases, ...rest }) => ({
    ...rest,
    cases: cases.map(one => (one.divergence ? { ...one, divergence: { ...one.divergence, cites: [] } } : one)),
  }),
});

const OF_COMMON_CALLS: ReadonlySet<Divergence['kind']> = new Set([
  'tool_order',
  'tool_concurrency',
  'tool_duplicate',
  'tool_retry',
]);

export const SAYS_BYTES_MAX = 1_000;
