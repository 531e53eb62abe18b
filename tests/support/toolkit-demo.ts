/**
 * A demo in the form of agent-qa-toolkit, from which seed 004 comes: one address serves both versions of an agent that
 * omits risk_tags and writes id for doc_id. Its rules judge the raw replies, without any of Proctor's code.
 */
import { Agent, json } from '../run/suite/agent.ts';

type Json = Record<string, unknown>;
type Side = 'baseline' | 'new';

export interface DemoCase {
  readonly id: string;
  readonly input: { readonly user: string };
  readonly expected: {
    readonly action_required?: readonly string[];
    readonly evidence_required_for_actions?: true;
    readonly tool_required?: readonly string[];
    readonly tool_sequence?: readonly string[];
    readonly retrieval_required?: { readonly doc_ids: readonly string[] };
    readonly must_include?: readonly string[];
    readonly must_not_include?: readonly string[];
    readonly json_schema?: { readonly required: readonly string[]; readonly [key: string]: unknown };
  };
}

interface DemoReply {
  readonly proposed_actions: readonly Json[];
  readonly events: readonly Json[];
  readonly final_output: { readonly content_type: 'text' | 'json'; readonly content: string | Json };
}

/** Serves the replies of both versions. */
export function demoAgent(): Agent {
  const behaviours = Object.keys(REPLIES.baseline).map(id => [
    id,
    (seen: { body: Json }, response: Parameters<typeof json>[0]) => {
      const version = seen.body['version'] as Side;
      json(response, { case_id: id, version, workflow_id: 'front_desk_v1', ...REPLIES[version][id] });
    },
  ]);
  return new Agent(Object.fromEntries(behaviours) as ConstructorParameters<typeof Agent>[0]);
}

/** The cases that pass in the baseline and fail in the new version, by the rules of the seed. */
export function regressionsIn(cases: readonly DemoCase[]): string[] {
  const passesIn = (side: Side, { id, expected }: DemoCase): boolean =>
    passes(expected, REPLIES[side][id] as DemoReply);
  return cases.filter(one => passesIn('baseline', one) && !passesIn('new', one)).map(({ id }) => id);
}

function passes(expected: DemoCase['expected'], { proposed_actions, events, final_output }: DemoReply): boolean {
  const { content } = final_output;
  const text = (typeof content === 'string' ? content : JSON.stringify(content)).toLowerCase();
  const called = events.filter(({ type }) => type === 'tool_call').map(({ tool }) => tool);
  const retrieved = new Set(events.flatMap(({ doc_ids }) => (doc_ids as string[] | undefined) ?? []));
  const results = new Set(events.filter(({ type }) => type === 'tool_result').map(({ call_id }) => call_id));
  const isBacked = ({ risk_level, evidence_refs }: Json): boolean =>
    risk_level === 'low' ||
    (evidence_refs as Json[]).some(({ call_id, id }) => results.has(call_id) || retrieved.has(String(id)));
  const first = called.slice(0, expected.tool_sequence?.length);
  return (
    (expected.action_required ?? []).every(type => proposed_actions.some(action => action['action_type'] === type)) &&
    (expected.evidence_required_for_actions !== true || proposed_actions.every(isBacked)) &&
    (expected.tool_required ?? []).every(tool => called.includes(tool)) &&
    (expected.tool_sequence ?? []).every((tool, index) => first[index] === tool) &&
    (expected.retrieval_required?.doc_ids ?? []).every(id => retrieved.has(id)) &&
    (expected.must_include ?? []).every(words => text.includes(words.toLowerCase())) &&
    !(expected.must_not_include ?? []).some(words => text.includes(words.toLowerCase())) &&
    (expected.json_schema?.required ?? []).every(key => typeof content === 'object' && Object.hasOwn(content, key))
  );
}

const call = (call_id: string, tool: string, args: Json = {}): Json => ({
  type: 'tool_call',
  ts: 1,
  call_id,
  tool,
  args,
});

