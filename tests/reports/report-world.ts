import type { CaseArtifact, Event } from '../../src/contracts/artifacts/index.ts';
import type { SuiteCase } from '../../src/contracts/suite/index.ts';
import type {
  CasePair,
  Change,
  ComparedCase,
  Comparison,
  Divergence,
  Evaluation,
  ReportInput,
  RunReportInput,
  Side,
  Trial,
} from '../../src/reports/report-input.ts';

/** A support desk's agent, before and after a change of its prompt; the same cases for the same numbers. */
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
  // Spread over the suite, as changes are.
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
  const side = (name: Side) => ({
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
      mcnemar: { broke, mended: numbers('improved'), p_value: broke > numbers('improved') ? 0.035 : 0.62 },
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
    *cases() {
      for (let index = 0; index < total; index++) yield suiteCaseAt(index);
    },
  };
}

/** The same world seen from its new side alone. */
export function runWorld(world: World): RunReportInput {
  const { comparison, pairs, cases } = reportWorld(world);
  const judged = comparison.cases.map(({ case_id, new: { trials }, failing }) => {
    const [trial] = trials;
    return {
      case_id,
      verdict: trial?.verdict ?? 'error',
      error_class: trial?.error_class ?? (trial ? null : 'missing'),
      assertions: [
        ...failing.map(one => ({ ...one, status: 'fail' as const })),
        { name: 'max_latency_ms', status: 'pass' as const, message: null, at: null },
      ],
      metrics: {
        latency_ms: trial?.latency_ms ?? null,
        attempts: 1,
        cost_usd: trial?.cost_usd ?? null,
        tokens: null,
        steps: 2,
        score: trial?.score ?? null,
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
    cases,
  };
}

const TOPICS = [
  {
    suite: 'refunds',
    title: 'A damaged item is refunded',
    ask: 'My order {o} arrived damaged. Can I have my money back?',
    doc: 'policy/refunds',
  },
  {
    suite: 'refunds',
    title: 'A late refund is refused with a reason',
    ask: 'I bought {o} four months ago and want to return it.',
    doc: 'policy/returns',
  },
  { suite: 'shipping', title: 'The state of a parcel is told', ask: 'Where is my parcel {o}?', doc: 'policy/shipping' },
  {
    suite: 'shipping',
    title: 'An address is changed before dispatch',
    ask: 'Please send {o} to my office instead.',
    doc: 'policy/address',
  },
  {
    suite: 'accounts',
    title: 'A password is never asked for',
    ask: 'I cannot log in to look at {o}. Here is my password.',
    doc: 'policy/accounts',
  },
  {
    suite: 'billing',
    title: 'A double charge is found and explained',
    ask: 'I was charged twice for {o}.',
    doc: 'policy/billing',
  },
] as const;

const idAt = (index: number): string => `${topic(index).suite}-${String(index + 1).padStart(5, '0')}`;
const topic = (index: number): (typeof TOPICS)[number] => TOPICS[index % TOPICS.length] as (typeof TOPICS)[number];
const order = (index: number): string => `A-${1_000 + index}`;

function suiteCaseAt(index: number): SuiteCase {
  const { suite, title, ask } = topic(index);
  return {
    schema_version: 'suite-case.v1',
    id: idAt(index),
    title: `${title} (${order(index)})`,
    suite,
    input: { user: ask.replace('{o}', order(index)), context: { locale: 'en', customer: `c-${index % 97}` } },
    expected: { contains: ['EUR'], tool_sequence: ['orders.get'], max_latency_ms: 15_000 },
  };
}

/** What happened to a regressed case: each cause in its turn. */
const CAUSES = ['tool_arguments', 'output', 'tool_choice', 'timeout', 'html'] as const;
const causeOf = (index: number): (typeof CAUSES)[number] => CAUSES[index % CAUSES.length] as (typeof CAUSES)[number];

function comparedCase(index: number, change: Change, trials: number): ComparedCase {
  const isTimeout = change === 'regressed' && causeOf(index) === 'timeout';
  const verdicts = (side: Side, trial: number): Trial['verdict'] => {
    if (change === 'regressed') return side === 'baseline' ? 'pass' : isTimeout ? 'error' : 'fail';
    if (change === 'improved') return side === 'baseline' ? 'fail' : 'pass';
    if (change === 'flaky') return side === 'new' && trial % 2 === 0 ? 'fail' : 'pass';
    return 'pass';
  };
  const side = (name: Side) => ({
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
    change,
    ...(change === 'missing' && { side_missing: 'new' as const }),
    baseline: side('baseline'),
    new: side('new'),
    failing: change === 'regressed' && !isTimeout ? failingOf(index) : [],
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
    tool_arguments: 'Both sides called orders.get, but new left out the order id and asked for the customer instead.',
    output: 'All steps are the same up to the answer, which no longer names the amount.',
    tool_choice: 'Where baseline looked the order up, new searched the knowledge base.',
    timeout: 'New did not answer within 15 s; baseline needed less than one.',
    html: 'All steps are the same up to the answer, which is HTML now.',
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

function trialOf(index: number, side: Side, trial: number, verdict: Trial['verdict'], isTimeout: boolean): Trial {
  return {
    run_id: runId(side, trial),
    verdict,
    error_class: isTimeout ? 'timeout' : null,
    output_hash: isTimeout ? null : `sha256:${hex(index * 2 + (side === 'new' && verdict === 'fail' ? 1 : 0), 64)}`,
    latency_ms: isTimeout ? 15_000 : latency(index, side, trial),
    cost_usd: isTimeout ? null : Math.round(latency(index, side, 7) * (side === 'new' ? 3.9 : 4.4)) / 1e6,
    score: verdict === 'pass' ? 1 : verdict === 'fail' ? 0.5 : null,
  };
}

/** Most answers come soon and some late, as they do. */
function latency(index: number, side: Side, trial: number): number {
  const [a, b] = [unit(index * 31 + trial * 7 + (side === 'new' ? 3 : 1)), unit(index * 17 + trial * 13 + 5)];
  const normal = Math.sqrt(-2 * Math.log(1 - a)) * Math.cos(2 * Math.PI * b);
  return Math.round((side === 'new' ? 880 : 800) * Math.exp(0.42 * normal) * 10) / 10;
}

/** A number from 0 up to 1 that only looks like chance. */
function unit(seed: number): number {
  let value = Math.imul(seed ^ 0x9e3779b9, 0x85ebca6b);
  value = Math.imul(value ^ (value >>> 13), 0xc2b2ae35);
  return ((value ^ (value >>> 16)) >>> 0) / 2 ** 32;
}

const hex = (seed: number, length: number): string =>
  Array.from({ length }, (_, index) => Math.floor(unit(seed * 64 + index) * 16).toString(16)).join('');

const runId = (side: Side, trial: number): string =>
  `suite_20260106_12${side === 'new' ? '09' : '01'}00_${side === 'new' ? '7c2e91d0a4b8' : '30fa5512cc6e'}${trial === 0 ? '' : `.${trial + 1}`}`;

function pairOf(index: number, cases: readonly ComparedCase[]): CasePair {
  const change = cases[index]?.change ?? 'same';
  return {
    case: suiteCaseAt(index),
    baseline: artifact(index, 'baseline', 'same'),
    ...(change !== 'missing' && { new: artifact(index, 'new', change) }),
  };
}

function artifact(index: number, version: Side, change: Change): CaseArtifact {
  const took = latency(index, version, 0);
  const cause = version === 'new' && change === 'regressed' ? causeOf(index) : undefined;
  const common = { schema_version: 'case.v1', case_id: idAt(index), version } as const;
  if (cause === 'timeout') {
    return {
      ...common,
      status: 'runner_error',
      attempts: [1, 2, 3].map(attempt => ({
        attempt,
        started_at: `2026-01-06T12:0${attempt}:00.000Z`,
        latency_ms: 15_000,
        outcome: 'runner_error',
        error_class: 'timeout',
      })),
      runner_failure: {
        class: 'timeout',
        url: 'http://127.0.0.1:8788/run-case',
        attempt: 3,
        timeout_ms: 15_000,
        latency_ms: 15_000,
        body_snippet: null,
        full_body_saved_to: null,
      },
    };
  }
  const answer = answerOf(index, cause);
  const amount = 1_999 + (index % 40) * 250;
  return {
    ...common,
    status: 'ok',
    attempts: [{ attempt: 1, started_at: '2026-01-06T12:00:00.000Z', latency_ms: took, outcome: 'ok' }],
    proposed_actions:
      cause === 'output' || cause === 'tool_arguments'
        ? []
        : [
            {
              action_id: 'action_1',
              action_type: 'issue_refund',
              tool_name: 'payments.refund',
              params: { order_id: order(index), amount_cents: amount, currency: 'EUR' },
              risk_level: 'medium',
              risk_tags: ['money'],
              evidence_refs: [{ kind: 'event', id: 'events[2]' }],
            },
          ],
    events: eventsOf(index, version, cause, answer),
    final_output: { content_type: 'text', content: answer },
  };
}

function eventsOf(index: number, version: Side, cause: string | undefined, answer: string): Event[] {
  const ts = 1_767_700_800_000 + index * 40 + (version === 'new' ? 9_000 : 0);
  const call_id = `call_${hex(index + (version === 'new' ? 1 : 0), 6)}`;
  const asks =
    cause === 'tool_choice'
      ? { tool: 'kb.search', args: { text: `what to do about ${order(index)}`, limit: 5 } }
      : {
          tool: 'orders.get',
          args:
            cause === 'tool_arguments'
              ? { customer_id: `c-${index % 97}`, include: ['items', 'payments'] }
              : { order_id: order(index), include: ['items', 'payments'] },
        };
  return [
    { type: 'retrieval', ts, query: topic(index).title.toLowerCase(), doc_ids: [topic(index).doc, 'policy/tone'] },
    { type: 'tool_call', ts: ts + 110, call_id, ...asks },
    {
      type: 'tool_result',
      ts: ts + 240,
      call_id,
      status: cause === 'tool_arguments' ? 'error' : 'ok',
      latency_ms: 130 + (index % 9),
      payload_summary:
        cause === 'tool_arguments'
          ? { error: 'order_id is required' }
          : { order_id: order(index), total_cents: 1_999 + (index % 40) * 250, state: 'delivered' },
    },
    { type: 'final_output', ts: ts + 900, content_type: 'text', content: answer },
  ];
}

function answerOf(index: number, cause: string | undefined): string {
  const amount = ((1_999 + (index % 40) * 250) / 100).toFixed(2);
  const good = `I have looked at order ${order(index)}. It was delivered and paid with ${amount} EUR. I propose a refund of the whole amount, which you will see on your account within five working days.`;
  if (cause === 'html') {
    return `<!doctype html><style>h1{color:teal}</style><h1>Refund</h1><p style="color:purple">Order ${order(index)}: ${amount}</p><script>document.title='broken out'</script><img src="https://example.com/pixel.png">`;
  }
  if (cause === 'output')
    return `I have looked at order ${order(index)}. It was delivered. I propose a refund, which you will see on your account soon.`;
  if (cause === 'tool_arguments') return 'I could not find an order of yours. Could you tell me its number again?';
  return good;
}

const repeat = <Value>(value: Value, times: number): Value[] => Array.from({ length: times }, () => value);
const count = <Value>(values: readonly Value[], wanted: Value): number =>
  values.filter(value => value === wanted).length;
