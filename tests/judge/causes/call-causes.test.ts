import { describe, expect, test } from 'vitest';
import type { CaseArtifact, Event } from '../../../src/contracts/artifacts/index.ts';
import type { Divergence } from '../../../src/contracts/comparison/index.ts';
import { rootCause, type Scene } from '../../../src/judge/causes/root-cause.ts';
import { answer, call, type ExpectationName, failedCase, judgedCase, result, retrieval } from '../compare/sides.ts';

interface Over {
  readonly failing?: ExpectationName;
  readonly drift?: Scene['drift'];
  readonly said?: readonly [before: string, now: string];
  readonly attempts?: CaseArtifact['attempts'];
}

/** The cause that Proctor names for two streams of events. */
function cause(before: Event[], now: Event[], { failing = 'contains', drift = [], said, attempts }: Over = {}) {
  const artifact = (events: Event[], content: string | undefined): CaseArtifact =>
    answer({
      events,
      ...(attempts && { attempts }),
      ...(content !== undefined && { final_output: { content_type: 'text', content } }),
    });
  return rootCause({
    judged: { baseline: judgedCase('c'), candidate: failedCase('c', failing) },
    artifacts: { baseline: artifact(before, said?.[0]), candidate: artifact(now, said?.[1]) },
    drift,
    change: 'regressed',
  });
}

/** A call that is answered before the next one starts. */
const asked = (tool: string, id: string, args: Record<string, unknown> = {}, payload = `of ${tool}`): Event[] => [
  call(tool, args, id),
  result(payload, id),
];

const failed = (tool: string, id: string): Event[] => [call(tool, {}, id), result('busy', id, 'error')];

const a = asked('a.get', '1');
const b = asked('b.get', '2');
const c = asked('c.get', '3');

describe('the order of calls', () => {
  test('is a separate cause, never reports a missing call, and never has high confidence', () => {
    const failings: ExpectationName[] = ['contains', 'tool_sequence', 'tool_required', 'max_steps'];
    for (const failing of failings) {
      const found = cause([...a, ...b, ...c], [...b, ...a, ...c], { failing, said: ['yes', 'no'] });
      expect(found).toMatchObject({ kind: 'tool_order', confidence: 'medium' });
      expect(found?.says).toContain('called “b.get” before “a.get”, and the baseline the other way round');
      expect(found?.says).not.toContain('did not call');
    }
  });

  test('is also compared for calls without results', () => {
    expect(cause([call('a', {}, '1'), call('b', {}, '2')], [call('b', {}, '2'), call('a', {}, '1')])).toMatchObject({
      kind: 'tool_order',
      baseline_at: 'events[0]',
      new_at: 'events[1]',
    });
  });

  test('explains a different result of a moved call', () => {
    const found = cause([...a, ...b], [...b, ...asked('a.get', '1', {}, 'other')], { said: ['yes', 'no'] });
    expect(found?.kind).toBe('tool_order');
  });

  test('does not matter for calls that were open at the same time', () => {
    const [callA, resultA] = a as [Event, Event];
    const [callB, resultB] = b as [Event, Event];
    expect(cause([callA, callB, resultA, resultB], [callB, callA, resultA, resultB])).toBeNull();
    expect(cause([callA, callB, resultA, resultB, ...c], [callB, callA, resultB, resultA, ...c])).toBeNull();
  });

  test('does not matter for calls whose times and latencies overlap', () => {
    const timed = (tool: string, from: number, to: number): Event[] => [
      call(tool, {}, tool, from),
      { ...result(`of ${tool}`, tool, 'ok', to), latency_ms: to - from },
    ];
    expect(
      cause([...timed('a', 10, 90), ...timed('b', 20, 50)], [...timed('b', 11, 60), ...timed('a', 13, 80)]),
    ).toBeNull();
    expect(
      cause([...timed('a', 10, 90), ...timed('b', 95, 99)], [...timed('b', 11, 60), ...timed('a', 63, 80)])?.kind,
    ).toBe('tool_order');
  });
});

test('a filled-in latency is not a clock: calls that seem to overlap by it count as sequential', () => {
  const timed = (tool: string, from: number, to: number): Event[] => [
    call(tool, {}, tool, from),
    { ...result(`of ${tool}`, tool, 'ok', to), latency_ms: to - from },
  ];
  const before = [...timed('a', 10, 90), ...timed('b', 20, 50)];
  const now = [...timed('b', 11, 60), ...timed('a', 13, 80)];
  const attempt = { attempt: 1, started_at: '2026-01-06T12:00:00.000Z', outcome: 'ok' } as const;
  expect(cause(before, now, { attempts: [{ ...attempt, repairs: { R6: 1 } }] })).toBeNull();
  expect(cause(before, now, { attempts: [{ ...attempt, repairs: { R9: 1 } }] })?.kind).toBe('tool_order');
});

