import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { FRAMES_MAX } from '../../../src/targets/mapping/frames.ts';
import { applyMapping, compileMapping, type MappedReply } from '../../../src/targets/mapping/mapping.ts';
import { MappingError } from '../../../src/targets/mapping/mapping-error.ts';
import { formOf } from '../../../src/contracts/form.ts';
import { mappingShape, type ReplyMapping, type ValueForm } from '../../../src/contracts/target/mapping.ts';
import { MAPPINGS } from './kind-mappings.ts';

type Mapped = Extract<MappedReply, { ok: true }>;

function mapped(mapping: Partial<ReplyMapping>, document: unknown): Mapped {
  const result = applyMapping(compileMapping({ final_output: '$.answer', ...mapping }), document);
  if (!result.ok) throw new Error(result.reason);
  return result;
}

/** The value that a form reads from a document, in an event whose item is `document.item`. */
const read = (form: ValueForm, document: object): unknown =>
  mapped({ events: [{ each: '$.item', as: 'message', value: form }] }, document).reply.events[0]?.['value'];

function failure(mapping: Partial<ReplyMapping>): MappingError {
  try {
    compileMapping({ final_output: '$.answer', ...mapping });
  } catch (error) {
    if (error instanceof MappingError) return error;
  }
  throw new Error('The mapping compiled.');
}

describe('a value', () => {
  const document = {
    item: { list: [null, 'a', 1, true, { b: 2 }], trail: ['a', 'b', null], text: '{"n":1}', none: null, blank: ' ' },
    top: 'x',
  };

  test.each<[string, ValueForm, unknown]>([
    ['the first match that is not null', '@.list[*]', 'a'],
    ['the last match that is not null', { path: '@.trail[*]', last: true }, 'b'],
    ['all matches', { path: '@.list[*]', all: true }, [null, 'a', 1, true, { b: 2 }]],
    ['the joined texts of all matches', { path: '@.list[*]', join: '-' }, 'a-1-true-{"b":2}'],
    ['the sum of all numbers', { path: '@.list[*]', sum: true }, 1],
    ['parsed JSON', { path: '@.text', parse: 'json' }, { n: 1 }],
    ['the text itself if it is not JSON', { path: '@.list[1]', parse: 'json' }, 'a'],
    ['nothing for a blank text', { path: '@.blank', parse: 'json' }, undefined],
    ['nothing for null', '@.none', undefined],
    ['nothing if there is no number to add', { path: '@.text', sum: true }, undefined],
    ['nothing if there are no matches', { path: '@.x[*]', all: true }, undefined],
    ['nothing if there is nothing to join', { path: '@.none', join: '' }, undefined],
    ['a value of the document', '$.top', 'x'],
    ['a literal', { literal: { a: null } }, { a: null }],
    ['null, if the literal is null', { literal: null }, null],
    ['the first form that finds something', { first_of: ['@.none', '@.x', { literal: 0 }, '@.text'] }, 0],
    ['the mapped value', { path: '@.list[3]', map: { true: 'yes' } }, 'yes'],
    ['the value itself if the map does not name it', { path: '@.list[1]', map: { true: 'yes' } }, 'a'],
    ['the value of else if the map does not name it', { path: '@.list[1]', map: { b: 1 }, else: 'no' }, 'no'],
    ['nothing, not the value of else, if nothing is found', { path: '@.x', map: { b: 1 }, else: 'no' }, undefined],
    ['false, if else is false', { path: '@.list[1]', map: {}, else: false }, false],
  ])('is %s', (_, form, expected) => {
    expect(read(form, document)).toEqual(expected);
  });

  test('of a map is found by own keys only', () => {
    expect(read({ path: '@', map: {} }, { item: 'constructor' })).toBe('constructor');
  });

  test('stays text if the strict reader refuses its JSON', () => {
    for (const text of ['{"a":1,"a":2}', '12345678901234567890', '['.repeat(1_000) + ']'.repeat(1_000)]) {
      expect(read({ path: '@', parse: 'json' }, { item: text })).toBe(text);
    }
  });
});

