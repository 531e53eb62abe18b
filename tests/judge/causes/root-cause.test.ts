import { describe, expect, test } from 'vitest';
import fc from 'fast-check';
import type { CaseArtifact, Event } from '../../../src/contracts/artifacts/index.ts';
import { comparison, type Divergence } from '../../../src/contracts/comparison/index.ts';
import type { JudgedCase } from '../../../src/judge/compare-input.ts';
import { rootCause, type Scene } from '../../../src/judge/causes/root-cause.ts';
import { judged } from '../../support/support.ts';
import { agentRun, changing } from '../suite/answers.ts';
import {
  answer,
  call,
  compared,
  type ExpectationName,
  failedCase,
  hashOf,
  judgedCase,
  result,
  retrieval,
  side,
} from '../compare/sides.ts';

function cause(
  before: Partial<CaseArtifact>,
  now: Partial<CaseArtifact>,
  {
    failing = 'contains',
    drift = [],
    over = {},
  }: { failing?: ExpectationName; drift?: Scene['drift']; over?: Partial<JudgedCase> } = {},
): Divergence | null {
  return rootCause({
    judged: { baseline: judgedCase('c'), candidate: failedCase('c', failing, over) },
    artifacts: { baseline: answer(before), candidate: answer(now) },
    drift,
    change: 'regressed',
  });
}

const events = (...list: Event[]): Partial<CaseArtifact> => ({ events: list });

