import { describe, expect, test } from 'vitest';
import type { Expected } from '../../src/contracts/suite/index.ts';
import { reportedUsage } from '../../src/judge/suite/usage.ts';
import { answered, found } from '../judge/suite/answers.ts';

const OUT = '@final_output.content';

// At these sizes, quadratic work takes many minutes and linear work about a second.
describe('judges a hostile answer in linear time', () => {
  const SCALE = 40;
  const attacks: [string, Expected, (size: number) => string | Record<string, unknown>, number][] = [
    ['a nested repetition', { regex: '(a+)+$' }, size => `${'a'.repeat(size)}!`, 25_000],
    ['overlapping alternatives', { not_regex: '^(a|aa|a*)*c$' }, size => 'a'.repeat(size), 25_000],
    ['an email address', { regex: '[a-z0-9]+([._-][a-z0-9]+)*@[a-z]+\\.[a-z]+' }, size => 'a'.repeat(size), 25_000],
    ['many wildcards', { regex: '.*.*.*.*=.*' }, size => 'x'.repeat(size), 5_000],
    [
      'a pattern in a schema',
      { json_schema: { properties: { a: { pattern: '^(([a-z])+.)+[A-Z]([a-z])+$' } } } },
      size => ({ a: 'a'.repeat(size) }),
      12_500,
    ],
    [
      'keys that a schema matches with a pattern',
      { json_schema: { patternProperties: { '(x+x+)+y': { type: 'string' } } } },
      size => ({ ['x'.repeat(size)]: 1 }),
      12_500,
    ],
    [
      'a list of objects that must differ',
      { json_schema: { properties: { a: { uniqueItems: true } } } },
      size => ({ a: Array.from({ length: size }, (_, index) => ({ index })) }),
      2_500,
    ],
    ['many combining marks on one letter', { must_include: 'b' }, size => `a${'\u0301\u0316'.repeat(size)}`, 10_000],
    [
      'combining marks in the wrong order',
      { must_include: 'b' },
      size => `a${'\u0301'.repeat(size)}${'\u0316'.repeat(size)}`,
      10_000,
    ],
    ['white space', { must_include: 'b' }, size => `${' \n\u2003'.repeat(size)}a`, 25_000],
    ['texts that almost match', { contains: `${'a'.repeat(2_000)}b` }, size => 'a'.repeat(size), 25_000],
    ['a wide document', { json_path: [{ path: '$[*][*]', equals: -1 }] }, size => ({ a: Array(size).fill(1) }), 12_500],
  ];
  test.each(attacks)('%s', (_, expected, content, size) => {
    expect(found(expected, content(SCALE * size))).toBeDefined();
  });
});

