import fc from 'fast-check';
import { jsonpath } from 'json-p3';
import { describe, expect, test } from 'vitest';
import { compilePath, selectAll, selectFirst } from '../../../src/targets/mapping/path.ts';
import { PathError } from '../../../src/targets/mapping/path-text.ts';
import { StepBudget, TooManySteps } from '../../../src/targets/mapping/step-budget.ts';

const found = (path: string, document: unknown): readonly unknown[] =>
  selectAll(compilePath(path), document, new StepBudget());

function failure(path: string): PathError {
  try {
    compilePath(path);
  } catch (error) {
    if (error instanceof PathError) return error;
  }
  throw new Error(`${path} compiled.`);
}

/** Few names, so that random paths often lead somewhere. */
const NAMES = ['a', 'b', 'type', 'it em', "o'b", '"', '\\', '', 'ü', '😀', '0', '-1', 'length', 'constructor', '\n'];
const SCALARS = [null, true, false, 0, -0, 1, 1.5, -2, 1e21, 'x', 'a', '', "o'b", '"', '😀', '\t'];

const documents = fc.letrec<{ value: unknown; list: unknown; object: unknown; root: unknown }>(tie => ({
  value: fc.oneof(
    { maxDepth: 3, depthSize: 'max' },
    { weight: 2, arbitrary: fc.constantFrom(...SCALARS) },
    { weight: 2, arbitrary: tie('list') },
    { weight: 3, arbitrary: tie('object') },
  ),
  list: fc.array(tie('value'), { minLength: 1, maxLength: 4 }),
  object: fc.dictionary(fc.oneof(fc.constantFrom('a', 'b', 'type'), fc.constantFrom(...NAMES)), tie('value'), {
    minKeys: 1,
    maxKeys: 5,
  }),
  root: fc.oneof(tie('value'), tie('list'), tie('object')),
})).root;

const blank = fc.constantFrom('', '', '', ' ', '\t', '\n', '\r');
const quotedOf = (text: string) =>
  fc.constantFrom(
    JSON.stringify(text),
    `'${JSON.stringify(text).slice(1, -1).replaceAll('\\"', '"').replaceAll("'", "\\'")}'`,
    `"${[...text].map(escaped).join('')}"`,
  );
/** json-p3 2.3.1 refuses \\u escapes of control characters, which RFC 9535 allows. */
const escaped = (character: string): string =>
  character < ' ' ? JSON.stringify(character).slice(1, -1) : unitsOf(character);
const unitsOf = (character: string): string =>
  Array.from(
    { length: character.length },
    (_, index) => `\\u${character.charCodeAt(index).toString(16).padStart(4, '0')}`,
  ).join('');
const quotedName = fc.constantFrom(...NAMES).chain(quotedOf);
const dotted = fc.constantFrom('.a', '.b', '.type', '.ü', '.length', '.constructor');
const inBrackets = (inner: fc.Arbitrary<string>) => fc.tuple(blank, inner, blank).map(parts => `[${parts.join('')}]`);
const index = fc.constantFrom('0', '1', '2', '-1', '-2', '9', '-9');
const single = fc
  .tuple(blank, fc.oneof(dotted, inBrackets(quotedName), inBrackets(index)))
  .map(parts => parts.join(''));
const below = fc.array(single, { maxLength: 3 }).map(parts => `@${parts.join('')}`);
const literal = fc.oneof(
  fc.constantFrom('null', 'true', 'false', '0', '-0', '1', '1.0', '15e-1', '-2', '1e21', '1E+0'),
  fc.constantFrom('x', 'a', '', "o'b", '"', '😀', '\t').chain(quotedOf),
);
const comparison = fc
  .tuple(fc.constantFrom(0, 1, 2), below, literal, literal, fc.constantFrom('==', '!='), blank, blank)
  .map(([form, path, one, other, operator, before, after]) => {
    const [left, right] = [
      [path, one],
      [one, path],
      [one, other],
    ][form] as [string, string];
    return `${left}${before}${operator}${after}${right}`;
  });
