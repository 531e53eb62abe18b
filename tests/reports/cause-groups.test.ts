import { describe, expect, test } from 'vitest';
import type { ComparedCase, Divergence } from '../../src/contracts/comparison/index.ts';
import type { JudgedCase } from '../../src/contracts/evaluation/index.ts';
import { causeGroups, problemGroups } from '../../src/reports/cause-groups.ts';
import { shortCause } from '../../src/reports/cause-text.ts';

const trial = (verdict: 'pass' | 'fail'): ComparedCase['new']['trials'][number] => ({
  run_id: 'run_1',
  verdict,
  error_class: null,
  output_hash: null,
  latency_ms: 1,
  cost_usd: null,
  score: null,
});

const compared = (case_id: string, over: Partial<ComparedCase> = {}): ComparedCase => ({
  case_id,
  title: null,
  change: 'regressed',
  baseline: { trials: [trial('pass')] },
  new: { trials: [trial('fail')] },
  failing: [],
  divergence: null,
  ...over,
});

const divergence = (kind: Divergence['kind'], says: string): Divergence => ({
  kind,
  baseline_at: 'events[1]',
  new_at: 'events[1]',
  says,
  confidence: 'high',
  cites: [],
});

const told = (groups: readonly { concern: string; text: string; cases: readonly { case_id: string }[] }[]) =>
  groups.map(({ concern, text, cases }) => [concern, text, cases.map(({ case_id }) => case_id).join(' ')]);

describe('a short cause', () => {
  test.each<[Divergence['kind'], string, string]>([
    [
      'tool_choice',
      'The candidate called “orders.list” where the baseline called “orders.get”. Very likely the cause, because …',
      'tool choice: orders.list instead of orders.get',
    ],
    ['tool_choice', 'The candidate did not call “a. b: c”. Perhaps the cause.', 'tool choice: a. b: c not called'],
    [
      'tool_choice',
      'The candidate called “a” 3 times, and the baseline once. Likely.',
      'tool choice: a called a different number of times',
    ],
    [
      'tool_arguments',
      'The candidate called “get” with different arguments: “id”, “limit” and 2 more. Likely.',
      'tool arguments: get',
    ],
    [
      'tool_result',
      'The result of “get” was error instead of ok. Very likely.',
      'tool result: get returned error instead of ok',
    ],
    [
      'tool_order',
      'The candidate called “a” before “b”, and the baseline the other way round. Likely.',
      'tool order: a before b',
    ],
    [
      'retrieval',
      'A different query no longer found “doc-1”, “doc-2”. Likely.',
      'retrieval: a different query no longer found some documents',
    ],
    [
      'runner',
      'The candidate failed with http_error 503, but the baseline answered: upstream is down. Certain.',
      'runner: http_error 503',
    ],
    [
      'environment',
      'Events and output are the same, but environment_hash differs between the two sides. Only a possible cause.',
      'environment: environment_hash differs',
    ],
    [
      'output',
      'After the same steps, the final output differs in “amount”. Very likely.',
      'output: the final output differs in amount',
    ],
    ['policy', 'Something new that no pattern knows. Certain.', 'policy: Something new that no pattern knows'],
  ])('of kind %s: %s', (kind, says, expected) => {
    expect(shortCause({ kind, says })).toBe(expected);
  });
});

describe('groups of causes', () => {
  test('contain cases with the same kind and tools, whatever the arguments', () => {
    const cases = ['id', 'limit', 'page'].map((key, index) =>
      compared(`c-${index}`, {
        divergence: divergence(
          'tool_arguments',
          `The candidate called “orders.get” with different arguments: “${key}”. Likely.`,
        ),
      }),
    );
    expect(told(causeGroups(cases))).toEqual([['regressed', 'tool arguments: orders.get', 'c-0 c-1 c-2']]);
  });

  test('separate what happened: a regressed case and a flaky one with the same cause', () => {
    const same = divergence('tool_choice', 'The candidate called “a” where the baseline called “b”. Likely.');
    const cases = [compared('r', { divergence: same }), compared('f', { divergence: same, change: 'flaky' })];
    expect(told(causeGroups(cases))).toEqual([
      ['regressed', 'tool choice: a instead of b', 'r'],
      ['flaky', 'tool choice: a instead of b', 'f'],
    ]);
  });

  test('name the failed expectation of cases without a cause, with its message if all share it', () => {
    const failing = (message: string) => [{ name: 'contains', message, at: null }];
    const shared = [
      compared('a', { failing: failing('Lacks EUR.') }),
      compared('b', { failing: failing('Lacks EUR.') }),
    ];
    expect(told(causeGroups(shared))).toEqual([['regressed', 'contains: Lacks EUR.', 'a b']]);
    const mixed = [...shared, compared('c', { failing: failing('Lacks USD.') })];
    expect(told(causeGroups(mixed))).toEqual([['regressed', 'contains', 'a b c']]);
  });

  test('use the failed expectation of a case that also failed before', () => {
    const one = compared('old', {
      change: 'same',
      baseline: { trials: [trial('fail')] },
      divergence: divergence('output', 'After the same steps, the final output differs. Not a cause.'),
      failing: [{ name: 'regex', message: 'No match.', at: null }],
    });
    expect(told(causeGroups([one]))).toEqual([['failing', 'regex: No match.', 'old']]);
  });

  test('say where a case is missing, and leave out cases that need no attention', () => {
    const cases = [
      compared('gone', { change: 'missing', side_missing: 'new', new: { trials: [] } }),
      compared('fine', { change: 'same', new: { trials: [trial('pass')] } }),
      compared('odd'),
    ];
    expect(told(causeGroups(cases))).toEqual([
      ['missing', 'missing from the candidate', 'gone'],
      ['regressed', 'no cause found', 'odd'],
    ]);
  });

  test('of a run separate the tools that a failed expectation names', () => {
    const judged = (case_id: string, message: string): JudgedCase => ({
      case_id,
      case_sha256: `sha256:${'0'.repeat(64)}`,
      verdict: 'fail',
      error_class: null,
      assertions: [{ name: 'tool_forbidden', status: 'fail', message, at: null }],
      metrics: { latency_ms: 1, attempts: 1, cost_usd: null, tokens: null, steps: 1, score: 0 },
      output_hash: null,
    });
    const cases = [
      judged('a', 'The tool "refund" was called.'),
      judged('b', 'The tool "delete" was called.'),
      judged('c', 'The tool "refund" was called twice.'),
    ];
    expect(told(problemGroups(cases))).toEqual([
      ['failed', 'tool_forbidden: refund', 'a c'],
      ['failed', 'tool_forbidden: The tool "delete" was called.', 'b'],
    ]);
  });

  test('are never longer than 160 characters', () => {
    const long = compared('x', { failing: [{ name: 'contains', message: 'word '.repeat(500), at: null }] });
    expect(causeGroups([long])[0]?.text.length).toBeLessThanOrEqual(161);
  });
});
