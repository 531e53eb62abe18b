/** Repairs never help: no expectation is easier to meet after a repair, and no repair adds a claim to a reply. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { canonicalize } from '../../src/base/canonical.ts';
import type { CaseArtifact } from '../../src/contracts/artifacts/index.ts';
import type { Expected } from '../../src/contracts/suite/index.ts';
import { Answer } from '../../src/judge/suite/answer.ts';
import { judgeAnswer } from '../../src/judge/suite/expectations.ts';
import type { AgentReply } from '../../src/targets/reply.ts';
import { type Json, readAs, type Reply } from './replies.ts';

const RUNS = { numRuns: 1_500, seed: 15 };

// No key is called content: an answer with that key alone is an output without its content_type (R8).
const word = fc.constantFrom('refund', 'order', 'late', 'sorry', 'output_hash', 'redactions_applied');
const tool = fc.constantFrom('orders.get', 'payments.refund', 'mail');
const callId = fc.constantFrom('c1', 'c2', 'call_0', 'call_1', 'call_1_');
const docId = fc.constantFrom('policy-1', 'policy-2');
const riskLevel = fc.constantFrom('high', 'medium', 'low', 'unknown');
const plain = fc.oneof(word, fc.integer(), fc.boolean(), fc.constant(null));
const fields = fc.dictionary(word, plain, { maxKeys: 3 });

const event = fc.oneof(
  fc.record({ type: fc.constant('tool_call'), ts: fc.nat(), call_id: callId, tool, args: fields }),
  fc.record({
    type: fc.constant('tool_result'),
    ts: fc.nat(),
    call_id: callId,
    status: fc.constantFrom('ok', 'error'),
    latency_ms: fc.nat(),
    payload_summary: fc.oneof(word, fields),
  }),
  fc.record({ type: fc.constant('retrieval'), ts: fc.nat(), query: word, doc_ids: fc.array(docId, { maxLength: 2 }) }),
  fc.record({ type: fc.constant('thought'), ts: fc.nat(), text: word }),
);

const action = fc.record({
  action_id: fc.constantFrom('a1', 'a2'),
  action_type: fc.constantFrom('refund', 'mail'),
  tool_name: tool,
  params: fields,
  risk_level: riskLevel,
  risk_tags: fc.array(word, { maxLength: 2 }),
  evidence_refs: fc.array(
    fc.oneof(
      fc.record({ kind: fc.constant('tool_result'), call_id: callId }),
      fc.record({ kind: fc.constant('retrieval_doc'), doc_id: docId }),
      fc.record({ kind: fc.constant('event'), id: fc.constantFrom('events[0]', 'events[1]') }),
    ),
    { maxLength: 2 },
  ),
});

/** A reply that satisfies the contract, without evidence that refers to nothing. */
const sound = fc
  .record({
    events: fc.array(event, { maxLength: 5 }),
    proposed_actions: fc.array(action, { maxLength: 2 }),
    final_output: fc.oneof(
      fc.record({ content_type: fc.constant('text'), content: word }),
      fc.record({ content_type: fc.constant('json'), content: fields }),
    ),
  })
  .map(reply => withFoundEvidence(structuredClone(reply) as Reply));

function withFoundEvidence(reply: Reply): Reply {
  const calls = new Set(reply.events.map(({ call_id }) => call_id));
  const documents = new Set(reply.events.flatMap(({ doc_ids }) => (doc_ids ?? []) as string[]));
  const isFound = ({ kind, call_id, doc_id, id }: Json): boolean =>
    kind === 'tool_result'
      ? calls.has(call_id)
      : kind === 'retrieval_doc'
        ? documents.has(String(doc_id))
        : reply.events.some((_, index) => id === `events[${index}]`);
  for (const one of reply.proposed_actions) one['evidence_refs'] = (one['evidence_refs'] as Json[]).filter(isFound);
  return reply;
}