describe('a final output', () => {
  test.each<[unknown, unknown]>([
    ['text', { content_type: 'text', content: 'text' }],
    [{ a: 1 }, { content_type: 'json', content: { a: 1 } }],
    [[1, 2], { content_type: 'text', content: '[1,2]' }],
    [0, { content_type: 'text', content: '0' }],
    [false, { content_type: 'text', content: 'false' }],
    [null, undefined],
  ])('for %j is %j', (answer, expected) => {
    expect(mapped({}, { answer }).reply.final_output).toEqual(expected);
  });

  test('has the declared type', () => {
    const answer = (content_type: 'text' | 'json', document: object): unknown =>
      mapped({ final_output: { content_type, content: '$.answer' } }, document).reply.final_output;
    expect(answer('text', { answer: { a: 1 } })).toEqual({ content_type: 'text', content: '{"a":1}' });
    expect(answer('json', { answer: 'no' })).toEqual({ content_type: 'json', content: 'no' });
  });
});

describe('events', () => {
  test('of all rules are in document order', () => {
    const order = fc.array(fc.constantFrom('call', 'result', 'note'), { maxLength: 30 });
    const rules = ['note', 'result', 'call'].map(kind => ({
      each: `$.steps[?@.kind=='${kind}']`,
      as: kind,
      n: '@.n',
    }));
    fc.assert(
      fc.property(order, kinds => {
        const steps = kinds.map((kind, n) => ({ kind, n }));
        const { events } = mapped({ events: rules }, { steps }).reply;
        expect(events).toEqual(steps.map(({ kind, n }) => ({ type: kind, n })));
      }),
      { seed: 15, numRuns: 200 },
    );
  });

  test('come before events nested in them, in the key order of objects', () => {
    const document = { z: { list: [{ id: 1 }, { id: 2 }] }, a: [{ id: 3, inner: [{ id: 4 }] }, { id: 5 }] };
    const { events } = mapped(
      {
        events: [
          { each: '$.a[*].inner[*]', as: 'x', id: '@.id' },
          { each: '$.a[-1]', as: 'y', id: '@.id' },
          { each: '$.a[*]', as: 'x', id: '@.id' },
          { each: '$.z.list[*]', as: 'x', id: '@.id' },
          { each: '$', as: 'all', id: { literal: 0 } },
        ],
      },
      document,
    ).reply;
    expect(events.map(event => event['id'])).toEqual([0, 1, 2, 3, 4, 5, 5]);
    expect(events.map(event => event['type']).slice(-2)).toEqual(['y', 'x']);
  });

  test('omit keys whose paths find nothing', () => {
    const { reply, empty } = mapped(
      {
        events: [
          { each: '$.list[*]', as: 'tool_call', call_id: '@.id', tool: '@.name' },
          { each: '$.other[*]', as: 'tool_result', call_id: '@.id' },
        ],
        workflow_id: '$.flow',
        usage: { cost_usd: '$.cost' },
      },
      { answer: 'x', list: [{ id: 'a' }, {}], cost: '0.1' },
    );
    expect(reply.events).toEqual([{ type: 'tool_call', call_id: 'a' }, { type: 'tool_call' }]);
    expect(empty).toEqual(['events[1]', 'events[0].tool', 'workflow_id', 'usage.cost_usd']);
  });

  test('and proposed actions follow the same rules', () => {
    const { proposed_actions } = mapped(
      { proposed_actions: [{ each: '$.actions[*]', action_id: '@.id', params: '@.with' }] },
      { actions: [{ id: 'a', with: { b: 1 } }] },
    ).reply;
    expect(proposed_actions).toEqual([{ action_id: 'a', params: { b: 1 } }]);
  });
});

describe('a failure', () => {
  test.each<[unknown, string | undefined]>([
    ['down', 'down'],
    [{ code: 1 }, '{"code":1}'],
    [true, 'true'],
    [false, undefined],
    ['', undefined],
    [null, undefined],
  ])('for %j is %j', (failed, expected) => {
    expect(mapped({ failed: '$.failed' }, { failed }).failed).toBe(expected);
  });
});

