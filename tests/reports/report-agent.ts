import type { CaseArtifact, Event } from '../../src/contracts/artifacts/index.ts';
import type { ComparedCase } from '../../src/contracts/comparison/index.ts';
import type { SuiteCase } from '../../src/contracts/suite/index.ts';
import type { ReportSide } from '../../src/reports/report-input.ts';

type Change = ComparedCase['change'];

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
  {
    suite: 'shipping',
    title: 'The status of a parcel is reported',
    ask: 'Where is my parcel {o}?',
    doc: 'policy/shipping',
  },
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

export const idAt = (index: number): string => `${topic(index).suite}-${String(index + 1).padStart(5, '0')}`;
export const topic = (index: number): (typeof TOPICS)[number] =>
  TOPICS[index % TOPICS.length] as (typeof TOPICS)[number];
const order = (index: number): string => `A-${1_000 + index}`;

export function suiteCaseAt(index: number): SuiteCase {
  const { suite, title, ask } = topic(index);
  return {
    schema_version: 'suite-case.v1',
    id: idAt(index),
    title: `${title} (${order(index)})`,
    suite,
    input: { user: ask.replace('{o}', order(index)), context: { locale: 'en', customer: `c-${index % 97}` } },
    metadata: { tags: tagsAt(index), severity: severityAt(index) },
    expected: { contains: ['EUR'], tool_sequence: ['orders.get'], max_latency_ms: 15_000 },
  };
}

export const tagsAt = (index: number): string[] => (index % 10 === 0 ? ['money', 'night'] : ['money']);
export const severityAt = (index: number): string => (index % 4 === 0 ? 'high' : 'low');

/** The cause of each regressed case, in rotation. */
const CAUSES = ['tool_arguments', 'output', 'tool_choice', 'timeout', 'html'] as const;
export const causeOf = (index: number): (typeof CAUSES)[number] =>
  CAUSES[index % CAUSES.length] as (typeof CAUSES)[number];

/** Most answers are fast and some are slow. */
export function latency(index: number, side: ReportSide, trial: number): number {
  const [a, b] = [unit(index * 31 + trial * 7 + (side === 'new' ? 3 : 1)), unit(index * 17 + trial * 13 + 5)];
  const normal = Math.sqrt(-2 * Math.log(1 - a)) * Math.cos(2 * Math.PI * b);
  return Math.round((side === 'new' ? 880 : 800) * Math.exp(0.42 * normal) * 10) / 10;
}

/** A deterministic pseudo-random number from 0 to 1. */
function unit(seed: number): number {
  let value = Math.imul(seed ^ 0x9e3779b9, 0x85ebca6b);
  value = Math.imul(value ^ (value >>> 13), 0xc2b2ae35);
  return ((value ^ (value >>> 16)) >>> 0) / 2 ** 32;
}

export const hex = (seed: number, length: number): string =>
  Array.from({ length }, (_, index) => Math.floor(unit(seed * 64 + index) * 16).toString(16)).join('');

export function artifact(index: number, version: ReportSide, change: Change): CaseArtifact {
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

function eventsOf(index: number, version: ReportSide, cause: string | undefined, answer: string): Event[] {
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