const result = (call_id: string, payload_summary: Json, status = 'ok'): Json => ({
  type: 'tool_result',
  ts: 2,
  call_id,
  status,
  latency_ms: 120,
  payload_summary,
});

const retrieval = (query: string, ...doc_ids: string[]): Json => ({ type: 'retrieval', ts: 3, query, doc_ids });

/** An action as the demo writes it: with a target, which the contract does not know, and without risk_tags. */
const action = (action_type: string, tool_name: string, risk_level: string, evidence_refs: Json[]): Json => ({
  action_id: `a-${action_type}`,
  action_type,
  tool_name,
  target: { type: 'booking' },
  params: {},
  risk_level,
  evidence_refs,
});

const byResult = (call_id: string): Json => ({ kind: 'tool_result', call_id });
const byDocument = (id: string): Json => ({ kind: 'retrieval_doc', id });

function reply(content: string | Json, events: Json[], proposed_actions: Json[]): DemoReply {
  const output = { content_type: typeof content === 'string' ? 'text' : 'json', content } as const;
  return { proposed_actions, final_output: output, events: [...events, { type: 'final_output', ts: 9, ...output }] };
}

const createBooking = [call('c2', 'bookings.create'), result('c2', { booking: 'B-7' })];
const findGuest = [call('c1', 'guests.find'), result('c1', { guest: 'G-4' })];

const REPLIES: Record<Side, Readonly<Record<string, DemoReply>>> = {
  baseline: {
    'booking-json': reply({ action: 'book', room: '12', nights: 2 }, createBooking, [
      action('book', 'bookings.create', 'low', []),
    ]),
    'guest-first': reply(
      'Booked room 12 as B-7.',
      [...findGuest, ...createBooking],
      [action('book', 'bookings.create', 'medium', [byResult('c1')])],
    ),
    'late-checkout': reply(
      'A late checkout costs half a night.',
      [retrieval('late checkout', 'policy-late-v2', 'faq-stay')],
      [action('answer', 'none', 'low', [byDocument('policy-late-v2')])],
    ),
    'water-leak': reply(
      'An incident ticket T-31 is open.',
      [retrieval('leak', 'incident-plan'), call('c3', 'tickets.create'), result('c3', { ticket: 'T-31' })],
      [action('open_ticket', 'tickets.create', 'high', [byDocument('incident-plan')])],
    ),
    'key-card': reply(
      'The old key card is blocked.',
      [call('c4', 'cards.block'), result('c4', { card: 'K-2' })],
      [action('block_card', 'cards.block', 'high', [byResult('c4')])],
    ),
    upgrade: reply(
      'You get a suite.',
      [retrieval('upgrade', 'policy-upgrade')],
      [action('upgrade', 'rooms.assign', 'medium', [byDocument('policy-upgrade')])],
    ),
    'apology-mail': reply(
      { subject: 'Your stay', body: 'We apologize for the noise.' },
      [call('c5', 'mail.send'), result('c5', { message: 'M-1' })],
      [action('send_mail', 'mail.send', 'low', [])],
    ),
    breakfast: reply(
      'Breakfast is served from 7 to 10.',
      [retrieval('breakfast', 'hours-v3')],
      [action('answer', 'none', 'low', [byDocument('hours-v3')])],
    ),
    deposit: reply(
      'The deposit is charged.',
      [...findGuest, call('c6', 'payments.charge'), result('c6', { charge: 'P-9' })],
      [action('charge', 'payments.charge', 'medium', [byResult('c1')])],
    ),
    'spa-hours': reply(
      'The spa closes at 9.',
      [retrieval('spa', 'hours-v3')],
      [action('answer', 'none', 'low', [byDocument('hours-v3')])],
    ),
    'status-note': reply('A draft is ready.', [], []),
  },
  new: {
    'booking-json': reply({ action: 'book', room: '12' }, createBooking, [
      action('book', 'bookings.create', 'low', []),
    ]),
    'guest-first': reply('Booked room 12 as B-7.', createBooking, [action('book', 'bookings.create', 'medium', [])]),
    'late-checkout': reply(
      'A late checkout may cost something.',
      [retrieval('late checkout', 'faq-stay')],
      [action('answer', 'none', 'low', [byDocument('faq-stay')])],
    ),
    'water-leak': reply(
      'I reported the incident.',
      [retrieval('leak', 'incident-plan')],
      [action('answer', 'none', 'low', [byDocument('incident-plan')])],
    ),
    'key-card': reply(
      'The old key card is blocked.',
      [call('c4', 'cards.block'), result('c4', { card: 'K-2' })],
      [action('block_card', 'cards.block', 'high', [])],
    ),
    upgrade: reply(
      'You get a suite.',
      [retrieval('upgrade', 'policy-upgrade')],
      [action('upgrade', 'rooms.assign', 'medium', [])],
    ),
    'apology-mail': reply(
      { subject: 'Your stay', body: 'There was noise.' },
      [call('c5', 'mail.send'), result('c5', { message: 'M-2' })],
      [action('send_mail', 'mail.send', 'low', [])],
    ),
    breakfast: reply(
      'Breakfast is served from 7 to 11.',
      [retrieval('breakfast', 'hours-v3')],
      [action('answer', 'none', 'low', [byDocument('hours-v3')])],
    ),
    deposit: reply(
      'I could not take the deposit yet.',
      [...findGuest, call('c6', 'payments.charge'), result('c6', {}, 'timeout')],
      [action('retry_later', 'payments.charge', 'medium', [byResult('c1')])],
    ),
    'spa-hours': reply(
      'The spa closes at 9.',
      [retrieval('spa', 'hours-v3')],
      [action('answer', 'none', 'low', [byDocument('hours-v3')])],
    ),
    'status-note': reply('Verified fix is live.', [], []),
  },
};