describe('a mapping does not compile', () => {
  test.each<[string, string, Partial<ReplyMapping>]>([
    [
      'events[1].call_id',
      'slices',
      {
        events: [
          { each: '$.a', as: 'tool_call' },
          { each: '$.a', as: 'tool_call', call_id: '@.b[1:2]' },
        ],
      },
    ],
    ['events[0].each', 'no item', { events: [{ each: '@.a', as: 'tool_call' }] }],
    ['events[0].as', 'Did you mean "tool_call"?', { events: [{ each: '$.a', as: 'tool_cal' }] }],
    ['events[0].type', '"type"', { events: [{ each: '$.a', as: 'note', type: '@.b' }] }],
    ['workflow_id', 'no item', { workflow_id: '@.a' }],
    ['session', 'exactly one', { session: { path: '$.a', literal: 1 } }],
    ['session', 'exactly one', { session: {} }],
    ['session.join', 'cannot be combined with literal', { session: { literal: 1, join: '' } }],
    ['session.last', 'cannot be combined with join', { session: { path: '$.a', join: '', last: true } }],
    ['session.parse', 'cannot be combined with all', { session: { path: '$.a', all: true, parse: 'json' } }],
    ['session.else', 'needs map', { session: { path: '$.a', else: 1 } }],
    ['failed.first_of[1].path', 'functions', { failed: { first_of: ['$.a', { path: '$[?count(@.a)==1]' }] } }],
    ['final_output', 'content_type and content', { final_output: { content_type: 'text' } }],
    ['final_output.content', 'starts with $', { final_output: { content_type: 'text', content: 'answer' } }],
    [
      'model.collect.value',
      'start with @',
      { model: { collect: { each: '$.a', key: '@', key_of_item: '$.b', value: '$.c' } } },
    ],
  ])('with a fault at %s: %s', (place, message, mapping) => {
    const error = failure(mapping);
    expect(error.place).toBe(place);
    expect(error.message).toContain(message);
  });

  test('and its unknown keys are found, in rules of any type', () => {
    const mapping = {
      final_output: { path: '$.a', jion: '' },
      events: [
        { each: '$.a', as: 'tool_call', tol: '@.b' },
        { each: '$.a', as: 'note', any: { path: '@.b', prase: 'json' } },
      ],
      usage: { tokens: '$.b' },
    };
    const unknown = [...formOf(mappingShape).unknown(mapping, '')];
    expect(unknown.map(({ parent, key }) => `${parent}.${key}`)).toEqual([
      'final_output.jion',
      'events[0].tol',
      'events[1].any.prase',
      'usage.tokens',
    ]);
    expect([...formOf(mappingShape).faults({ ...mapping, events: [{ each: '$.a', as: 'x', any: 1 }] }, '')]).toEqual([
      { path: 'events[0].any', message: 'must be a string or an object, but is a number' },
    ]);
  });
});

/** A stream of calls whose arguments come in deltas, round robin. */
function agUiStream(calls: number, deltas: number): { frames: object[] } {
  const starts = Array.from({ length: calls }, (_, id) => ({
    type: 'TOOL_CALL_START',
    toolCallId: id,
    toolCallName: 't',
  }));
  const pieces = Array.from({ length: calls * deltas }, (_, index) => ({
    type: 'TOOL_CALL_ARGS',
    toolCallId: index % calls,
    delta: String(index % 10),
  }));
  return { frames: [...starts, ...pieces].map(data => ({ event: 'message', data, at_ms: null })) };
}