describe('sequential and parallel calls', () => {
  test('differ, but weigh less than a changed step', () => {
    const [callA, resultA] = a as [Event, Event];
    const [callB, resultB] = b as [Event, Event];
    const together = [callA, callB, resultA, resultB];
    const found = cause(together, [...a, ...b]);
    expect(found).toMatchObject({ kind: 'tool_concurrency', confidence: 'low' });
    expect(found?.says).toContain('called “a.get” and “b.get” one after another, and the baseline at the same time');
    expect(cause([...b, ...a], together)?.says).toContain('at the same time, and the baseline one after another');
    expect(cause([...together, ...c], [...a, ...b, ...asked('c.get', '3', { page: 2 })])?.kind).toBe('tool_arguments');
    expect(cause(together, [...a, ...b], { said: ['yes', 'no'] })).toEqual(found);
  });

  test('are not a difference if the calls overlap only in part', () => {
    const [callA, resultA] = a as [Event, Event];
    const [callB, resultB] = b as [Event, Event];
    const [callC, resultC] = c as [Event, Event];
    expect(
      cause([callA, callB, resultA, callC, resultB, resultC], [callA, callB, resultB, resultA, callC, resultC]),
    ).toBeNull();
  });
});

describe('a call made twice', () => {
  test('is a duplicate, never a choice of tool', () => {
    const again = asked('a.get', '9');
    expect(cause([...a, ...b], [...a, ...again, ...b], { failing: 'max_steps' })).toMatchObject({
      kind: 'tool_duplicate',
      confidence: 'medium',
      new_at: 'events[2]',
      says: expect.stringContaining('called “a.get” 2 times with the same arguments, and the baseline once') as string,
    });
    const fewer = cause([...a, ...again, ...b], [...a, ...b]);
    expect(fewer).toMatchObject({ kind: 'tool_duplicate', new_at: null });
    expect(fewer?.says).toContain('called “a.get” once, and the baseline 2 times with the same arguments');
  });

  test('is a retry after an error, with less weight than later differences if the result is the same', () => {
    const retried = cause([...a, ...b], [...failed('a.get', '8'), ...a, ...b]);
    expect(retried).toMatchObject({ kind: 'tool_retry', confidence: 'low', new_at: 'events[2]' });
    expect(retried?.says).toContain('called “a.get” again after an error');
    const [callB] = b as [Event];
    expect(cause([...a, ...b], [...failed('a.get', '8'), ...a, callB, result('other', '2')])?.kind).toBe('tool_result');
    expect(cause([...failed('a.get', '8'), ...a], a)?.says).toContain(
      'did not have to retry “a.get”, which failed in the baseline',
    );
  });

  test('is a broken tool if the retry failed as well', () => {
    expect(cause(a, [...failed('a.get', '8'), ...failed('a.get', '1')])).toMatchObject({
      kind: 'tool_result',
      confidence: 'high',
    });
  });

  test('is not a choice of tool even if other calls are in between', () => {
    const found = cause([...a, ...b], [...failed('a.get', '8'), ...b, ...asked('a.get', '9')]);
    expect(found?.kind).not.toBe('tool_choice');
    expect(found?.confidence).not.toBe('high');
  });
});

describe('a tool that both sides called', () => {
  const twice = [...asked('a.get', '1', { id: 1 }), ...asked('a.get', '2', { id: 2 })];

  test('is never reported as missing, and an extra or missing call of it never has high confidence', () => {
    const fewer = cause([...twice, ...b], [...asked('a.get', '1', { id: 1 }), ...b], { failing: 'tool_required' });
    expect(fewer).toMatchObject({ kind: 'tool_choice', confidence: 'medium' });
    expect(fewer?.says).toContain('called “a.get” once, and the baseline 2 times');
    const more = cause([...asked('a.get', '1', { id: 1 }), ...b], [...twice, ...b], { failing: 'max_steps' });
    expect(more).toMatchObject({ kind: 'tool_choice', confidence: 'medium' });
  });

  test('is compared by its arguments even if its calls are at different positions', () => {
    const found = cause(
      [...asked('a.get', '1', { id: 1 }), ...b, ...c],
      [...b, ...c, ...asked('a.get', '1', { id: 2 })],
    );
    expect(found).toMatchObject({ kind: 'tool_arguments' });
    expect(found?.says).toContain('“id”');
  });
});

