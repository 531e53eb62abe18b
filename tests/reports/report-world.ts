import {
  type ComparedCase,
  type Comparison,
  type Divergence,
  discordantIn,
} from '../../src/contracts/comparison/index.ts';
import type { Assertion, Evaluation } from '../../src/contracts/evaluation/index.ts';
import type { ReportedPair, ReportInput, RunReportInput, ReportSide } from '../../src/reports/report-input.ts';
import { artifact, causeOf, hex, idAt, latency, severityAt, suiteCaseAt, tagsAt, topic } from './report-agent.ts';

type Change = ComparedCase['change'];
type Trial = ComparedCase['new']['trials'][number];

/** A support agent before and after a prompt change; the same numbers give the same cases. */
export interface World {
  readonly cases: number;
  readonly regressed?: number;
  readonly improved?: number;
  readonly flaky?: number;
  readonly missing?: number;
  readonly trials?: number;
}

export function reportWorld(world: World): ReportInput {
  const { cases: total, regressed = 0, improved = 0, flaky = 0, missing = 0, trials = 1 } = world;
  const kinds: Change[] = [
    ...repeat<Change>('regressed', regressed),
    ...repeat<Change>('flaky', flaky),
    ...repeat<Change>('missing', missing),
    ...repeat<Change>('improved', improved),
  ];
  // Spread over the suite.
  const step = Math.max(1, Math.floor(total / Math.max(1, kinds.length)));
  const kindAt = new Map(kinds.map((kind, index) => [index * step + (index % Math.min(step, 6)), kind]));
  const cases = Array.from({ length: total }, (_, index) => comparedCase(index, kindAt.get(index) ?? 'same', trials));
  const numbers = (kind: Change): number =>
    count(
      cases.map(({ change }) => change),
      kind,
    );
  const broke = numbers('regressed');
  const verdict = total === 0 ? 'not_enough_evidence' : broke > 0 ? 'regression' : 'no_regression';
  const side = (name: ReportSide) => ({
    source: 'runs' as const,
    run_ids: Array.from({ length: trials }, (_, trial) => runId(name, trial)),
    seals: Array.from({ length: trials }, (_, trial) => `sha256:${hex(trial + (name === 'new' ? 900 : 300), 64)}`),
    trials,
    environment_hash: `sha256:${hex(41, 64)}`,
    target_sha256: `sha256:${hex(name === 'new' ? 8 : 7, 64)}`,
    cases_sha256: `sha256:${hex(5, 64)}`,
  });
  const comparison: Comparison = {
    schema_version: 'comparison.v1',
    comparison_id: 'cmp_20260106_121500_4f1c09ab77de',
    generated_at: '2026-01-06T12:15:00.000Z',
    verdict,
    reason: {
      regression: `${broke} of ${total.toLocaleString('en-US')} cases passed on baseline and fail on new.`,
      no_regression: 'No case that passed on baseline fails on new.',
      not_enough_evidence: 'There is no case to compare.',
    }[verdict],
    exit_code: ({ regression: 1, no_regression: 0, not_enough_evidence: 3 } as const)[verdict],
    gate: { mode: 'strict', tolerances: {}, breaches: [] },
    comparability:
      broke > 0
        ? {
            state: 'drift',
            fields: [
              { field: 'target', baseline: 'http://127.0.0.1:8787', new: 'http://127.0.0.1:8788' },
              { field: 'runner.node_version', baseline: 'v20.19.0', new: 'v22.12.0' },
            ],
          }
        : { state: 'comparable', fields: [] },
    sides: { baseline: side('baseline'), new: side('new') },
    summary: {
      cases: total,
      regressed: broke,
      improved: numbers('improved'),
      same: numbers('same'),
      flaky: numbers('flaky'),
      missing: numbers('missing'),
    },
    statistics: {
      mcnemar: mcnemarOf(cases),
      metrics:
        total === 0
          ? []
          : [
              {
                name: 'latency_ms',
                pairs: total,
                baseline: { mean: 912.4, p50: 803, p95: 2_104 },
                new: { mean: 1_031.8, p50: 874, p95: 2_611 },
                difference: { mean: 119.4, low: 96.1, high: 142.7 },
              },
              {
                name: 'cost_usd',
                pairs: total,
                baseline: { mean: 0.00412, p50: 0.0037, p95: 0.0088 },
                new: { mean: 0.00398, p50: 0.0035, p95: 0.0086 },
                difference: { mean: -0.00014, low: -0.00021, high: -0.00006 },
              },
              {
                name: 'score',
                pairs: total,
                baseline: { mean: 0.982, p50: 1, p95: 1 },
                new: { mean: 0.957, p50: 1, p95: 1 },
                difference: { mean: -0.025, low: -0.034, high: -0.017 },
              },
            ],
      more_trials: null,
    },
    cases,
  };
  return {
    comparison,
    targets: { baseline: 'http://127.0.0.1:8787', new: 'http://127.0.0.1:8788' },
    pairs: id => pairOf(Number(id.replace(/^.*-/, '')) - 1, cases),
  };
}