const filters = fc.letrec<{ or: string; basic: string }>(tie => ({
  or: fc
    .tuple(tie('basic'), fc.array(fc.tuple(blank, fc.constantFrom('&&', '||'), blank, tie('basic')), { maxLength: 2 }))
    .map(([first, more]) => first + more.map(parts => parts.join('')).join('')),
  basic: fc.oneof(
    { maxDepth: 3 },
    below,
    comparison,
    below.map(path => `!${path}`),
    tie('or').map(inner => `(${inner})`),
    tie('or').map(inner => `! (${inner} )`),
  ),
})).or;
const segment = fc.oneof(
  { weight: 2, arbitrary: single },
  { weight: 3, arbitrary: inBrackets(fc.constant('*')) },
  { weight: 3, arbitrary: inBrackets(filters.map(filter => `?${filter}`)) },
);
const paths = fc
  .array(segment, { maxLength: 4 })
  .map(segments => `$${segments.join('')}`)
  .filter(path => path.length <= 1_000 && [...path.matchAll(/[.[]/g)].length <= 50);

describe('a path', () => {
  test('selects the same values in the same order as an implementation of RFC 9535', () => {
    let filled = 0;
    fc.assert(
      fc.property(documents, paths, (document, path) => {
        const parsed: unknown = JSON.parse(JSON.stringify(document));
        const values = found(path, parsed);
        expect(values).toEqual(jsonpath.query(path, parsed as never).values());
        if (path !== '$' && values.length > 0) filled++;
      }),
      { numRuns: 5_000, seed: 9535 },
    );
    // With few matches, the comparison would prove little.
    expect(filled).toBeGreaterThan(1_000);
  });

  test('reads an item as its root if it starts with @', () => {
    fc.assert(
      fc.property(documents, paths, (document, path) => {
        expect(found(`@${path.slice(1)}`, document)).toEqual(found(path, document));
      }),
      { numRuns: 300, seed: 9535 },
    );
  });

  test('of any text is also valid in RFC 9535, or causes a PathError with an offset in the text', () => {
    const pieces = [
      '$',
      '@',
      '.',
      '..',
      '[',
      ']',
      '*',
      '?',
      "'",
      '"',
      'a',
      '-',
      '0',
      '1',
      ':',
      ',',
      '(',
      ')',
      '!',
      '=',
    ];
    const more = [
      '==',
      '!=',
      '&&',
      '||',
      '<',
      ' ',
      '\\',
      '\\u',
      'true',
      'length(',
      '$.a',
      "['a']",
      '[?@.a==1]',
      '\ud800',
    ];
    const text = fc.array(fc.constantFrom(...pieces, ...more), { maxLength: 12 }).map(parts => `$${parts.join('')}`);
    fc.assert(
      fc.property(text, path => {
        try {
          compilePath(path);
        } catch (error) {
          expect(error).toBeInstanceOf(PathError);
          expect((error as PathError).offset).toBeLessThanOrEqual(path.length);
          return;
        }
        jsonpath.compile(path);
      }),
      { numRuns: 20_000, seed: 9535 },
    );
  });

  test.each([
    ['$..a', 2, '".." is not supported'],
    ['$.*', 2, 'write [*]'],
    ['$[1:2]', 3, 'slices are not supported'],
    ['$[:2]', 2, 'slices are not supported'],
    ['$[0,1]', 3, 'lists of selectors are not supported'],
    ['$[?length(@.a)==1]', 3, 'functions are not supported'],
    ['$[?@.a<1]', 6, 'only == and !='],
    ["$[?@.a=~'x']", 6, 'regular expressions are not supported'],
    ['$[?@.a==@.b]', 3, 'must be a literal'],
    ['$[?@.a==$.b]', 8, 'not below $'],
    ['$[?@[*]]', 4, 'single values'],
    ['$[?@.a[?@.b]]', 6, 'single values'],
    ['$[?!@.a==1]', 9, 'in parentheses'],
    ['$[?1]', 3, 'compare a literal'],
    ['$.a-b', 3, 'Put other names in quotes'],
    ['$.0', 2, 'expected a name'],
    ['$[01]', 2, 'leading zeros'],
    ['$[-0]', 2, 'not -0'],
    ['$[9007199254740993]', 2, 'too large'],
    ['$[?@.a==1e999]', 8, 'too large'],
    ['$["a]', 2, 'no closing quote'],
    ['$["\\ud800"]', 3, 'low surrogate'],
    ['$["\\udc00"]', 3, 'low surrogate'],
    ['$["\\ud83dx"]', 3, 'low surrogate'],
    ['$["\\ud83d\\u0041"]', 3, 'low surrogate'],
    ['$["\\u00g0"]', 3, 'four hexadecimal digits'],
    ['$["\\x"]', 3, 'escape is not supported'],
    ["$['\\\"']", 3, 'escape is not supported'],
    ['$["\n"]', 3, '\\u escapes'],
    ['$.a ', 3, 'white space'],
    ['a.b', 0, 'starts with $'],
    ['', 0, 'starts with $'],
    ['$[?(@.a]', 7, 'expected ")"'],
    ['$[0', 3, 'expected "]"'],
  ])('%j is refused at %i: %s', (path, offset, message) => {
    const error = failure(path);
    expect(error.message).toContain(message);
    expect(error.offset).toBe(offset);
  });

  test('has a limited length, number of segments and nesting', () => {
    expect(failure(`$${'[*]'.repeat(10_000)}`).message).toContain('1,000 characters');
    expect(found(`$${'[0]'.repeat(50)}`, 1)).toEqual([]);
    expect(failure(`$${'[*]'.repeat(51)}`).message).toContain('50 segments');
    expect(failure(`$[?@${'[0]'.repeat(60)}]`).message).toContain('50 segments');
    const nested = (levels: number): string => `$[?${'('.repeat(levels)}@.a${')'.repeat(levels)}]`;
    expect(found(nested(20), [{ a: 1 }])).toEqual([{ a: 1 }]);
    expect(failure(nested(21)).message).toContain('20 levels');
  });

  test('finds own keys only', () => {
    const hostile: unknown = JSON.parse('{"__proto__":{"a":1},"list":[{"constructor":2},{}]}');
    expect(found('$.__proto__.a', hostile)).toEqual([1]);
    expect(found('$.__proto__', {})).toEqual([]);
    expect(found('$.list[*].constructor', hostile)).toEqual([2]);
    expect(found('$.list[?@.constructor]', hostile)).toEqual([{ constructor: 2 }]);
    expect(found('$.list.length', hostile)).toEqual([]);
    expect(found('$.list["0"]', hostile)).toEqual([]);
    expect(found('$[0]', 'text')).toEqual([]);
    expect(found('$["\\u0000\\u000A"]', { '\0\n': 1 })).toEqual([1]);
  });

  test('takes the first value that is not null', () => {
    const first = (path: string, document: unknown): unknown =>
      selectFirst(compilePath(path), document, new StepBudget());
    expect(first('$[*].a', [{ a: null }, {}, { a: 0 }, { a: 1 }])).toBe(0);
    expect(first('$.a', { a: null })).toBeUndefined();
    expect(first('$.a', { a: false })).toBe(false);
  });

  test('stops when its steps are spent, and counts each visited value and each test of a filter', () => {
    const wide = Array.from({ length: 1_000 }, () => ({ a: 1 }));
    const steps = (path: string): number => {
      const budget = new StepBudget();
      selectAll(compilePath(path), wide, budget);
      return budget.steps;
    };
    expect(steps('$[0].a')).toBe(1);
    expect(steps('$[*]')).toBe(1_001);
    expect(steps('$[?@.a==1]')).toBe(1_001);
    expect(steps('$[?@.a==1 && @.b || !@.c]')).toBe(3_001);
    expect(() => selectAll(compilePath('$[*]'), wide, new StepBudget(1_000))).toThrow(TooManySteps);
  });

  test('works on a document of any depth', () => {
    const deep: unknown = JSON.parse(`${'['.repeat(100_000)}1${']'.repeat(100_000)}`);
    expect(found(`$${'[*]'.repeat(50)}`, deep)).toHaveLength(1);
    expect(found(`$[?@${'[0]'.repeat(40)}]`, deep)).toHaveLength(1);
  });
});
