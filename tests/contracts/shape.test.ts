import { describe, expect, test } from 'vitest';
import * as z from 'zod/mini';
import { formOf } from '../../src/contracts/form.ts';
import {
  between,
  contentHashText,
  count,
  filledText,
  instant,
  isoTime,
  record,
  relativePath,
  type Shape,
} from '../../src/contracts/shape.ts';

const said = (shape: Shape, value: unknown): string[] =>
  [...formOf(shape).faults(value, '')].map(({ path, message }) => `${path} ${message}`.trim());

describe('the faults of a malformed value', () => {
  const rows: [Shape, unknown, string[]][] = [
    [record({ a: z.string() }), {}, ['a is missing']],
    [record({ a: z.string() }), { a: null }, ['a must be a string, but is null']],
    [record({ a: z.string() }), { a: [] }, ['a must be a string, but is a list']],
    [record({ a: z.boolean() }), { a: 'yes' }, ['a must be true or false, but is a string']],
    [
      record({ a: z.array(z.string()) }),
      { a: ['x', 1, {}] },
      ['a[1] must be a string, but is a number', 'a[2] must be a string, but is an object'],
    ],
    [record({ a: z.literal('x') }), { a: 'y' }, ['a must be "x"']],
    [record({ a: z.enum(['x', 'y']) }), { a: 3 }, ['a must be one of "x", "y"']],
    [record({ a: between(1, 5) }), { a: 9 }, ['a must be at most 5, but is 9']],
    [record({ a: count() }), { a: 1.5 }, ['a must be an integer, but is 1.5']],
    [record({ a: count() }), { a: -1 }, ['a must be at least 0, but is -1']],
    [record({ a: filledText() }), { a: '' }, ['a must not be empty']],
    [record({ a: filledText() }), { a: { length: 0 } }, ['a must be a string, but is an object']],
    [record({ a: z.array(z.string()).check(z.minLength(1)) }), { a: [] }, ['a must have at least 1 element']],
    [
      record({ a: contentHashText() }),
      { a: 'sha256:XYZ' },
      ['a must be sha256: followed by 64 lower-case hexadecimal digits'],
    ],
    [record({ a: relativePath() }), { a: '/x' }, ['a must be a relative path, but is absolute']],
    [record({ a: instant() }), { a: 'noon' }, ['a must be an instant in UTC such as 2026-01-06T12:00:00.000Z']],
    [record({ a: instant() }), { a: '2026-02-30T12:00:00Z' }, ['a is not a valid date and time']],
    [record({ a: isoTime() }), { a: '2026-02-30T12:00:00+02:00' }, ['a is not a valid date and time']],
    [record({ a: isoTime() }), { a: '2026-02-03T12:00:00.123456789+02:00' }, []],
    [
      record({ a: z.union([z.string(), z.array(z.string())]) }),
      { a: 3 },
      ['a must be a string or a list, but is a number'],
    ],
  ];
  test.each(rows)('are described in plain sentences: %#', (shape, value, sentences) => {
    expect(said(shape, value)).toEqual(sentences);
  });

  test('are yielded one at a time, even for a million elements', () => {
    let count = 0;
    for (const _ of formOf(record({ a: z.array(z.string()) })).faults(
      { a: Array.from({ length: 1_000_000 }, () => 7) },
      '',
    ))
      count++;
    expect(count).toBe(1_000_000);
  });

  test('come from the option of a union that the tag selects', () => {
    const shape = z.union([
      record({ type: z.literal('a'), x: z.number() }),
      record({ type: z.literal('b'), y: z.number() }),
    ]);
    expect(said(shape, { type: 'b', y: 'no' })).toEqual(['y must be a number, but is a string']);
  });
});

describe('an object whose other members have one form', () => {
  const shape = z.catchall(record({ a: z.string() }), record({ b: z.optional(z.number()) }));
  const unknownIn = (value: unknown): string[] =>
    [...formOf(shape).unknown(value, '')].map(({ parent, key }) => `${parent}.${key}`);

  test('has faults in named and other members', () => {
    expect(said(shape, { a: 1, x: { b: 'no' }, y: 2 })).toEqual([
      'a must be a string, but is a number',
      'x.b must be a number, but is a string',
      'y must be an object, but is a number',
    ]);
    expect(said(shape, { x: {} })).toEqual(['a is missing']);
    expect(said(shape, [])).toEqual(['must be an object, but is a list']);
  });

  test('has no unknown keys of its own except __proto__', () => {
    const value: unknown = JSON.parse('{"a":"","x":{"b":1,"c":2},"__proto__":{}}');
    expect(unknownIn(value)).toEqual(['.__proto__', 'x.c']);
  });

  test('is accepted by the fast path only if nothing is wrong', () => {
    expect(formOf(shape).fits({ a: '', x: { b: 1 } })).toBe(true);
    expect(formOf(shape).fits({ a: '', x: { c: 1 } })).toBe(false);
    expect(formOf(shape).fits({ a: 1 })).toBe(false);
    expect(formOf(shape).fits(null)).toBe(false);
  });
});
