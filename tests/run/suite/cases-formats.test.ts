import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { stringify } from 'yaml';
import { canonicalize } from '../../../src/base/canonical.ts';
import { rowsOf } from '../../../src/run/suite/csv.ts';
import { casesIn } from './cases-world.ts';

/** Texts that a table can hold: everything but NUL and lone surrogates. */
const text = fc.string({ unit: 'binary', maxLength: 12 }).map(string => string.replaceAll('\0', '"'));
const filled = text.filter(string => string !== '');
const number = fc.oneof(fc.maxSafeInteger(), fc.double({ min: -1e6, max: 1e6, noNaN: true }));
const json = fc.letrec(tie => ({
  value: fc.oneof(
    { maxDepth: 3 },
    fc.constantFrom(null, true, false),
    number,
    text,
    fc.array(tie('value'), { maxLength: 3 }),
    fc.dictionary(text, tie('value'), { maxKeys: 3, noNullPrototype: true }),
  ),
})).value;
const object = fc.dictionary(text, json, { maxKeys: 3, noNullPrototype: true });
const texts = fc.oneof(filled, fc.array(filled, { maxLength: 3 }));
const path = fc.constantFrom('$', '$.a', '$["a b"][0]', '$[*].x');

const expected = fc.record(
  {
    contains: texts,
    must_not_include: texts,
    equals: fc.oneof(text, object),
    regex: fc.constantFrom('^a+$', ['x', '[0-9]'], '(?i)hallo'),
    json_schema: fc.constantFrom({ type: 'object' }, { required: ['a'] }),
    json_path: fc.array(fc.record({ path, equals: json }), { maxLength: 2 }),
    tool_sequence: texts,
    evidence_required_for_actions: fc.boolean(),
    max_cost_usd: fc.double({ min: 0, max: 100, noNaN: true }),
    max_steps: fc.nat(),
    max_ttft_ms: fc.nat(),
    script: fc.constant({ file: 'checks/total.py', timeout_ms: 500 }),
    semantic: object,
  },
  { requiredKeys: [] },
);

const one = fc.record(
  {
    id: fc.stringMatching(/^q[a-z0-9._-]{4,20}$/),
    title: filled,
    suite: filled,
    input: fc.record({ user: text, context: json }, { requiredKeys: ['user'] }),
    expected,
    metadata: object,
  },
  { requiredKeys: ['id'] },
);

const cases = fc.uniqueArray(one, { selector: ({ id }) => id, minLength: 1, maxLength: 6 });

type Case = typeof one extends fc.Arbitrary<infer Value> ? Value : never;

const quoted = (cell: string): string => `"${cell.replaceAll('"', '""')}"`;
const cellOf = (value: unknown): string => (value === undefined ? '' : JSON.stringify(value));

function csv(list: readonly Case[]): string {
  const rows = list.map(({ id, title = '', suite = '', input, expected: asks, metadata }) =>
    [id, title, suite, input?.user ?? '', cellOf(input?.context), cellOf(asks), cellOf(metadata)].map(quoted).join(','),
  );
  return ['id,title,suite,user,context,expected,metadata', ...rows].join('\r\n');
}

/** Each expectation in a separate column. Those that a cell would read as something else are lists or objects. */
function csvWithColumns(list: readonly Case[]): string {
  const keys = [...new Set(list.flatMap(({ expected: asks = {} }) => Object.keys(asks)))];
  const rows = list.map(({ expected: asks = {}, ...rest }) => {
    const cells = keys.map(key => cellOf((asks as Record<string, unknown>)[key]));
    return [rest.id, rest.title ?? '', rest.suite ?? '', rest.input?.user ?? '', cellOf(rest.input?.context), ...cells]
      .concat(cellOf(rest.metadata))
      .map(quoted)
      .join(',');
  });
  const header = ['id', 'title', 'suite', 'user', 'context', ...keys.map(key => `expected.${key}`), 'metadata'];
  return [header.join(','), ...rows, ''].join('\n');
}