describe('an answer', () => {
  test('is searched only for its own keys, not for inherited names', () => {
    const named = (name: string): Expected => ({ json_path: [{ path: `$["${name}"]`, exists: true }] });
    for (const name of ['__proto__', 'constructor', 'toString', 'valueOf', 'hasOwnProperty']) {
      expect(found(named(name), {}), name).toEqual([`fail The answer has nothing at "$["${name}"]". ${OUT}`]);
      const own = JSON.parse(`{"${name}":{"a":1}}`) as Record<string, unknown>;
      expect(found(named(name), own), name).toEqual([`pass ${OUT}`]);
      expect(found({ json_path: [{ path: `$["${name}"].a`, equals: 1 }] }, own), name).toEqual([`pass ${OUT}`]);
      expect(found({ json_schema: { required: [name] } }, {})[0], name).toMatch(/^fail/);
      expect(found({ json_schema: { required: [name] } }, own), name).toEqual([`pass ${OUT}`]);
      expect(found({ equals: own }, own), name).toEqual([`pass ${OUT}`]);
      expect(found({ json_schema: { const: own } }, own), name).toEqual([`pass ${OUT}`]);
      expect(found({ json_schema: { enum: [{ b: 1 }] } }, own)[0], name).toMatch(/^fail/);
    }
    expect(found({ json_path: [{ path: '$.a.length', exists: true }] }, { a: [1] })[0]).toMatch(/^fail/);
    expect(found({ json_path: [{ path: '$.a[0]', exists: true }] }, { a: 'text' })[0]).toMatch(/^fail/);
    expect(Object.getPrototypeOf({})).toBe(Object.prototype);
  });

  test('at the nesting limit is judged', () => {
    let deep: Record<string, unknown> = { end: true };
    for (let depth = 0; depth < 58; depth++) deep = { a: deep };
    const path = `$${'.a'.repeat(58)}.end`;
    expect(found({ json_path: [{ path, equals: true }], equals: deep, contains: '"end":true' }, deep)).toEqual(
      Array(3).fill(`pass ${OUT}`),
    );
    const recursive = {
      $ref: '#/$defs/n',
      $defs: { n: { properties: { a: { $ref: '#/$defs/n' }, end: { const: true } } } },
    };
    expect(found({ json_schema: recursive }, deep)).toEqual([`pass ${OUT}`]);
    const text = `${'['.repeat(100_000)}${']'.repeat(100_000)}`;
    expect(found({ json_path: [{ path: '$', exists: true }] }, text)).toEqual([`fail The answer is not JSON. ${OUT}`]);
  });

  test('that makes a schema branch at each level is not judged, and others with that schema are', () => {
    // Keys are sorted, so the branches differ only after the recursion.
    const node = (type: string): object => ({
      required: ['type'],
      properties: { left: { $ref: '#/$defs/n' }, right: { $ref: '#/$defs/n' }, type: { const: type } },
    });
    const json_schema = { $ref: '#/$defs/n', $defs: { n: { oneOf: ['add', 'mul', 'num'].map(node) } } };
    let deep: Record<string, unknown> = { type: 'num' };
    for (let depth = 0; depth < 50; depth++) deep = { left: deep, type: 'add' };
    expect(found({ json_schema }, deep)).toEqual([
      'not_judged Checking this answer against the schema takes too many steps.',
      'broken',
    ]);
    expect(found({ json_schema }, { left: { type: 'num' }, type: 'mul' })).toEqual([`pass ${OUT}`]);
    expect(found({ json_schema }, { left: { type: 'div' }, type: 'mul' })[0]).toMatch(/^fail /);
  });

  test('of ambiguous JSON does not count as JSON', () => {
    for (const text of ['{"a":1,"a":2}', '{"a":1}x', '{"a":9007199254740993}', '{"a":"\\ud800"}', 'NaN', '']) {
      expect(found({ json_path: [{ path: '$.a', exists: true }] }, text), text).toEqual([
        `fail The answer is not JSON. ${OUT}`,
      ]);
    }
  });

  test('of several megabytes is judged by every expectation', () => {
    const content = `${'lorem ipsum '.repeat(400_000)}end`;
    expect(
      found({ contains: 'ipsum end', must_include: 'IPSUM END', regex: 'ipsum end$', equals: content }, content),
    ).toEqual(Array(4).fill(`pass ${OUT}`));
  });
});

describe('a message', () => {
  test('shows the beginning of a long text', () => {
    const [line = ''] = found({ contains: 'é'.repeat(5_000) }, '');
    expect(line).toMatch(/^fail The answer does not contain "é{30,}…"\. /);
    expect(Buffer.byteLength(line)).toBeLessThan(200);
  });

  test('shows no secret, no machine path and no terminal control', () => {
    const secret = `sk-${'a1B2'.repeat(8)}`;
    const said = (text: string): string => found({ contains: text }, '')[0] ?? '';
    expect(said(`key ${secret} end`)).toContain('"key [masked] end"');
    expect(said('see /home/ann/notes.txt')).toContain('a text that is not shown here');
    expect(said('\u001b[31mred\u202e')).toContain('"\\u{1b}[31mred\\u{202e}"');
    expect(said(`${'x'.repeat(60)}AKIA${'A'.repeat(40)}`)).not.toMatch(/AKIA[A-Z0-9]{16}\b/);
  });

  test("about a schema does not show the answer's keys", () => {
    const content = { [`/home/ann/${'k'.repeat(500)}`]: 1 };
    const [line = ''] = found({ json_schema: { additionalProperties: { type: 'string' } } }, content);
    expect(line).toBe(`fail The answer does not match the schema. ${OUT}`);
  });
});

describe('the cost that an agent reports', () => {
  const usage = (agent_fields?: Record<string, unknown>) =>
    reportedUsage(answered('', agent_fields && { agent_fields }));
  test.each([
    [undefined, null, null],
    [{}, null, null],
    [{ token_usage: { cost_usd: 0.1, total_tokens: 7 } }, 0.1, 7],
    [{ usage: { input_tokens: 3, output_tokens: 4 }, cost_usd: 0.2 }, 0.2, 7],
    [{ usage: { input_tokens: 3 } }, null, 3],
    [{ token_usage: { total_tokens: 9, input_tokens: 1 }, usage: { cost_usd: 1 } }, 1, 9],
    [{ token_usage: { cost_usd: -1, total_tokens: '7' }, cost_usd: 0 }, 0, null],
    [{ token_usage: null, usage: [1], cost_usd: 'free' }, null, null],
    [{ usage: { input_tokens: 1.7e308, output_tokens: 1.7e308 } }, null, null],
    [JSON.parse('{"__proto__":{"cost_usd":3}}') as Record<string, unknown>, null, null],
  ])('in %j is read as %j dollars and %j tokens', (fields, costUsd, tokens) => {
    expect(usage(fields)).toMatchObject({ costUsd, tokens });
  });
});
