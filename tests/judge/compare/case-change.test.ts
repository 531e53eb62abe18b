import { describe, expect, test } from 'vitest';
import { isWeakened } from '../../../src/contracts/comparison/changed.ts';
import type { Expected, SuiteCase } from '../../../src/contracts/suite/index.ts';
import { caseChange } from '../../../src/judge/compare/case-change.ts';

const caseWith = (over: Partial<SuiteCase>): SuiteCase => ({
  schema_version: 'suite-case.v1',
  id: 'refund',
  input: { user: 'My order arrived damaged.' },
  ...over,
});

const differences = (was: Partial<SuiteCase>, is: Partial<SuiteCase>) =>
  caseChange(caseWith(was), caseWith(is))?.differences ?? [];

const told = (was: Expected | undefined, is: Expected | undefined): string[] =>
  differences({ ...(was && { expected: was }) }, { ...(is && { expected: is }) }).map(
    ({ what, at, baseline, new: now }) => `${what} ${at.slice('expected.'.length)}: ${baseline} → ${now}`,
  );

describe('an expectation', () => {
  const rows: [string, Expected | undefined, Expected | undefined, string[]][] = [
    ['is gone', { contains: 'EUR' }, undefined, ['lost contains: EUR → null']],
    ['has lost an entry', { contains: ['EUR', '19.99'] }, { contains: 'EUR' }, ['lost contains: 19.99 → null']],
    [
      'expects an object instead of its text',
      { equals: '{"a":1}' },
      { equals: { a: 1 } },
      ['lost equals: "{\\"a\\":1}" → {"a":1}'],
    ],
    ['no longer forbids every change', { changed_only: [] }, {}, ['lost changed_only: [] → null']],
    ['was replaced by another one', { equals: '42' }, { equals: '41' }, ['lost equals: 42 → 41']],
    [
      'expects only a part of the text',
      { contains: '19.99 EUR' },
      { contains: 'EUR' },
      ['lost contains: 19.99 EUR → null', 'added contains: null → EUR'],
    ],
    [
      'forbids one tool fewer',
      { tool_forbidden: ['rm', 'mv'] },
      { tool_forbidden: ['mv'] },
      ['lost tool_forbidden: rm → null'],
    ],
    [
      'expects fewer documents',
      { retrieval_required: { doc_ids: ['a', 'b'] } },
      { retrieval_required: { doc_ids: ['b'] } },
      ['lost retrieval_required: a → null'],
    ],
    [
      'expects another value at a path',
      { json_path: [{ path: '$.total', equals: 1 }] },
      { json_path: [{ path: '$.total', exists: true }] },
      [
        'lost json_path: {"equals":1,"path":"$.total"} → null',
        'added json_path: null → {"exists":true,"path":"$.total"}',
      ],
    ],
    [
      'has a shorter sequence',
      { tool_sequence: ['a', 'b'] },
      { tool_sequence: ['b'] },
      ['lost tool_sequence: ["a","b"] → ["b"]'],
    ],
    ['has a higher limit', { max_steps: 3 }, { max_steps: 9 }, ['looser max_steps: 3 → 9']],
    ['allows a later first token', { max_ttft_ms: 300 }, { max_ttft_ms: 900 }, ['looser max_ttft_ms: 300 → 900']],
    ['no longer has a limit', { max_cost_usd: 0.1 }, {}, ['lost max_cost_usd: 0.1 → null']],
    ['was switched off', { no_flags: true }, { no_flags: false }, ['lost no_flags: true → false']],
    ['allows any violation', undefined, { no_violations: false }, ['looser allow_violations: none → any']],
    [
      'allows more violations',
      { allow_violations: 'network_violation' },
      { allow_violations: ['forbidden_path', 'network_violation'] },
      ['looser allow_violations: network_violation → forbidden_path, network_violation'],
    ],
    [
      'allows more files',
      { changed_only: ['src'] },
      { changed_only: ['src', 'docs'] },
      ['looser changed_only: null → docs'],
    ],
    ['allows any file', { changed_only: ['src'] }, {}, ['lost changed_only: src → null']],
    [
      'expects another ending',
      undefined,
      { termination: 'killed_policy' },
      ['lost termination: completed → killed_policy'],
    ],
    [
      'is judged by another script',
      { script: { file: 'assets/check_0.py' } },
      { script: { file: 'assets/check_1.py' } },
      ['lost script: assets/check_0.py → assets/check_1.py'],
    ],
  ];
  test.each(rows)('counts as weaker if it %s', (_, was, is, expected) => {
    expect(told(was, is)).toEqual(expected);
    expect(expected.some(line => /^(?:lost|looser) /.test(line))).toBe(true);
  });
});

