import { describe, expect, test } from 'vitest';
import type { CaseArtifact } from '../../../src/contracts/artifacts/index.ts';
import { type Expected, EXPECTATIONS, NOT_JUDGED } from '../../../src/contracts/suite/index.ts';
import { agentRun, calls, changing, checking, checkNote, found, testedNote } from './answers.ts';

type Row = [
  expected: Expected,
  content: string | Record<string, unknown>,
  found: string[],
  over?: Partial<CaseArtifact>,
];

/** The same schema, written for draft-07. */
const draft07 = (schema: object): Record<string, unknown> => ({
  $schema: 'http://json-schema.org/draft-07/schema#',
  ...schema,
});

const OUT = '@final_output.content';
const action = (action_type: string, risk_level: 'low' | 'high', refs: number): object => ({
  action_id: 'a',
  action_type,
  tool_name: 't',
  params: {},
  risk_level,
  risk_tags: [],
  evidence_refs: Array.from({ length: refs }, () => ({ kind: 'event', id: 'events[0]' })),
});
const actions = (...list: object[]): Partial<CaseArtifact> =>
  ({ proposed_actions: list, events: [{ type: 'note', ts: 1 }] }) as Partial<CaseArtifact>;
/** Cites the results of these calls. The agent called c1 and c2, but only c1 has a result. */
const citing = (...call_ids: string[]): Partial<CaseArtifact> => {
  const evidence_refs = call_ids.map(call_id => ({ kind: 'tool_result', call_id }));
  const call = (call_id: string): object => ({ type: 'tool_call', ts: 1, call_id, tool: 't', args: {} });
  const result = { type: 'tool_result', ts: 2, call_id: 'c1', status: 'ok', latency_ms: 1 };
  const proposed_actions = [{ ...action('refund', 'high', 0), evidence_refs }];
  return { proposed_actions, events: [call('c1'), call('c2'), result] } as Partial<CaseArtifact>;
};
const retrieval = (...lists: string[][]): Partial<CaseArtifact> => ({
  events: lists.map((doc_ids, ts) => ({ type: 'retrieval', ts, query: 'q', doc_ids })),
});
const streamed = (ttft_ms: number): Partial<CaseArtifact> => ({
  attempts: [{ attempt: 1, started_at: '2026-01-06T12:00:00Z', latency_ms: 900, ttft_ms, outcome: 'ok' }],
});

const attempt = (latency_ms?: number): Partial<CaseArtifact> => ({
  attempts: [
    {
      attempt: 1,
      started_at: '2026-01-06T12:00:00Z',
      latency_ms: 9_000,
      outcome: 'runner_error',
      error_class: 'timeout',
    },
    { attempt: 2, started_at: '2026-01-06T12:00:09Z', outcome: 'ok', ...(latency_ms !== undefined && { latency_ms }) },
  ],
});

const DENIED = { class: 'native_policy_block', operation: 'Write', hard: false } as const;