describe('a cause', () => {
  test('is tool choice if another tool was called', () => {
    expect(
      cause(events(call('orders.get'), result('order')), events(call('orders.list'), result('order')), {
        failing: 'tool_required',
      }),
    ).toEqual({
      kind: 'tool_choice',
      baseline_at: 'events[0]',
      new_at: 'events[0]',
      says: 'The candidate called “orders.list” where the baseline called “orders.get”. Very likely the cause, because the failed expectation (tool_required) is about it.',
      confidence: 'high',
      cites: ['baseline:events[0]', 'new:events[0]'],
    });
  });

  test('is tool choice if a tool was omitted or added', () => {
    const one = call('a.get', {}, 'call_1');
    const two = call('b.get', {}, 'call_2');
    const ones = [one, result('1', 'call_1')];
    const twos = [two, result('2', 'call_2')];
    expect(cause(events(...ones, ...twos), events(...ones))).toMatchObject({
      kind: 'tool_choice',
      baseline_at: 'events[2]',
      new_at: null,
      cites: ['baseline:events[2]'],
      says: expect.stringContaining('did not call “b.get”') as string,
    });
    expect(cause(events(...ones), events(...twos, ...ones))).toMatchObject({
      kind: 'tool_choice',
      baseline_at: null,
      new_at: 'events[0]',
      says: expect.stringContaining('also called “b.get”') as string,
    });
  });

  test('is tool arguments if the same tool got other arguments; keys are named, values are not', () => {
    const found = cause(
      events(call('orders.get', { order_id: 'A-1', secret: 'same', gone: 1 }), result('x')),
      events(call('orders.get', { order_id: 'A-2', secret: 'same', come: 1 }), result('y')),
    );
    expect(found).toMatchObject({ kind: 'tool_arguments', confidence: 'medium' });
    expect(found?.says).toContain('with different arguments: “come”, “gone”, “order_id”');
    expect(found?.says).not.toContain('A-2');
  });

  test('is a tool result if the same request got a different result', () => {
    expect(cause(events(call('t'), result('old')), events(call('t'), result('new')))).toMatchObject({
      kind: 'tool_result',
      new_at: 'events[1]',
      confidence: 'medium',
      says: expect.stringContaining('“t” received the same request but returned a different result') as string,
    });
  });

  test('is a tool result with high confidence if a working tool failed', () => {
    expect(cause(events(call('t'), result('old')), events(call('t'), result('old', 'call_1', 'error')))).toMatchObject({
      kind: 'tool_result',
      confidence: 'high',
    });
  });

  test('is retrieval if a document is no longer found', () => {
    const found = cause(events(retrieval('q', ['a', 'b'])), events(retrieval('q', ['a'])), {
      failing: 'retrieval_required',
    });
    expect(found).toMatchObject({ kind: 'retrieval', confidence: 'high', new_at: 'events[0]' });
    expect(found?.says).toContain('The same query no longer found “b”');
  });

  test('is retrieval if the query differs or is missing', () => {
    expect(cause(events(retrieval('q', ['a'])), events(retrieval('other', ['z', 'a'])))?.says).toContain(
      'A different query also found “z”',
    );
    expect(cause(events(retrieval('q', ['a'])), events())).toMatchObject({ kind: 'retrieval', new_at: null });
  });

  test('is the output if the same steps led to a different text', () => {
    const steps = [call('t'), result('x')];
    expect(
      cause(
        { events: steps, final_output: { content_type: 'text', content: 'Paid.' } },
        { events: steps, final_output: { content_type: 'text', content: 'Not paid.' } },
      ),
    ).toMatchObject({ kind: 'output', new_at: 'final_output', confidence: 'high' });
  });

  test('is the output if JSON differs in a key', () => {
    const output = (total: number): Partial<CaseArtifact> => ({
      final_output: { content_type: 'json', content: { total, currency: 'EUR' } },
    });
    expect(cause(output(1), output(2), { failing: 'json_path' })?.says).toContain('differs in “total”');
  });

  test('is the choice or the parameters of a proposed action', () => {
    const action = (action_type: string, params: Record<string, unknown>): Partial<CaseArtifact> => ({
      proposed_actions: [
        { action_id: 'a', action_type, tool_name: 't', params, risk_level: 'low', risk_tags: [], evidence_refs: [] },
      ],
    });
    expect(cause(action('refund', {}), action('ticket', {}), { failing: 'action_required' })).toMatchObject({
      kind: 'tool_choice',
      new_at: 'proposed_actions[0]',
      confidence: 'high',
    });
    expect(cause(action('refund', { cents: 1 }), action('refund', { cents: 2 }))).toMatchObject({
      kind: 'tool_arguments',
    });
    expect(cause(action('refund', {}), {})).toMatchObject({ kind: 'tool_choice', new_at: null });
  });

  test('is the runner if there is no answer', () => {
    const { events: _, proposed_actions: __, final_output: ___, ...nothing } = answer();
    const failed: CaseArtifact = {
      ...nothing,
      status: 'runner_error',
      runner_failure: {
        class: 'http_error',
        url: 'http://a.example',
        attempt: 1,
        status: 503,
        body_snippet: null,
        full_body_saved_to: null,
      },
    };
    const found = rootCause({
      judged: {
        baseline: judgedCase('c'),
        candidate: judgedCase('c', { verdict: 'error', error_class: 'http_error' }),
      },
      artifacts: { baseline: answer(), candidate: failed },
      drift: [],
      change: 'regressed',
    });
    expect(found).toMatchObject({ kind: 'runner', new_at: 'runner_failure', confidence: 'high' });
    expect(found?.says).toContain('failed with http_error 503, but the baseline answered');
  });

  test('is the input, with high confidence if the agent behaved the same, otherwise medium confidence', () => {
    const over = { case_sha256: hashOf('another case') };
    expect(cause({}, {}, { over })).toMatchObject({
      kind: 'input',
      confidence: 'high',
      cites: ['baseline:case', 'new:case'],
    });
    expect(cause(events(call('a')), events(call('b')), { over })).toMatchObject({
      kind: 'input',
      confidence: 'medium',
    });
  });

  test('is possibly the environment or the policy if nothing else differs', () => {
    const environment = { field: 'environment_hash', baseline: 'x', new: 'y' };
    const policy = { field: 'policy.limits.timeout_ms', baseline: '1000', new: '2000' };
    expect(cause({}, {}, { drift: [environment] })).toMatchObject({
      kind: 'environment',
      confidence: 'low',
      cites: ['comparability.fields[0]'],
    });
    expect(cause({}, {}, { drift: [environment, policy] })).toMatchObject({
      kind: 'policy',
      confidence: 'low',
      cites: ['comparability.fields[1]'],
    });
  });

  test.each(['max_latency_ms', 'max_ttft_ms', 'max_cost_usd'] as const)(
    'is the environment, such as load or prices, if only %s is exceeded',
    failing => {
      expect(cause({}, {}, { failing })).toMatchObject({ kind: 'environment', confidence: 'low', cites: [] });
    },
  );

  test('is unknown if nothing differs', () => {
    expect(cause({}, {})).toBeNull();
  });
});

describe('no difference is reported for', () => {
  test('times, latencies, call ids and events of unknown types', () => {
    const before = events(call('t', { a: 1 }, 'call_1', 1), result('x', 'call_1', 'ok', 2));
    const now = events(
      { type: 'thought', ts: 1, text: 'hm' },
      call('t', { a: 1 }, 'call_77', 500),
      result('x', 'call_77', 'ok', 900),
    );
    expect(cause(before, now)).toBeNull();
  });

  test('the order of results for calls that were made together', () => {
    const calls = [call('a', {}, '1'), call('b', {}, '2')];
    const before = events(...calls, result('of a', '1'), result('of b', '2'));
    const now = events(...calls, result('of b', '2'), result('of a', '1'));
    expect(cause(before, now)).toBeNull();
  });

  test('an extra event of unknown type, although locations count it', () => {
    const found = cause(
      events(call('a', {}, '1'), result('x', '1'), call('b', {}, '2')),
      events({ type: 'thought', ts: 1 }, call('a', {}, '1'), result('x', '1'), call('c', {}, '2')),
    );
    expect(found).toMatchObject({ baseline_at: 'events[2]', new_at: 'events[3]' });
  });
});