/** Each damages one part of a reply, if it exists, as an agent that does not know the contract would. */
const DAMAGES: readonly ((reply: Reply, pick: (list: readonly unknown[]) => unknown) => void)[] = [
  ({ events }, pick) => drop(pick(events), 'ts'),
  ({ events }, pick) => replace(pick(events), 'ts', '12:00'),
  ({ events }, pick) => drop(pick(ofType(events, 'tool_call')), 'args'),
  ({ events }, pick) => replace(pick(ofType(events, 'tool_call')), 'args', 'rm -r /'),
  ({ events }, pick) => drop(pick(ofType(events, 'tool_call')), 'call_id'),
  ({ events }, pick) => inOtherWords(pick(ofType(events, 'tool_result'))),
  ({ events }, pick) => asIsError(pick(ofType(events, 'tool_result'))),
  ({ events }, pick) => replace(pick(ofType(events, 'tool_result')), 'payload_summary', [1, 'refund']),
  ({ events }, pick) => drop(pick(ofType(events, 'tool_result')), 'latency_ms'),
  ({ proposed_actions }, pick) => drop(pick(proposed_actions), 'risk_tags'),
  ({ proposed_actions }, pick) => drop(pick(proposed_actions), 'evidence_refs'),
  ({ proposed_actions }, pick) => drop(pick(proposed_actions), 'tool_name'),
  ({ proposed_actions }, pick) => drop(pick(proposed_actions), 'risk_level'),
  ({ proposed_actions }, pick) => replace(pick(proposed_actions), 'risk_level', 'LOW'),
  ({ proposed_actions }, pick) => renameDocument(pick(proposed_actions.flatMap(one => one['evidence_refs'] ?? []))),
  reply => void (reply.final_output = (reply.final_output as Json)['content'] ?? reply.final_output),
  reply => drop(reply.final_output, 'content_type'),
];

const ofType = (events: readonly Json[], type: string): readonly Json[] => events.filter(one => one['type'] === type);

function drop(holder: unknown, key: string): void {
  if (isObject(holder)) delete holder[key];
}

function replace(holder: unknown, key: string, value: unknown): void {
  if (isObject(holder)) holder[key] = value;
}

function inOtherWords(result: unknown): void {
  if (hasStatus(result)) result['status'] = result['status'] === 'ok' ? 'Succeeded' : 'timeout';
}

function asIsError(result: unknown): void {
  if (!hasStatus(result)) return;
  result['is_error'] = result['status'] !== 'ok';
  delete result['status'];
}

/** Whether the status is not damaged yet. */
function hasStatus(result: unknown): result is Json {
  return isObject(result) && ['ok', 'error'].includes(String(result['status']));
}

function renameDocument(ref: unknown): void {
  if (!isObject(ref) || ref['kind'] !== 'retrieval_doc') return;
  ref['id'] = ref['doc_id'];
  delete ref['doc_id'];
}

function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

const damages = fc.array(fc.tuple(fc.nat(DAMAGES.length - 1), fc.nat(10)), { minLength: 1, maxLength: 6 });

function damaged(reply: Reply, faults: readonly (readonly [number, number])[]): Reply {
  const broken = structuredClone(reply);
  for (const [index, choice] of faults) DAMAGES[index]?.(broken, list => list[choice % Math.max(list.length, 1)]);
  return broken;
}

const expected: fc.Arbitrary<Expected> = fc.record(
  {
    contains: word,
    not_contains: word,
    must_include: word,
    must_not_include: word,
    equals: fc.oneof(word, fields as fc.Arbitrary<Json>),
    regex: word,
    not_regex: word,
    json_schema: fc.constantFrom({ type: 'object' }, { type: 'string' }, { not: { required: ['refund'] } }),
    json_path: word.map(key => [{ path: `$.${key}`, exists: false }]),
    tool_required: tool,
    tool_sequence: fc.array(tool, { minLength: 1, maxLength: 2 }),
    tool_forbidden: tool,
    action_required: fc.constantFrom('refund', 'mail'),
    evidence_required_for_actions: fc.constant(true),
    retrieval_required: fc.record({ doc_ids: fc.array(docId, { minLength: 1, maxLength: 2 }) }),
    max_cost_usd: fc.constant(1),
    max_steps: fc.nat(3),
  },
  { requiredKeys: [] },
);

const RANK = { fail: 0, not_judged: 1, pass: 2 } as const;