const rows: Row[] = [
  [{ contains: 'EUR' }, 'It is 5 EUR.', [`pass ${OUT}`]],
  [{ contains: ['EUR', 'eur'] }, 'It is 5 EUR.', [`pass ${OUT}`, `fail The answer does not contain "eur". ${OUT}`]],
  [{ contains: '{"a":1,"b":[2]}' }, { b: [2], a: 1 }, [`pass ${OUT}`]],
  [{ not_contains: 'USD' }, 'It is 5 EUR.', [`pass ${OUT}`]],
  [{ not_contains: ['EUR'] }, 'It is 5 EUR.', [`fail The answer contains "EUR". ${OUT}`]],

  [{ must_include: ['five  EURO', 'straße'] }, 'It is Five\n\teuro, Straße 1.', [`pass ${OUT}`, `pass ${OUT}`]],
  [{ must_include: 'cafe\u0301' }, 'CAFÉ', [`pass ${OUT}`]],
  [{ must_include: 'refund\n' }, 'A refund', [`pass ${OUT}`]],
  [{ must_include: 'five' }, 'Six.', [`fail The answer does not contain "five". ${OUT}`]],
  [{ must_not_include: 'i am an ai' }, 'Sure.', [`pass ${OUT}`]],
  [{ must_not_include: 'i am an ai' }, 'I am\u00a0an AI.', [`fail The answer contains "i am an ai". ${OUT}`]],

  [{ equals: 'Yes.' }, 'Yes.', [`pass ${OUT}`]],
  [{ equals: 'Yes.' }, 'yes.', [`fail The answer differs from the expected text. ${OUT}`]],
  [{ equals: '{"a":1}' }, { a: 1 }, [`pass ${OUT}`]],
  [{ equals: { a: 1, b: { c: [1] } } }, { b: { c: [1] }, a: 1 }, [`pass ${OUT}`]],
  [{ equals: { a: 1 } }, '{ "a": 1.0 }', [`pass ${OUT}`]],
  [{ equals: { a: 1 } }, { a: 1, b: 2 }, [`fail The answer differs from the expected JSON value. ${OUT}`]],
  [{ equals: { a: 1 } }, 'a: 1', [`fail The answer is not JSON, but an object was expected. ${OUT}`]],

  [{ regex: ['^A-\\d+$', '(?i)a'] }, 'A-17', [`pass ${OUT}`, `pass ${OUT}`]],
  [{ regex: '^\\d+$' }, 'A-17', [`fail The answer does not match "^\\d+$". ${OUT}`]],
  [{ not_regex: 'sorry' }, 'Sure.', [`pass ${OUT}`]],
  [{ not_regex: '(?i)SORRY' }, 'So sorry.', [`fail The answer matches "(?i)SORRY". ${OUT}`]],

  [{ json_schema: { type: 'object', required: ['a'] } }, { a: 1 }, [`pass ${OUT}`]],
  [{ json_schema: { type: 'array', items: { type: 'number' } } }, '[1,2]', [`pass ${OUT}`]],
  [
    { json_schema: { properties: { items: { items: { properties: { price: { type: 'number' } } } } } } },
    { items: [{ price: 1 }, { price: '2' }] },
    [`fail In the answer, items[1].price must be number. ${OUT}`],
  ],
  [{ json_schema: { required: ['total'] } }, {}, [`fail The answer must have required property 'total'. ${OUT}`]],
  [
    { json_schema: { additionalProperties: false } },
    { 'odd key': 1 },
    [`fail The answer must NOT have additional properties (["odd key"]). ${OUT}`],
  ],
  [{ json_schema: draft07({ items: [{ type: 'string' }], additionalItems: false }) }, '["a"]', [`pass ${OUT}`]],
  [
    { json_schema: draft07({ items: [{ type: 'string' }], additionalItems: false }) },
    '["a", 1]',
    [`fail The answer must NOT have more than 1 items. ${OUT}`],
  ],
  [
    { json_schema: draft07({ dependencies: { card: ['owner'] } }) },
    { card: 1 },
    [`fail The answer must have property owner when property card is present. ${OUT}`],
  ],
  // In draft-07, keywords next to $ref are ignored.
  [
    { json_schema: draft07({ properties: { a: { $ref: '#/definitions/n', maximum: 1 } }, definitions: { n: {} } }) },
    { a: 2 },
    [`pass ${OUT}`],
  ],
  // Keywords of later versions are ignored too.
  [
    { json_schema: draft07({ prefixItems: [{ type: 'string' }], dependentRequired: { a: ['b'] } }) },
    '[1]',
    [`pass ${OUT}`],
  ],
  [
    { json_schema: draft07({ properties: { a: { pattern: '^a+$' } } }) },
    { a: 'b' },
    [`fail In the answer, a must match pattern "^a+$". ${OUT}`],
  ],
  [{ json_schema: { type: 'object' } }, 'Hello.', [`fail The answer is not JSON. ${OUT}`]],
  [{ json_schema: { enum: [{ a: [1] }] } }, { a: [1] }, [`pass ${OUT}`]],
  [
    { json_schema: { properties: { a: { const: 2 } } } },
    { a: 1 },
    [`fail In the answer, a must be the one value that the schema allows. ${OUT}`],
  ],
  [
    { json_schema: { properties: { a: { uniqueItems: true } } } },
    {
      a: [
        { b: 1, c: 2 },
        { c: 2, b: 1 },
      ],
    },
    [`fail In the answer, a must not contain duplicates. ${OUT}`],
  ],
  [{ json_schema: { properties: { a: { pattern: '^a+$' } } } }, { a: 'aaa' }, [`pass ${OUT}`]],

  [{ json_path: [{ path: '$.a[1].b', equals: { c: 1 } }] }, { a: [0, { b: { c: 1 } }] }, [`pass ${OUT}`]],
  [{ json_path: [{ path: '$["odd key"]', exists: true }] }, { 'odd key': null }, [`pass ${OUT}`]],
  [{ json_path: [{ path: '$.b', exists: true }] }, { a: 1 }, [`fail The answer has nothing at "$.b". ${OUT}`]],
  [{ json_path: [{ path: '$.b', exists: false }] }, { a: 1 }, [`pass ${OUT}`]],
  [{ json_path: [{ path: '$.a', exists: false }] }, { a: 1 }, [`fail The answer has a value at "$.a". ${OUT}`]],
  [{ json_path: [{ path: '$.a[*].p', equals: 2 }] }, { a: [{ p: 1 }, { p: 2 }, 3] }, [`pass ${OUT}`]],
  [
    { json_path: [{ path: '$.a[*].p', equals: 3 }] },
    { a: [{ p: 1 }, { p: 2 }] },
    [`fail The answer has an unexpected value at "$.a[*].p". ${OUT}`],
  ],
  [{ json_path: [{ path: '$[*]', regex: '^b' }] }, { x: 'abc', y: 'bcd' }, [`pass ${OUT}`]],
  [{ json_path: [{ path: '$.n', regex: '^\\d+$' }] }, '{"n": 17}', [`pass ${OUT}`]],
  [{ json_path: [{ path: '$', equals: [1] }] }, '[1]', [`pass ${OUT}`]],
  [{ json_path: [{ path: '$.a', exists: false }] }, 'no JSON', [`fail The answer is not JSON. ${OUT}`]],

  [{ tool_required: ['a', 'c'] }, '', ['pass @events[0]', 'fail The tool "c" was not called.'], calls('a', 'b')],
  [{ tool_forbidden: ['c', 'b'] }, '', ['pass', 'fail The tool "b" was called. @events[1]'], calls('a', 'b')],
  [{ tool_sequence: ['a', 'c'] }, '', ['pass @events[2]'], calls('a', 'b', 'c')],
  [{ tool_sequence: 'b' }, '', ['pass @events[1]'], calls('a', 'b')],
  [
    { tool_sequence: ['b', 'a'] },
    '',
    ['fail The tool "a" was not called after the tools that precede it in the sequence. @events[1]'],
    calls('a', 'b'),
  ],
  [
    { tool_sequence: ['a', 'a'] },
    '',
    ['fail The tool "a" was not called after the tools that precede it in the sequence. @events[0]'],
    calls('a', 'b'),
  ],
  [{ tool_sequence: ['z'] }, '', ['fail The tool "z" was not called.'], calls('a', 'b')],

  [
    { action_required: ['refund', 'mail'] },
    '',
    ['pass @proposed_actions[1]', 'fail The action "mail" was not proposed.'],
    actions(action('note', 'low', 0), action('refund', 'low', 0)),
  ],
  [{ evidence_required_for_actions: true }, '', ['pass'], actions(action('a', 'low', 0), action('b', 'high', 1))],
  [{ evidence_required_for_actions: false }, '', [], actions(action('b', 'high', 0))],
  [
    { evidence_required_for_actions: true },
    '',
    ['fail The action "b" names no evidence, and its risk is not low. @proposed_actions[1]'],
    actions(action('a', 'low', 0), action('b', 'high', 0)),
  ],
  [{ evidence_required_for_actions: true }, '', ['pass'], citing('c1')],
  [
    { evidence_required_for_actions: true },
    '',
    ['fail The action "refund" cites the result of a call that has none. @proposed_actions[0]'],
    citing('c1', 'c2'),
  ],
  [
    { retrieval_required: { doc_ids: ['d2', 'd9'] } },
    '',
    ['pass @events[1]', 'fail The document "d9" was not retrieved.'],
    retrieval(['d1'], ['d2', 'd3']),
  ],

  [{ max_latency_ms: 50 }, '', ['pass'], attempt(50)],
  [{ max_latency_ms: 50 }, '', ['fail The answer took 51 milliseconds, but at most 50 are allowed.'], attempt(51)],
  [{ max_latency_ms: 50 }, '', ['not_judged The run does not record how long the answer took.'], attempt()],
  [{ max_ttft_ms: 50 }, '', ['pass'], streamed(50)],
  [
    { max_ttft_ms: 50 },
    '',
    ['fail The first token came after 50.5 milliseconds, but at most 50 are allowed.'],
    streamed(50.5),
  ],
  [
    { max_ttft_ms: 50 },
    '',
    [
      'not_judged The time to first token is unknown: the reply was not a stream, or the target does not declare stream.first_output.',
    ],
    attempt(10),
  ],
  [{ max_cost_usd: 0.5 }, '', ['pass'], { agent_fields: { token_usage: { cost_usd: 0.5 } } }],
  [
    { max_cost_usd: 0.5 },
    '',
    ['fail The answer cost 0.6 US dollars, but at most 0.5 are allowed.'],
    { agent_fields: { cost_usd: 0.6 } },
  ],
  [{ max_cost_usd: 0.5 }, '', ['not_judged The agent did not report what the answer cost.']],
  [{ max_steps: 2 }, '', ['pass'], calls('a', 'a')],
  [{ max_steps: 1 }, '', ['fail The agent made 2 tool calls, but at most 1 are allowed.'], calls('a', 'a')],

  [{ termination: 'completed' }, '', ['pass'], agentRun()],
  [
    { termination: 'killed_idle' },
    '',
    ['fail The agent ended as completed, but killed_idle was expected.'],
    agentRun(),
  ],
  [{ no_violations: true }, '', ['pass'], agentRun()],
  [{ no_violations: false }, '', [], agentRun({ violations: { total: 1, listed: [DENIED] } })],
  [
    { no_violations: true },
    '',
    ['fail violation: native_policy_block Write, and 1 more.'],
    agentRun({ violations: { total: 2, listed: [DENIED, DENIED] } }),
  ],
  [{ allow_violations: 'native_policy_block' }, '', ['pass'], agentRun({ violations: { total: 1, listed: [DENIED] } })],
  [
    { allow_violations: ['native_policy_block'] },
    '',
    ['fail violation: network_violation.'],
    agentRun({ violations: { total: 2, listed: [DENIED, { class: 'network_violation', hard: false }] } }),
  ],
  [{ no_flags: true }, '', ['pass'], agentRun()],
  [{ no_flags: false }, '', [], agentRun({ flags: [{ flag: 'needs_review', message: 'A file.' }] })],
  [
    { no_flags: true },
    '',
    ['fail The run is flagged: needs_review.'],
    agentRun({ flags: [{ flag: 'needs_review', message: 'A file.' }] }),
  ],
  [{ changed_only: ['docs', '*.md'] }, '', ['pass'], changing('docs/a/b.txt', 'README.md')],
  [{ changed_only: [] }, '', ['pass'], changing()],
  [
    { changed_only: ['docs'] },
    '',
    ['fail The agent changed "src/a.ts", which it is not allowed to change.'],
    changing('docs/a.md', 'src/a.ts'),
  ],
  [{ not_changed: ['docs/', 'src/**/*.ts'] }, '', ['pass', 'pass'], changing('src/a.js', 'doc')],
  [
    { not_changed: ['docs', 'src/**/*.ts'] },
    '',
    ['pass', 'fail The agent changed "src/x/y/a.ts".'],
    changing('src/x/y/a.ts'),
  ],
  [{ max_diff_lines: 4 }, '', ['pass'], changing('a', 'b')],
  [{ max_diff_lines: 3 }, '', ['fail The agent changed 4 lines, but at most 3 are allowed.'], changing('a', 'b')],
  [{ check: 'unit' }, '', ['pass'], checking(checkNote())],
  [
    { check: ['unit', 'hidden'] },
    '',
    ['pass', 'fail 1 of 3 tests of the check hidden fails: parse handles empty input.'],
    checking(checkNote(), testedNote('hidden', 2, 'parse handles empty input')),
  ],
  [{ tests: { passed_min: 3, failed_max: 0 } }, '', ['pass', 'pass'], checking(testedNote('a', 3), checkNote())],
  [
    { tests: { passed_min: 4, failed_max: 1 } },
    '',
    [
      'fail 3 of 5 tests pass, but at least 4 must pass.',
      'fail 2 of 4 tests of the check a fail: x, y. At most 1 may fail.',
    ],
    checking(testedNote('a', 2, 'x', 'y'), testedNote('b', 1)),
  ],
  ...NOT_JUDGED.map(
    (name): Row => [{ [name]: {} }, '', ['not_judged Proctor stores this expectation but does not judge it.']],
  ),
];

