import { describe, expect, test } from 'vitest';
import { Effort } from '../../../src/judge/suite/effort.ts';
import { validatorOf } from '../../../src/judge/suite/json-schema.ts';
import { isEndless } from '../../../src/judge/suite/schema-cycles.ts';
import { Unjudgeable } from '../../../src/judge/suite/unjudgeable.ts';

const TREE = {
  $id: 'https://example.org/tree',
  type: 'object',
  properties: { children: { type: 'array', items: { $ref: '#' } }, left: { anyOf: [{ $ref: '#' }, { type: 'null' }] } },
};

describe('a schema is not endless', () => {
  test.each<[string, object]>([
    ['if each reference looks deeper', TREE],
    ['if a reference uses its full name', { ...TREE, properties: { next: { $ref: 'https://example.org/tree' } } }],
    [
      'if two references have the same target',
      { allOf: [{ $ref: '#/$defs/a' }, { $ref: '#/$defs/a' }], $defs: { a: {} } },
    ],
    ['if properties have the names of keywords', { properties: { not: { $ref: '#' }, allOf: { $ref: '#' } } }],
    ['if a value only looks like a reference', { const: { $ref: '#' }, enum: [{ $ref: '#' }] }],
    ['if a reference leads nowhere', { $ref: '#/$defs/none' }],
  ])('%s', (_, schema) => {
    expect(isEndless(schema as Record<string, unknown>)).toBe(false);
  });

  test('if it describes a tree, and it judges trees correctly', () => {
    const validate = validatorOf(TREE, new Effort());
    expect(validate({ children: [{ children: [] }], left: null }, new Effort())).toBeUndefined();
    expect(validate({ children: [{ children: 1 }] }, new Effort())).toMatchObject({ place: 'children[0].children' });
  });
});

test('an endless schema with embedded resources causes no internal error', () => {
  const schema = { allOf: [{ $id: 'https://example.org/a', $ref: '#' }] };
  expect(() => validatorOf(schema, new Effort())({}, new Effort())).toThrow(Unjudgeable);
});
