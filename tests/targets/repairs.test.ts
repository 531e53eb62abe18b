import { describe, expect, test } from 'vitest';
import { REPLY_REPAIRS, type RepairId } from '../../src/targets/repairs.ts';
import { BYTES_MAX, type Json, readAs, type Reply, soundReply } from './replies.ts';

interface Fault {
  readonly name: string;
  readonly repair: RepairId;
  readonly break: (reply: Reply) => void;
  /** Changes a sound reply into the expected repaired one. */
  readonly becomes: (reply: Reply) => void;
}

const call = (reply: Reply): Json => reply.events[0] as Json;
const result = (reply: Reply): Json => reply.events[1] as Json;
const action = (reply: Reply): Json => reply.proposed_actions[0] as Json;
const refs = (reply: Reply): Json[] => action(reply)['evidence_refs'] as Json[];
const same = (): void => undefined;

/** A fault in one key, and the value that replaces it. */
function keyFault(repair: RepairId, of: (reply: Reply) => Json, key: string, fault: unknown, value: unknown): Fault {
  return {
    name: `${key} ${fault === undefined ? 'missing' : JSON.stringify(fault)}`,
    repair,
    break: reply => {
      if (fault === undefined) delete of(reply)[key];
      else of(reply)[key] = fault;
    },
    becomes: reply => {
      of(reply)[key] = value;
    },
  };
}

const FAULTS: readonly Fault[] = [
  keyFault('R1', result, 'ts', undefined, 1),
  keyFault('R1', result, 'ts', '2026-01-06T12:00:00Z', 1),
  keyFault('R2', call, 'args', undefined, {}),
  keyFault('R2', call, 'args', null, {}),
  keyFault('R2', call, 'args', 'A-1', { input: 'A-1' }),
  keyFault('R2', call, 'args', ['A-1'], { input: ['A-1'] }),
  keyFault('R3', call, 'call_id', undefined, 'call_0'),
  keyFault('R3', call, 'call_id', '', 'call_0'),
  ...['success', 'SUCCEEDED', 'Completed', true].map(word => keyFault('R4', result, 'status', word, 'ok')),
  ...['failed', 'Exception', 'timeout', false].map(word => keyFault('R4', result, 'status', word, 'error')),
  {
    name: 'is_error false for status',
    repair: 'R4',
    break: reply => {
      const { status: _, ...rest } = result(reply);
      reply.events[1] = { ...rest, is_error: false };
    },
    becomes: same,
  },
  keyFault('R5', result, 'payload_summary', [{ total: 19.99 }], { value: [{ total: 19.99 }] }),
  keyFault('R5', result, 'payload_summary', 42, { value: 42 }),
  keyFault('R5', result, 'payload_summary', null, { value: null }),
  keyFault('R6', action, 'risk_tags', undefined, []),
  keyFault('R6', action, 'evidence_refs', undefined, []),
  keyFault('R6', action, 'evidence_refs', null, []),
  keyFault('R6', action, 'tool_name', undefined, 'refund'),
  keyFault('R7', action, 'risk_level', undefined, 'unknown'),
  keyFault('R7', action, 'risk_level', 'LOW', 'unknown'),
  keyFault('R8', reply => reply, 'final_output', 'Done.', { content_type: 'text', content: 'Done.' }),
  keyFault('R8', reply => reply, 'final_output', { total: 1 }, { content_type: 'json', content: { total: 1 } }),
  keyFault('R8', reply => reply, 'final_output', { content: 'Done.' }, { content_type: 'text', content: 'Done.' }),
  keyFault('R8', reply => reply, 'final_output', { content: { a: 1 } }, { content_type: 'json', content: { a: 1 } }),
  keyFault('R9', result, 'latency_ms', undefined, 0),
  keyFault('R9', result, 'latency_ms', null, 0),
  {
    name: 'id for doc_id',
    repair: 'R10',
    break: reply => {
      refs(reply)[1] = { kind: 'retrieval_doc', id: 'policy-1' };
    },
    becomes: same,
  },
];