describe('the step budget', () => {
  test('is spent in proportion to the frames, however many calls collect from them', () => {
    const mapping = compileMapping(MAPPINGS.agUi);
    const steps = (calls: number, deltas: number): number => {
      const result = applyMapping(mapping, agUiStream(calls, deltas));
      if (!result.ok) throw new Error(result.reason);
      expect(result.reply.events).toHaveLength(calls);
      return result.steps;
    };
    const small = steps(50, 9);
    expect(steps(500, 9) / small).toBeLessThan(10.1);
    expect(steps(5_000, 9) / small).toBeLessThan(101);
  });

  test('suffices for a stream with as many frames as a reader accepts', () => {
    const delta = (index: number): object => ({
      model: 'm',
      choices: [
        {
          delta: {
            content: 'x',
            tool_calls: [{ index, ...(index % 10 === 0 && { id: `c${index}` }), function: { arguments: '1' } }],
          },
        },
      ],
    });
    const frames = Array.from({ length: FRAMES_MAX }, (_, index) => ({
      event: 'message',
      data: delta(index),
      at_ms: index,
    }));
    const chat = applyMapping(compileMapping(MAPPINGS.openaiChatStream), { frames });
    expect(chat.ok && chat.reply.events.length).toBe(FRAMES_MAX / 10);
    expect(applyMapping(compileMapping(MAPPINGS.agUi), agUiStream(FRAMES_MAX / 10, 9)).ok).toBe(true);
  });

  test('ends a mapping that exceeds it with a typed result', () => {
    const mapping = compileMapping(MAPPINGS.agUi);
    expect(applyMapping(mapping, agUiStream(100, 9), 1_000)).toEqual({ ok: false, reason: 'too_many_steps' });
  });

  test('is charged for every copy of a large value, so that a small reply cannot become a huge artifact', () => {
    const mapping = compileMapping({
      final_output: '$.x',
      events: [{ each: '$.list[*]', as: 'note', copy: '$.large' }],
    });
    const document = { large: 'x'.repeat(100_000), list: Array.from({ length: 2_000 }, () => 0) };
    expect(applyMapping(mapping, document)).toEqual({ ok: false, reason: 'too_many_steps' });
    const frames = Array.from({ length: 2_000 }, () => ({ data: { type: 'TOOL_CALL_START', toolCallId: 1 } }));
    const args = { data: { type: 'TOOL_CALL_ARGS', toolCallId: 1, delta: 'x'.repeat(100_000) } };
    expect(applyMapping(compileMapping(MAPPINGS.agUi), { frames: [...frames, args] })).toEqual({
      ok: false,
      reason: 'too_many_steps',
    });
  });
});

describe('any document', () => {
  test('is mapped without an exception, and always with the same result', () => {
    const compiled = Object.values(MAPPINGS).map(mapping => compileMapping(mapping));
    const keys = [
      'messages',
      'choices',
      'message',
      'content',
      'tool_calls',
      'frames',
      'data',
      'result',
      'type',
      '__proto__',
    ];
    const values = fc.letrec<{ value: unknown; object: unknown }>(tie => ({
      value: fc.oneof(
        { maxDepth: 5 },
        fc.constantFrom<unknown>(null, 'text', 'ai', 0, true, ''),
        fc.array(tie('value'), { maxLength: 3 }),
        tie('object'),
      ),
      object: fc
        .array(fc.tuple(fc.constantFrom(...keys), tie('value')), { maxLength: 4 })
        .map(entries => Object.fromEntries(entries) as unknown),
    })).object;
    fc.assert(
      fc.property(values, document => {
        for (const mapping of compiled) {
          const result = applyMapping(mapping, document);
          expect(result.ok).toBe(true);
          expect(applyMapping(mapping, structuredClone(document))).toEqual(result);
        }
      }),
      { seed: 15, numRuns: 300 },
    );
  });

  test('may be 50,000 levels deep', () => {
    const deep: unknown = JSON.parse(`{"answer":${'['.repeat(50_000)}${']'.repeat(50_000)},"list":[1,2]}`);
    const { reply, empty } = mapped({ events: [{ each: '$.list[*]', as: 'x', copy: '$.list' }] }, deep);
    expect(reply.final_output).toBeUndefined();
    expect(empty).toEqual(['final_output']);
    const copied = compileMapping({ final_output: '$.x', events: [{ each: '$.list[*]', as: 'x', copy: '$.answer' }] });
    expect(applyMapping(copied, deep).ok).toBe(true);
  });
});