const schema = (...required: string[]) => ({
  $schema: 'http://json-schema.org/draft-07/schema#',
  type: 'object',
  required,
});

const asked = (id: string, expected: DemoCase['expected']): DemoCase => ({
  id,
  input: { user: `Handle ${id}.` },
  expected,
});

/** The case file of the demo. */
export const DEMO_CASES: readonly DemoCase[] = [
  asked('booking-json', { json_schema: schema('action', 'room', 'nights'), tool_required: ['bookings.create'] }),
  asked('guest-first', {
    tool_required: ['guests.find', 'bookings.create'],
    tool_sequence: ['guests.find', 'bookings.create'],
  }),
  asked('late-checkout', { retrieval_required: { doc_ids: ['policy-late-v2'] }, must_include: ['late checkout'] }),
  asked('water-leak', { tool_required: ['tickets.create'], must_include: ['incident'] }),
  asked('key-card', { tool_required: ['cards.block'] }),
  asked('upgrade', { must_include: ['suite'] }),
  asked('apology-mail', { json_schema: schema('subject', 'body'), tool_required: ['mail.send'] }),
  asked('breakfast', { retrieval_required: { doc_ids: ['hours-v3'] }, must_include: ['Breakfast'] }),
  asked('deposit', { tool_required: ['payments.charge'], must_not_include: ['receipt sent'] }),
  asked('spa-hours', { tool_required: ['kb.search'] }),
  asked('status-note', { must_include: ['Verified fix'] }),
];

const ALSO: Readonly<Record<string, DemoCase['expected']>> = {
  'key-card': { evidence_required_for_actions: true },
  upgrade: { evidence_required_for_actions: true },
  'apology-mail': { must_include: ['apologize'] },
  breakfast: { must_include: ['from 7 to 10'] },
  deposit: { action_required: ['charge'], evidence_required_for_actions: true },
};

/** The other case file, which expects more of the same replies. */
export const STRICTER_CASES: readonly DemoCase[] = DEMO_CASES.map(({ id, expected }) =>
  asked(id, Object.assign({}, expected, ALSO[id])),
);