/** The same comparison with a document for every trial. Trials after the first answer a little differently. */
export function withTrials(input: ReportInput): ReportInput {
  return {
    ...input,
    trial: (id, side, number) => {
      const first = input.pairs(id)[side];
      if (!first || number === 1) return first;
      const started_at = `2026-01-06T12:${String(number).padStart(2, '0')}:30.000Z`;
      const attempts = first.attempts?.map(attempt => ({ ...attempt, started_at }));
      const said = first.final_output?.content;
      const content = `${typeof said === 'string' ? said : ''}\n\nTrial ${number} of ${side}.`;
      return {
        ...first,
        ...(attempts && { attempts }),
        // The second trial gives the same answer as the first.
        ...(number > 2 && first.final_output && { final_output: { content_type: 'text' as const, content } }),
      };
    },
  };
}

/** The same data, from the candidate alone. */
export function runWorld(world: World): RunReportInput {
  const { comparison, pairs } = reportWorld(world);
  const judged = comparison.cases.map(({ case_id, new: { trials }, failing }) => {
    const [trial] = trials;
    const verdict = trial?.verdict ?? 'error';
    const held = { name: 'max_latency_ms', message: null, at: null, status: 'pass' } as const;
    const broken = verdict === 'fail' ? failing : [];
    const assertions: Assertion[] =
      verdict === 'error'
        ? []
        : [
            ...broken.map(({ name, message, at }) => ({
              name: name as Assertion['name'],
              message,
              at,
              status: 'fail' as const,
            })),
            held,
          ];
    return {
      case_id,
      case_sha256: `sha256:${hex(77, 64)}`,
      verdict,
      error_class: trial ? trial.error_class : ('missing' as const),
      assertions,
      metrics: {
        latency_ms: trial?.latency_ms ?? null,
        attempts: trial ? 1 : 0,
        cost_usd: trial?.cost_usd ?? null,
        tokens: trial?.tokens ?? null,
        steps: trial ? 2 : 0,
        score: assertions.length === 0 ? null : 1 / assertions.length,
      },
      output_hash: trial?.output_hash ?? null,
    };
  });
  const having = (verdict: string): number => judged.filter(one => one.verdict === verdict).length;
  const evaluation: Evaluation = {
    schema_version: 'evaluation.v1',
    run_id: runId('new', 0),
    version: 'new',
    generated_at: '2026-01-06T12:10:00.000Z',
    judge_version: '0.1.0',
    seal_sha256: `sha256:${hex(900, 64)}`,
    cases_sha256: `sha256:${hex(5, 64)}`,
    summary: {
      total: judged.length,
      passed: having('pass'),
      failed: having('fail'),
      errors: having('error'),
      unjudged: 0,
    },
    cases: judged,
  };
  return {
    evaluation,
    run: {
      schema_version: 'run.v1',
      run_id: runId('new', 0),
      version: 'new',
      generated_at: '2026-01-06T12:09:00.000Z',
      base_url: 'http://127.0.0.1:8788',
      cases_path: 'cases.yaml',
      out_dir: '.proctor/runs',
      selected_case_ids: judged.map(({ case_id }) => case_id),
      runner_version: '0.1.0',
    },
    pairs,
    *cases() {
      for (let index = 0; index < judged.length; index++) yield suiteCaseAt(index);
    },
  };
}

function comparedCase(index: number, change: Change, trials: number): ComparedCase {
  const isTimeout = change === 'regressed' && causeOf(index) === 'timeout';
  const verdicts = (side: ReportSide, trial: number): Trial['verdict'] => {
    if (change === 'regressed') return side === 'baseline' ? 'pass' : isTimeout ? 'error' : 'fail';
    if (change === 'improved') return side === 'baseline' ? 'fail' : 'pass';
    if (change === 'flaky') return side === 'new' && trial % 2 === 0 ? 'fail' : 'pass';
    return 'pass';
  };
  const side = (name: ReportSide) => ({
    trials:
      change === 'missing' && name === 'new'
        ? []
        : Array.from({ length: trials }, (_, trial) =>
            trialOf(index, name, trial, verdicts(name, trial), isTimeout && name === 'new'),
          ),
  });
  return {
    case_id: idAt(index),
    title: suiteCaseAt(index).title ?? null,
    suite: topic(index).suite,
    tags: tagsAt(index),
    severity: severityAt(index),
    change,
    ...(change === 'missing' && { side_missing: 'new' as const }),
    baseline: side('baseline'),
    new: side('new'),
    failing: (change === 'regressed' && !isTimeout) || change === 'flaky' ? failingOf(index) : [],
    divergence: change === 'regressed' ? divergenceOf(index) : null,
  };
}