/** A repaired reply without `agent_fields`, which holds the unknown keys. */
function readLeniently(reply: Reply) {
  const reading = readAs('lenient', reply);
  if (!reading.ok) throw new Error(reading.message);
  const { agent_fields: _, ...known } = reading.reply;
  return { known, repairs: reading.repairs };
}

describe('a lenient reading', () => {
  test.each(FAULTS.map(fault => [fault.repair, fault.name, fault] as const))(
    'makes repair %s: %s',
    (repair, _, fault) => {
      const [broken, expected] = [soundReply(), soundReply()];
      fault.break(broken);
      fault.becomes(expected);
      expect(readLeniently(broken)).toEqual({ known: expected, repairs: { [repair]: 1 } });
    },
  );

  test('has a test for every repair', () => {
    expect([...new Set(FAULTS.map(({ repair }) => repair))]).toEqual(Object.keys(REPLY_REPAIRS));
  });

  test('applies all repairs together, and counts each', () => {
    const reply = {
      events: [
        { type: 'tool_call', tool: 'orders.get' },
        { type: 'tool_result', call_id: 'c1', status: 'success', payload_summary: [1] },
        { type: 'retrieval', query: 'refunds', doc_ids: ['policy-1'] },
        { type: 'thought' },
      ],
      proposed_actions: [
        { action_id: 'a1', action_type: 'refund', params: {} },
        {
          action_id: 'a2',
          action_type: 'mail',
          params: {},
          evidence_refs: [
            { kind: 'retrieval_doc', id: 'policy-1' },
            { kind: 'retrieval_doc', id: 'policy-1' },
          ],
        },
      ],
      final_output: 'Done.',
    };
    expect(readAs('lenient', reply)).toMatchObject({
      ok: true,
      repairs: { R1: 4, R2: 1, R3: 1, R4: 1, R5: 1, R6: 2, R7: 2, R8: 1, R9: 1, R10: 2 },
    });
  });

  test('changes nothing in a sound reply, and counts nothing', () => {
    expect(readLeniently(soundReply())).toEqual({ known: soundReply(), repairs: {} });
  });

  test('reads a sound reply like a strict reading', () => {
    expect(readAs('lenient', soundReply())).toEqual(readAs('strict', soundReply()));
  });

  test('keeps every key of a bare answer, even one that Proctor uses itself', () => {
    const bare = { decision: 'refund', output_hash: 'abc', redactions_applied: ['the card number'] };
    const { known } = readLeniently({ ...soundReply(), final_output: bare });
    expect(known.final_output).toEqual({ content_type: 'json', content: bare });
  });
});

describe('a strict reading', () => {
  test.each(FAULTS.map(fault => [fault.repair, fault.name, fault] as const))(
    'rejects %s: %s',
    (_repair, _name, fault) => {
      const broken = soundReply();
      fault.break(broken);
      expect(readAs('strict', broken)).toMatchObject({ ok: false, class: 'schema_mismatch' });
    },
  );
});

describe('the new id of a call', () => {
  const withoutId = (over: Partial<Reply>): Reply => {
    const reply = { ...soundReply(), ...over };
    delete call(reply)['call_id'];
    return reply;
  };

  test('is never one that an action cites', () => {
    const reply = withoutId({});
    refs(reply)[0] = { kind: 'tool_result', call_id: 'call_0' };
    expect(readAs('lenient', reply)).toMatchObject({ ok: false, class: 'schema_mismatch' });
  });

  test('is never that of a result, or of another call', () => {
    const reply = withoutId({});
    result(reply)['call_id'] = 'call_0';
    reply.events.push({ type: 'tool_call', ts: 4, call_id: 'call_0_', tool: 't', args: {} });
    reply.events.push({ type: 'tool_call', ts: 5, tool: 't', args: {} });
    refs(reply).splice(0, 1);
    const { known } = readLeniently(reply);
    expect((known.events as Json[]).map(event => event['call_id'])).toEqual([
      'call_0__',
      'call_0',
      undefined,
      'call_0_',
      'call_4',
    ]);
  });
});