describe('a difference has less weight', () => {
  const id = (last: string): string => `11111111-2222-4333-8444-55555555555${last}`;

  test('if only ids and times differ, but is reported if it is the only one', () => {
    const noisy = (last: string): Event[] =>
      asked('a.get', '1', { trace: id(last) }, `done at 2026-01-0${last}T10:00:00Z`);
    expect(
      cause([...noisy('1'), ...asked('b.get', '2', { n: 1 })], [...noisy('2'), ...asked('b.get', '2', { n: 2 })]),
    ).toMatchObject({
      kind: 'tool_arguments',
      new_at: 'events[2]',
    });
    expect(cause(noisy('1'), noisy('2'))).toMatchObject({ confidence: 'low', new_at: 'events[0]' });
  });

  test('but not if an id in the arguments led to a different result', () => {
    const found = cause(
      asked('a.get', '1', { order: id('1') }, 'paid'),
      asked('a.get', '1', { order: id('2') }, 'open'),
    );
    expect(found).toMatchObject({ kind: 'tool_arguments', confidence: 'medium' });
  });

  test('if it is an extra call next to a changed step, which then loses high confidence', () => {
    const found = cause(
      [...a, ...b],
      [...asked('log.write', '7'), ...a, call('b.get', {}, '2'), result('x', '2', 'error')],
    );
    expect(found).toMatchObject({ kind: 'tool_result', confidence: 'medium' });
  });

  test('unless the failed expectation names the extra call', () => {
    const message = 'The tool "log.write" was called.';
    const over = { assertions: [{ name: 'tool_forbidden', status: 'fail', message, at: 'events[0]' }] } as const;
    const found = rootCause({
      judged: { baseline: judgedCase('c'), candidate: failedCase('c', 'tool_forbidden', over as never) },
      artifacts: { baseline: answer({ events: a }), candidate: answer({ events: [...asked('log.write', '7'), ...a] }) },
      drift: [],
      change: 'regressed',
    });
    expect(found).toMatchObject({ kind: 'tool_choice', confidence: 'high', new_at: 'events[0]' });
  });
});

describe("the agent's provenance", () => {
  const field = (name: string) => ({ field: `provenance.${name}`, baseline: 'one', new: 'other' });

  test.each(['model', 'parameters.temperature'])(
    '(%s) is the likely cause of a different decision, with its location',
    name => {
      expect(cause([...a], [...b], { drift: [field('commit'), field(name)], failing: 'tool_required' })).toMatchObject({
        kind: 'model',
        confidence: 'medium',
        new_at: 'events[0]',
        cites: ['comparability.fields[1]', 'baseline:events[0]', 'new:events[0]'],
        says: expect.stringContaining('called “b.get” where the baseline called “a.get”') as string,
      });
    },
  );

  test('is not a cause if the same request got a different result', () => {
    const drift = [field('model')];
    expect(cause(a, asked('a.get', '1', {}, 'other'), { drift })?.kind).toBe('tool_result');
    expect(cause([retrieval('q', ['x'])], [retrieval('q', ['y'])], { drift })?.kind).toBe('retrieval');
  });

  test('is named in addition to a step if it is not the model', () => {
    const found = cause(a, b, { drift: [field('commit')] });
    expect(found).toMatchObject({
      kind: 'tool_choice',
      cites: ['baseline:events[0]', 'new:events[0]', 'comparability.fields[0]'],
    });
    expect(found?.says).toContain('provenance.commit also differs');
  });

  test.each([
    ['model', 'model'],
    ['commit', 'environment'],
  ])('(%s) may be the cause if both sides behaved the same: %s', (name, kind) => {
    expect(cause(a, a, { drift: [field(name)] })).toMatchObject({
      kind,
      confidence: 'low',
      cites: ['comparability.fields[0]'],
    });
  });
});

test('a tool denied under another policy points to the policy, and a broken tool then loses high confidence', () => {
  const drift = [{ field: 'policy.network', baseline: 'open', new: 'none' }];
  const denied = (payload: string): Event[] => [call('a.get', {}, '1'), result(payload, '1', 'error')];
  expect(cause(a, denied('Permission denied'), { drift })).toMatchObject({
    kind: 'policy',
    confidence: 'medium',
    cites: ['comparability.fields[0]', 'baseline:events[1]', 'new:events[1]'],
  });
  expect(cause(a, denied('no such order'), { drift })).toMatchObject({ kind: 'tool_result', confidence: 'medium' });
  expect(cause(a, denied('no such order'))).toMatchObject({ kind: 'tool_result', confidence: 'high' });
});

test('proposed actions in a different order are reported as such', () => {
  const action = (action_type: string) => ({
    action_id: action_type,
    action_type,
    tool_name: 't',
    params: {},
    risk_level: 'low' as const,
    risk_tags: [],
    evidence_refs: [],
  });
  const found = (before: string[], now: string[]): Divergence | null =>
    rootCause({
      judged: { baseline: judgedCase('c'), candidate: failedCase('c') },
      artifacts: {
        baseline: answer({ proposed_actions: before.map(action) }),
        candidate: answer({ proposed_actions: now.map(action) }),
      },
      drift: [],
      change: 'regressed',
    });
  expect(found(['refund', 'mail'], ['mail', 'refund'])).toMatchObject({ kind: 'tool_order', confidence: 'medium' });
  expect(found(['refund', 'mail'], ['mail'])?.says).toContain('did not propose the action “refund”');
});

test('compares long shuffled streams in bounded time', () => {
  const steps = (order: readonly number[]): Event[] => order.flatMap(n => asked(`tool_${n}`, String(n)));
  const numbers = Array.from({ length: 5_000 }, (_, index) => index);
  const found = cause(steps(numbers), steps([...numbers].reverse()));
  expect(found).toMatchObject({ kind: 'tool_order', confidence: 'medium' });
});