/** The worst result of each expectation. */
function verdicts(reply: AgentReply, asked: Expected): ReadonlyMap<string, number> {
  const artifact: CaseArtifact = { schema_version: 'case.v1', case_id: 'one', version: 'new', status: 'ok', ...reply };
  const worst = new Map<string, number>();
  for (const { name, status } of judgeAnswer(asked, new Answer(artifact)).assertions) {
    worst.set(name, Math.min(worst.get(name) ?? RANK.pass, RANK[status]));
  }
  return worst;
}

describe('for every damaged reply', () => {
  test('no expectation has a better verdict than for the sound reply', () => {
    let judged = 0;
    fc.assert(
      fc.property(sound, damages, expected, (reply, faults, asked) => {
        const whole = readAs('strict', reply);
        if (!whole.ok) throw new Error(whole.message);
        const repaired = readAs('lenient', damaged(reply, faults));
        if (!repaired.ok) return;
        const before = verdicts(whole.reply, asked);
        for (const [name, rank] of verdicts(repaired.reply, asked)) {
          judged++;
          expect(rank, name).toBeLessThanOrEqual(before.get(name) ?? RANK.fail);
        }
      }),
      RUNS,
    );
    expect(judged).toBeGreaterThan(RUNS.numRuns);
  });

  test('a strict reading rejects what a lenient reading repairs', () => {
    let repaired = 0;
    fc.assert(
      fc.property(sound, damages, (reply, faults) => {
        const broken = damaged(reply, faults);
        const [strict, lenient] = [readAs('strict', broken), readAs('lenient', broken)];
        if (!lenient.ok) expect(strict.ok).toBe(false);
        else if (Object.keys(lenient.repairs).length === 0) expect(lenient).toEqual(strict);
        else {
          repaired++;
          expect(strict).toMatchObject({ ok: false, class: 'schema_mismatch' });
        }
      }),
      RUNS,
    );
    expect(repaired).toBeGreaterThan(RUNS.numRuns / 4);
  });

  test('the repaired reply satisfies the contract, and a second reading changes nothing', () => {
    fc.assert(
      fc.property(sound, damages, (reply, faults) => {
        const lenient = readAs('lenient', damaged(reply, faults));
        if (!lenient.ok) return;
        const { agent_fields: _, ...known } = lenient.reply;
        expect(readAs('strict', known)).toEqual({ ok: true, reply: known, repairs: {} });
      }),
      RUNS,
    );
  });

  test('the repaired reply claims nothing that the agent did not', () => {
    fc.assert(
      fc.property(sound, damages, (reply, faults) => {
        const broken = damaged(reply, faults);
        const lenient = readAs('lenient', broken);
        if (!lenient.ok) return;
        const repaired = lenient.reply as unknown as Reply;
        expect(claimsIn(repaired)).toEqual(claimsIn(broken));
        const given = repaired.events.filter((_, index) => broken.events[index]?.['call_id'] === undefined);
        const cited = new Set(lenient.reply.proposed_actions.flatMap(one => one.evidence_refs.map(ref => ref.call_id)));
        for (const one of given.filter(({ type }) => type === 'tool_call')) {
          expect(cited).not.toContain(one['call_id']);
          expect(repaired.events.filter(other => other['call_id'] === one['call_id'])).toEqual([one]);
        }
      }),
      RUNS,
    );
  });
});

/** Everything in a reply that an expectation could count in its favour. */
function claimsIn({ events, proposed_actions, final_output }: Reply): unknown {
  const output =
    isObject(final_output) && Object.hasOwn(final_output, 'content') ? final_output['content'] : final_output;
  return {
    tools: events.map(event => event['tool']),
    documents: events.map(event => event['doc_ids']),
    successes: events.map(
      event =>
        event['type'] === 'tool_result' &&
        (/^(?:ok|succeeded)$/i.test(String(event['status'])) || event['is_error'] === false),
    ),
    actions: proposed_actions.map(one => [
      one['action_type'],
      one['risk_level'] === 'low',
      ((one['evidence_refs'] ?? []) as Json[]).map(ref => ref['call_id'] ?? ref['doc_id'] ?? ref['id']),
    ]),
    output: typeof output === 'string' ? output : canonicalize(output),
  };
}