function failingOf(index: number): ComparedCase['failing'] {
  if (causeOf(index) === 'tool_choice') {
    return [{ name: 'tool_sequence', message: 'The tools orders.get were not called in this order.', at: 'events[1]' }];
  }
  return [
    { name: 'contains', message: 'The answer does not contain “EUR”.', at: 'final_output.content' },
    { name: 'action_required', message: 'No action issue_refund was proposed.', at: null },
  ];
}

function divergenceOf(index: number): Divergence {
  const cause = causeOf(index);
  const at = { tool_arguments: 1, output: 3, tool_choice: 1, timeout: 0, html: 3 }[cause];
  const cited = cause === 'timeout' ? ['new:runner_failure'] : [`baseline:events[${at}]`, `new:events[${at}]`];
  const says = {
    tool_arguments:
      'The candidate called “orders.get” with different arguments: “customer_id”, “order_id”. Likely the cause, because the failure (contains) may follow from it.',
    output:
      'After the same steps, the text of the final output differs. Very likely the cause, because the failed expectation (contains) is about it.',
    tool_choice:
      'The candidate called “kb.search” where the baseline called “orders.get”. Very likely the cause, because the failed expectation (tool_sequence) is about it.',
    timeout:
      'The candidate failed with timeout, but the baseline answered. Certain, because a case without an answer cannot pass.',
    html: 'After the same steps, the text of the final output differs. Very likely the cause, because the failed expectation (contains) is about it.',
  }[cause];
  const kind = (
    {
      tool_arguments: 'tool_arguments',
      output: 'output',
      tool_choice: 'tool_choice',
      timeout: 'runner',
      html: 'output',
    } as const
  )[cause];
  return {
    kind,
    baseline_at: cause === 'timeout' ? null : `events[${at}]`,
    new_at: cause === 'timeout' ? null : `events[${at}]`,
    says,
    confidence: cause === 'output' ? 'medium' : cause === 'timeout' ? 'low' : 'high',
    cites: cited,
  };
}

function trialOf(index: number, side: ReportSide, trial: number, verdict: Trial['verdict'], isTimeout: boolean): Trial {
  return {
    run_id: runId(side, trial),
    verdict,
    error_class: isTimeout ? 'timeout' : null,
    output_hash: isTimeout ? null : `sha256:${hex(index * 2 + (side === 'new' && verdict === 'fail' ? 1 : 0), 64)}`,
    latency_ms: isTimeout ? 15_000 : latency(index, side, trial),
    cost_usd: isTimeout ? null : Math.round(latency(index, side, 7) * (side === 'new' ? 3.9 : 4.4)) / 1e6,
    score: verdict === 'pass' ? 1 : verdict === 'fail' ? 0.5 : null,
    ...(!isTimeout && { tokens: 1_240 + (index % 50), input_tokens: 1_100, output_tokens: 140 + (index % 50) }),
  };
}

const runId = (side: ReportSide, trial: number): string =>
  `suite_20260106_12${side === 'new' ? '09' : '01'}00_${side === 'new' ? '7c2e91d0a4b8' : '30fa5512cc6e'}${trial === 0 ? '' : `.${trial + 1}`}`;

function pairOf(index: number, cases: readonly ComparedCase[]): ReportedPair {
  const change = cases[index]?.change ?? 'same';
  return {
    case: suiteCaseAt(index),
    runIds: { baseline: runId('baseline', 0), new: runId('new', 0) },
    baseline: artifact(index, 'baseline', 'same'),
    ...(change !== 'missing' && { new: artifact(index, 'new', change) }),
  };
}

/** The probability of a split at least as uneven if both outcomes are equally likely. */
function mcnemarOf(cases: readonly ComparedCase[]) {
  const pairs = cases.map(({ baseline, new: fresh }) => discordantIn(baseline.trials, fresh.trials));
  const broke = pairs.reduce((sum, pair) => sum + pair.broke, 0);
  const mended = pairs.reduce((sum, pair) => sum + pair.mended, 0);
  let term = 0.5 ** (broke + mended);
  let tail = 0;
  for (let k = 0; k <= Math.min(broke, mended); k++) {
    tail += term;
    term *= (broke + mended - k) / (k + 1);
  }
  return { broke, mended, p_value: Math.min(1, 2 * tail) };
}

const repeat = <Value>(value: Value, times: number): Value[] => Array.from({ length: times }, () => value);
const count = <Value>(values: readonly Value[], wanted: Value): number =>
  values.filter(value => value === wanted).length;