const resolved = (list: readonly Case[]): string[] =>
  list.map(written => canonicalize({ schema_version: 'suite-case.v1', input: { user: '' }, ...written }));

describe('the same cases are read from every format', () => {
  const FORMS: [string, string, (list: readonly Case[]) => string][] = [
    ['a JSON list', 'json', list => JSON.stringify(list)],
    ['a JSON object', 'json', list => JSON.stringify({ schema_version: 'cases.v1', cases: list }, null, 2)],
    ['JSON lines', 'jsonl', list => list.map(written => JSON.stringify(written)).join('\n')],
    ['YAML', 'yaml', list => stringify(list, { aliasDuplicateObjects: false })],
    ['JSON with a YAML extension', 'yml', list => JSON.stringify({ cases: list }, null, 1)],
    ['CSV', 'csv', csv],
  ];

  test.each(FORMS)('%s', (_, ending, write) => {
    fc.assert(
      fc.property(cases, list => {
        expect(casesIn(`cases.${ending}`, write(list)).map(canonicalize)).toEqual(resolved(list));
      }),
    );
  });

  test('CSV with a column per expectation, including cases without expectations', () => {
    const listsOnly = cases.map(list =>
      list.map(({ expected: asks = {}, ...rest }) => {
        const { equals: _equals, ...others } = asks;
        const entries = Object.entries(others).map(([key, value]) => [
          key,
          typeof value === 'string' ? [value] : value,
        ]);
        return entries.length === 0 ? rest : { ...rest, expected: Object.fromEntries(entries) as Case['expected'] };
      }),
    );
    fc.assert(
      fc.property(listsOnly, list => {
        expect(casesIn('cases.csv', csvWithColumns(list as Case[])).map(canonicalize)).toEqual(
          resolved(list as Case[]),
        );
      }),
    );
  });
});

describe('a table', () => {
  const cell = fc.string({ unit: fc.constantFrom('a', ',', '"', '\n', '\r', ' ', 'é', '😀'), maxLength: 6 });
  const table = fc
    .integer({ min: 2, max: 4 })
    .chain(width => fc.array(fc.array(cell, { minLength: width, maxLength: width }), { minLength: 1, maxLength: 5 }));
  const rowEnd = fc.constantFrom('\n', '\r\n');

  test('survives a round trip, whether cells are quoted always or only if needed', () => {
    const careful = (text: string): string => (/[",\r\n]/.test(text) ? quoted(text) : text);
    fc.assert(
      fc.property(table, rowEnd, fc.boolean(), fc.boolean(), (rows, end, isCareful, endsWithRow) => {
        const written = rows.map(row => row.map(isCareful ? careful : quoted).join(',')).join(end);
        const read = [...rowsOf(endsWithRow ? written + end : written)];
        expect(read.map(row => ('says' in row ? row : row.map(({ text: content }) => content)))).toEqual(rows);
      }),
    );
  });

  test('reports the line on which each cell starts, as an editor counts lines', () => {
    fc.assert(
      fc.property(table, rowEnd, (rows, end) => {
        let before = '';
        const lines = rows.map(row =>
          row.map((content, at) => {
            const line = before.split('\n').length;
            before += quoted(content) + (at === row.length - 1 ? end : ',');
            return line;
          }),
        );
        const read = [...rowsOf(before)];
        expect(read.map(row => ('says' in row ? row : row.map(({ line }) => line)))).toEqual(lines);
      }),
    );
  });

  test('of any text yields rows or one fault at the end, and never throws', () => {
    fc.assert(
      fc.property(cell, cell, cell, (a, b, c) => {
        const read = [...rowsOf(a + b + c)];
        expect(read.findIndex(row => 'says' in row)).toBeOneOf([-1, read.length - 1]);
      }),
      { numRuns: 1_000 },
    );
  });
});