test('a case that failed in the baseline has a difference but no cause; a flaky case may have a cause', () => {
  const steps = (tool: string): Partial<CaseArtifact> => events(call(tool));
  const scene = (change: Scene['change']): Scene => ({
    judged: { baseline: failedCase('c'), candidate: failedCase('c') },
    artifacts: { baseline: answer(steps('a')), candidate: answer(steps('b')) },
    drift: [],
    change,
  });
  expect(rootCause(scene('same'))).toMatchObject({
    confidence: 'low',
    says: 'The candidate called “b” where the baseline called “a”. Not a cause, because the case also failed in the baseline.',
  });
  expect(rootCause(scene('flaky'))?.says).toContain('because the case is flaky');
});

test('quotes of an agent are truncated, stay quoted and contain no control characters', () => {
  const evil = `a”. Certain. “b\u001b[2J\n${'x'.repeat(500)}`;
  const found = cause(events(call('t')), events(call(evil)));
  expect(found?.says.match(/[“”]/g)).toHaveLength(4);
  expect(found?.says).not.toMatch(/\u001b|\n/);
  expect(Buffer.byteLength(found?.says ?? '')).toBeLessThan(400);
});

test('every comparison of two agents is a valid document', async () => {
  const event = fc.oneof(
    fc
      .tuple(fc.constantFrom('a', 'b', '“'), fc.dictionary(fc.string(), fc.jsonValue()))
      .map(([tool, args]) => call(tool, args)),
    fc
      .tuple(fc.string(), fc.constantFrom<'ok' | 'error'>('ok', 'error'))
      .map(([text, status]) => result(text, 'call_1', status)),
    fc.array(fc.constantFrom('d1', 'd2', 'd3')).map(docs => retrieval('q', docs)),
    fc.constant<Event>({ type: 'final_output', ts: 1, content_type: 'text', content: 'x' }),
  );
  const streams = fc.array(event, { maxLength: 6 });
  await fc.assert(
    fc.asyncProperty(streams, streams, async (before, now) => {
      const document = compared(side('baseline', [judgedCase('c')]), side('new', [failedCase('c')]), undefined, {
        artifactOf: ({ runId }) => answer({ events: runId === 'new_1' ? now : before }),
      });
      expect((await judged(comparison, document, { strict: true })).violations).toEqual([]);
    }),
    { numRuns: 60 },
  );
});

describe('a cause between two agent runs', () => {
  const DENIED = { class: 'native_policy_block', operation: 'Write', hard: false } as const;
  const killed = { termination: 'killed_policy', reason: 'forbidden_path' } as const;
  const rows: [ExpectationName, Partial<CaseArtifact>, Partial<CaseArtifact>, string, string][] = [
    [
      'no_violations',
      agentRun(),
      agentRun({ violations: { total: 1, listed: [DENIED] } }),
      'policy',
      'The candidate has a violation that the baseline does not have: native_policy_block Write',
    ],
    [
      'termination',
      agentRun(),
      agentRun(killed),
      'policy',
      'The candidate ended as killed_policy (forbidden_path) where the baseline ended as completed',
    ],
    [
      'termination',
      agentRun(killed),
      agentRun({ termination: 'error', reason: 'limit_turns' }),
      'runner',
      'The candidate ended as error (limit_turns) where the baseline ended as killed_policy (forbidden_path)',
    ],
    [
      'changed_only',
      changing('a'),
      changing('a', 'b', 'c'),
      'output',
      'The candidate changed files that the baseline did not: “b”, “c”',
    ],
    [
      'max_diff_lines',
      changing('a'),
      changing('a', 'b'),
      'output',
      'The candidate changed 4 lines where the baseline changed 2',
    ],
    [
      'no_flags',
      agentRun(),
      agentRun({ flags: [{ flag: 'needs_review', message: 'A file.' }] }),
      'output',
      'The candidate has flags that the baseline does not have: “needs_review”',
    ],
  ];
  test.each(rows)('is named if %s fails: %j and %j, %s', (failing, before, now, kind, says) => {
    const [first, second] = [events(call('a')), events(call('b'))];
    expect(cause({ ...first, ...before }, { ...second, ...now }, { failing })).toEqual({
      kind,
      baseline_at: null,
      new_at: null,
      says: `${says}. Certain, because the failed expectation (${failing}) is about it.`,
      confidence: 'high',
      cites: [],
    });
  });

  test('is a difference in steps if the answer fails or both runs ended alike', () => {
    const [first, second] = [events(call('a')), events(call('b'))];
    const run = agentRun({ violations: { total: 1, listed: [DENIED] } });
    expect(cause({ ...first, ...agentRun() }, { ...second, ...run })?.kind).toBe('tool_choice');
    expect(cause({ ...first, ...run }, { ...second, ...run }, { failing: 'no_violations' })?.kind).toBe('tool_choice');
  });
});