describe('an answer is judged', () => {
  test.each(rows)('by %j: %j gives %j', (expected, content, lines, over) => {
    expect(found(expected, content, over)).toEqual(lines);
  });

  test('by every known expectation: each can pass and fail, unless it is only stored', () => {
    const statuses = (name: string): Set<string | undefined> =>
      new Set(
        rows
          .filter(([asked]) => Object.hasOwn(asked, name))
          .flatMap(([, , lines]) => lines.map(line => line.split(' ')[0])),
      );
    for (const name of EXPECTATIONS.filter(name => name !== 'script')) {
      if ((NOT_JUDGED as readonly string[]).includes(name)) expect([...statuses(name)], name).toEqual(['not_judged']);
      else expect([...statuses(name)], name).toEqual(expect.arrayContaining(['pass', 'fail']));
    }
  });

  test('by all expectations of a case, in order', () => {
    const expected = { max_steps: 3, contains: ['a', 'z'], tool_required: 't', equals: 'a' };
    expect(found(expected, 'a', calls('t'))).toEqual([
      `pass ${OUT}`,
      `fail The answer does not contain "z". ${OUT}`,
      `pass ${OUT}`,
      'pass @events[0]',
      'pass',
    ]);
  });
});

describe('an expectation', () => {
  const broken: [string, Expected, RegExp][] = [
    ['an incomplete pattern', { regex: '(' }, /pattern is invalid/],
    ['a pattern with a lookbehind', { not_regex: '(?<=a)b' }, /pattern is invalid/],
    ['a pattern with a backreference', { regex: '(a)\\1' }, /pattern is invalid/],
    ['a pattern at a path', { json_path: [{ path: '$', regex: '[' }] }, /pattern is invalid/],
    ['a path with an invalid name', { json_path: [{ path: '$["\\q"]', exists: true }] }, /not a valid JSON string/],
    ['a schema with an unknown type', { json_schema: { type: 'strin' } }, /not a valid JSON Schema/],
    [
      'a schema of another draft',
      { json_schema: { $schema: 'http://json-schema.org/draft-04/schema#' } },
      /version of JSON Schema other than/,
    ],
    [
      'a schema with an external reference',
      { json_schema: { $ref: 'https://example.com/a' } },
      /refers to something that does not exist/,
    ],
    ['a schema with a bad pattern', { json_schema: { pattern: '(' } }, /pattern is invalid/],
    ['an asynchronous schema', { json_schema: { $async: true, type: 'number' } }, /asynchronous/],
  ];
  test.each(broken)(
    'that is invalid (%s) makes the case an error, and the others are judged',
    (_, expected, message) => {
      const lines = found({ contains: 'a', max_steps: 0, ...expected }, '{"a":1}');
      expect(lines).toHaveLength(4);
      expect([lines[0], lines[2], lines[3]]).toEqual([`pass ${OUT}`, 'pass', 'broken']);
      expect(lines[1]).toMatch(/^not_judged The .*\.$/);
      expect(lines[1]).toMatch(message);
    },
  );

  test('is judged by its own schema, even if another schema has the same name', () => {
    const named = (type: string): Expected => ({
      json_schema: { $id: 'https://example.com/x', $defs: { y: { $id: 'y', type } }, $ref: 'y' },
    });
    expect(found(named('object'), { a: 1 })).toEqual([`pass ${OUT}`]);
    expect(found(named('string'), { a: 1 })).toEqual([`fail The answer must be string. ${OUT}`]);
  });

  test('that is invalid is listed after the results of earlier expectations', () => {
    expect(found({ regex: ['a', '('] }, 'a')).toEqual([`pass ${OUT}`, expect.stringMatching(/^not_judged/), 'broken']);
  });
});