describe('a lenient reading never repairs', () => {
  const rejected: readonly (readonly [string, (reply: Reply) => void])[] = [
    ['the id of another case', reply => (reply['case_id'] = 'two')],
    ['the other side', reply => (reply['version'] = 'baseline')],
    ['evidence that refers to no call', reply => (refs(reply)[0] = { kind: 'tool_result', call_id: 'c9' })],
    ['evidence that refers to no document', reply => (refs(reply)[1] = { kind: 'retrieval_doc', id: 'policy-9' })],
    [
      'evidence with two identifiers',
      reply => (refs(reply)[1] = { kind: 'retrieval_doc', id: 'x', doc_id: 'policy-1' }),
    ],
    ['evidence of an unknown kind', reply => (refs(reply)[0] = { kind: 'call', call_id: 'c1' })],
    ['evidence in the run folder', reply => refs(reply).push({ kind: 'asset', id: 'assets/cases.ndjson' })],
    ['a missing final output', reply => Reflect.deleteProperty(reply, 'final_output')],
    ['a final output of null', reply => (reply.final_output = null)],
    ['a final output that is a list', reply => (reply.final_output = ['Done.'])],
    ['a final output that is a number', reply => (reply.final_output = 42)],
    ['an answer that could be the whole or a part', reply => (reply.final_output = { content: 'Done.', note: 'not' })],
    [
      'a content_type that contradicts the content',
      reply => (reply.final_output = { content_type: 'json', content: 'x' }),
    ],
    ['a result without a status', reply => delete result(reply)['status']],
    ['an unknown status', reply => (result(reply)['status'] = 'maybe')],
    ['a success that states an error', reply => Object.assign(result(reply), { status: 'success', is_error: true })],
    ['a result without the id of its call', reply => delete result(reply)['call_id']],
    ['a latency that is not a number', reply => (result(reply)['latency_ms'] = 'fast')],
    ['a call without a tool', reply => delete call(reply)['tool']],
    ['an event without a type', reply => delete call(reply)['type']],
    ['an action without a type', reply => delete action(reply)['action_type']],
    ['an action without params', reply => delete action(reply)['params']],
    ['events that are not a list', reply => Object.assign(reply, { events: {} })],
    ['an event that is null', reply => Object.assign(reply, { events: [null] })],
    ['an action that is a text', reply => Object.assign(reply, { proposed_actions: ['refund'] })],
  ];
  test.each(rejected)('%s', (_, damage) => {
    const reply = soundReply();
    damage(reply);
    for (const replies of ['strict', 'lenient'] as const) {
      expect(readAs(replies, reply)).toMatchObject({ ok: false, class: 'schema_mismatch' });
    }
  });

  const nested = (depth: number): string => `{"final_output":${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}}`;
  const texts: readonly (readonly [string, string, string])[] = [
    ['a text that is not JSON', 'Done.', 'invalid_json'],
    ['truncated JSON', '{"final_output":"Do', 'invalid_json'],
    ['the same key twice', '{"final_output":"a","final_output":"b"}', 'invalid_json'],
    ['bytes after the JSON', '{"final_output":"a"} {}', 'invalid_json'],
    ['an empty reply', '', 'invalid_json'],
    ['null', 'null', 'schema_mismatch'],
    ['a list', '["Done."]', 'schema_mismatch'],
    ['JSON that is nested too deeply', nested(5_000), 'schema_mismatch'],
    ['a reply that is too large', JSON.stringify({ final_output: 'x'.repeat(BYTES_MAX) }), 'schema_mismatch'],
  ];
  test.each(texts)('%s', (_, text, errorClass) => {
    for (const replies of ['strict', 'lenient'] as const) {
      expect(readAs(replies, text)).toMatchObject({ ok: false, class: errorClass });
    }
  });
});
