import { must, rulesFor } from '../rule.ts';
import type { Comparison, Divergence } from './shape.ts';
import { changeOf, standingOf } from './trial.ts';

const rule = rulesFor<Comparison>();

export const CM9 = rule({
  id: 'CM9',
  title: 'Change Follows From Trials',
  why: 'Whether a case got worse is a matter of what its trials show, and of nothing else.',
  asks: [
    'baseline and new of a case have trials, a list; each has run_id, which is among the run_ids of its side',
    'a trial has verdict, pass, fail or error, and output_hash, latency_ms, cost_usd and score, or null',
    'a trial without an answer may have failure: status, of HTTP, and latency_ms of its last attempt, or null',
    'rerun, if present, is true: the trial was asked again; answer_hash, if present, is a content hash',
    'run_id of a rerun ends in a dot, the letter a and its round',
    'no run_id stands twice among the trials of a case and side, and none that was planned is left out where there are trials',
    'again, if present, has sides, both or new, rounds, trials, cost_usd or null, stopped, max_trials, max_ms and perhaps max_cost_usd',
    'again has no more trials than max_trials, and no more than there are trials with rerun',
    'error_class is null where verdict is not error, and else a class, or null where a check could not be made',
    'passed is verdict pass; failed is fail, or error by timeout, http_error, invalid_json or schema_mismatch',
    'any other error says nothing, and a side that says nothing is missing: side_missing is baseline, new or both',
    'change is missing where a side is; else flaky where one side shows passed and failed',
    'else regressed where passed became failed, improved where failed became passed, and same where neither did',
    'side_missing is there only where change is missing',
  ],
  fields: ['cases[].change', 'cases[].side_missing', 'cases[].baseline', 'cases[].new', 'again'],
  reads: ['sides'],
  *check({ cases, sides, again }) {
    if (again && (again.trials > again.max_trials || again.trials > rerunsIn(cases)))
      yield must('again.trials', 'are more than were allowed or asked');
    const runs = { baseline: new Set(sides.baseline.run_ids), new: new Set(sides.new.run_ids) };
    for (const [index, one] of cases.entries()) {
      const at = `cases[${index}]`;
      for (const side of ['baseline', 'new'] as const) {
        for (const [number, { run_id, verdict, error_class }] of one[side].trials.entries()) {
          const place = `${at}.${side}.trials[${number}]`;
          if (!runs[side].has(run_id)) yield must(`${place}.run_id`, 'is no run of this side');
          if (verdict !== 'error' && error_class !== null) yield must(`${place}.error_class`, 'belongs to an error');
        }
      }
      for (const side of ['baseline', 'new'] as const)
        yield* trialFindings(one[side].trials, runs[side], `${at}.${side}.trials`);
      const { change, side_missing } = changeOf(one.baseline.trials, one.new.trials);
      if (one.change !== change) yield must(`${at}.change`, `must be "${change}" by what the trials show`);
      else if (one.side_missing !== side_missing) {
        yield must(`${at}.side_missing`, side_missing ? `must be "${side_missing}"` : 'belongs to a missing case');
      }
    }
  },
  breach: ({ cases, ...rest }) => ({
    ...rest,
    cases: cases.map(one => (one.change === 'same' ? { ...one, side_missing: 'new' } : one)),
  }),
});

/** Trials that were multiplied, left out or called reruns would move a verdict. */
function* trialFindings(trials: Comparison['cases'][number]['new']['trials'], runs: ReadonlySet<string>, at: string) {
  const seen = new Set<string>();
  for (const [number, { run_id, rerun }] of trials.entries()) {
    if (seen.has(run_id)) yield must(`${at}[${number}].run_id`, 'stands here twice');
    seen.add(run_id);
    if (rerun && !RERUN.test(run_id)) yield must(`${at}[${number}].rerun`, 'belongs to a run that was asked again');
  }
  if (trials.length === 0) return;
  for (const run of runs) {
    if (!seen.has(run) && !RERUN.test(run)) yield must(at, 'must have a trial of each planned run');
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
  why: 'A cause that points to nothing is an opinion.',
  asks: [
    'failing is a list, empty where no trial of new failed; each has name, and message and at, or null',
    'divergence is null or has kind, baseline_at, new_at, says, confidence and cites',
    'kind is environment, policy, model, input, tool_choice, tool_arguments, tool_result, retrieval, output, runner, tool_order, tool_concurrency, tool_duplicate or tool_retry',
    'tool_order, tool_concurrency, tool_duplicate and tool_retry are about calls that both sides made, and are never high',
    'confidence is high, medium or low; says is not blank and has at most 1,000 bytes',
    'baseline_at and new_at are null, or events[0], proposed_actions[0], proposed_actions, final_output, runner_failure or case',
    'cites is a list of such places, each after baseline: or new:, or of comparability.fields[0] and so on',
    'baseline_at and new_at, unless null, are among the cites; a field that is cited exists; model cites a field',
  ],
  fields: ['cases[].failing', 'cases[].divergence'],
  reads: ['cases[].new', 'comparability'],
  *check({ cases, comparability }) {
    for (const [index, { failing, divergence, new: candidate }] of cases.entries()) {
      const at = `cases[${index}]`;
      if (failing.length > 0 && !candidate.trials.some(trial => standingOf(trial) === 'failed')) {
        yield must(`${at}.failing`, 'must be empty where no trial of new failed');
      }
      if (!divergence) continue;
      const { kind, confidence, cites, baseline_at, new_at, says } = divergence;
      if (confidence === 'high' && OF_COMMON_CALLS.has(kind)) {
        yield must(`${at}.divergence.confidence`, `must not be "high" for ${kind}`);
      }
      if (Buffer.byteLength(says) > SAYS_BYTES_MAX) {
        yield must(`${at}.divergence.says`, `must have at most ${SAYS_BYTES_MAX} bytes`);
      }
      if (baseline_at !== null && !cites.includes(`baseline:${baseline_at}`)) {
        yield must(`${at}.divergence.baseline_at`, 'must be among the cites');
      }
      if (new_at !== null && !cites.includes(`new:${new_at}`)) {
        yield must(`${at}.divergence.new_at`, 'must be among the cites');
      }
      if (kind === 'model' && !cites.some(cite => cite.startsWith('comparability.'))) {
        yield must(`${at}.divergence.cites`, 'must name the field that differs for model');
      }
      for (const [number, cite] of cites.entries()) {
        const field = /^comparability\.fields\[(\d+)\]$/.exec(cite)?.[1];
        if (field !== undefined && Number(field) >= comparability.fields.length) {
          yield must(`${at}.divergence.cites[${number}]`, 'names a field that is not there');
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