describe('an expectation', () => {
  const rows: [string, Expected | undefined, Expected | undefined, string[]][] = [
    ['is new', undefined, { contains: 'EUR' }, ['added contains: null → EUR']],
    ['has a lower limit', { max_steps: 9 }, { max_steps: 3 }, ['tighter max_steps: 9 → 3']],
    ['expects a longer text', { contains: 'EUR' }, { contains: '19.99 EUR' }, ['added contains: null → 19.99 EUR']],
    [
      'forbids a shorter text',
      { not_contains: 'an error' },
      { not_contains: 'error' },
      ['added not_contains: null → error'],
    ],
    [
      'has a longer sequence',
      { tool_sequence: ['b'] },
      { tool_sequence: ['a', 'b'] },
      ['tighter tool_sequence: ["b"] → ["a","b"]'],
    ],
    [
      'allows fewer files',
      { changed_only: ['src', 'docs'] },
      { changed_only: 'src' },
      ['tighter changed_only: docs → null'],
    ],
    ['has another order', { contains: ['a', 'b'] }, { contains: ['b', 'a'] }, []],
    ['states a default', undefined, { termination: 'completed', no_violations: true }, []],
    [
      'gives its script more time',
      { script: { file: 'assets/c.py' } },
      { script: { file: 'assets/c.py', timeout_ms: 9 } },
      [],
    ],
    ['is not judged by Proctor', { semantic: { a: 1 } }, {}, ['not_judged semantic: {"a":1} → null']],
  ];
  test.each(rows)('does not count as weaker if it %s', (_, was, is, expected) => {
    expect(told(was, is)).toEqual(expected);
  });
});

describe('a case that leaves a group that a gate can limit is weakened', () => {
  const rows: [string, Partial<SuiteCase>, Partial<SuiteCase>, string[]][] = [
    [
      'it loses a tag',
      { metadata: { tags: ['billing', 'slow'] } },
      { metadata: { tags: ['slow', 'new'] } },
      ['lost metadata.tags'],
    ],
    ['it loses its only tag', { metadata: { tags: 'billing' } }, {}, ['lost metadata.tags']],
    [
      'its severity changes',
      { metadata: { severity: 'critical' } },
      { metadata: { severity: 'minor' } },
      ['lost metadata.severity'],
    ],
    ['its suite changes', { suite: 'refunds' }, { suite: 'orders' }, ['lost suite']],
  ];
  test.each(rows)('if %s', (_, was, is, expected) => {
    const change = caseChange(caseWith(was), caseWith(is));
    expect(change?.differences?.map(({ what, at }) => `${what} ${at}`)).toEqual(expected);
    expect(isWeakened(change)).toBe(true);
  });

  test('but not if it joins a group', () => {
    const was = { metadata: { tags: ['slow'] } };
    const is = { suite: 'refunds', metadata: { tags: ['billing', 'slow'], severity: 'high' } };
    expect(differences(was, is).map(({ what, at }) => `${what} ${at}`)).toEqual([
      'metadata metadata.tags',
      'metadata metadata.severity',
    ]);
  });
});

test.each([
  [
    'in the order of a list',
    { expected: { tool_forbidden: ['a', 'b'] } },
    { expected: { tool_forbidden: ['b', 'a'] } },
  ],
  ['in the form of a list', { expected: { contains: 'x' } }, { expected: { contains: ['x'] } }],
  ['by empty expectations', { expected: {} }, {}],
  ['by empty metadata', { metadata: {} }, {}],
])('a case that differs only %s has not changed', (_, was, is) => {
  expect(caseChange(caseWith(was), caseWith(is))).toBeUndefined();
});

describe('the report of a change', () => {
  test('names input and metadata by their keys', () => {
    const was = { input: { user: 'a', context: { locale: 'en' } }, metadata: { owner: 'Ann' } };
    const is = { input: { user: 'b' }, metadata: { owner: 'Bob' } };
    expect(differences(was, is)).toEqual([
      { what: 'input', at: 'input.user', baseline: 'a', new: 'b' },
      { what: 'input', at: 'input.context', baseline: '{"locale":"en"}', new: null },
      { what: 'metadata', at: 'metadata.owner', baseline: 'Ann', new: 'Bob' },
    ]);
  });

  test('truncates long texts around the first difference', () => {
    const [one] = differences(
      { input: { user: `${'x'.repeat(5_000)}A` } },
      { input: { user: `${'x'.repeat(5_000)}B` } },
    );
    expect(one?.baseline).toMatch(/^…x{1,100}A$/);
    expect(one?.new).toMatch(/^…x{1,100}B$/);
  });

  test('masks credentials in a case', () => {
    const key = `ghp_${'a1B2'.repeat(9)}`;
    const [one] = differences({ input: { user: `Use ${key}.` } }, { input: { user: 'Use nothing.' } });
    expect(one?.baseline).not.toContain(key);
    expect(one?.baseline).toContain('Use ');
  });

  test('lists 20 differences, weakened expectations first, and counts the rest', () => {
    const contains = Array.from({ length: 30 }, (_, index) => `text ${index}`);
    const { differences: listed, more } =
      caseChange(
        caseWith({ expected: { contains, max_steps: 1 } }),
        caseWith({ input: { user: 'Other' }, expected: { contains: [], max_steps: 2 } }),
      ) ?? {};
    expect(listed).toHaveLength(20);
    expect(listed?.every(({ what }) => what === 'lost')).toBe(true);
    expect(more).toBe(12);
  });
});
