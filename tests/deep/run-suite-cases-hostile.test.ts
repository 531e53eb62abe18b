import { describe, expect, test } from 'vitest';
import { casesIn, faultsIn } from '../run/suite/cases-world.ts';

const MIB = 1024 * 1024;

describe('the case file reader', () => {
  test.each([
    ['json', '['.repeat(100_000), /^line 1: The document is nested deeper than 64 levels/],
    ['json', `[{"id":"a","input":${'['.repeat(70)}${']'.repeat(70)}}]`, /nested deeper than 64 levels/],
    ['jsonl', `{"id":"a"}\n${'{"a":'.repeat(100_000)}`, /^line 2: The document is nested deeper than 64 levels/],
    ['yaml', '['.repeat(100_000), /^line 1: The file is nested deeper than 64 levels/],
    ['yaml', `[${'{a: '.repeat(70)}${'}'.repeat(70)}]`, /nested deeper than 64 levels/],
    ['yaml', '- '.repeat(100_000), /^line 1: The file is nested deeper than 64 levels/],
    ['yaml', '? '.repeat(100_000), /nested deeper than 64 levels/],
    ['yaml', Array.from({ length: 300 }, (_, n) => `${' '.repeat(n)}a:`).join('\n'), /nested deeper than 64 levels/],
    ['csv', `id,context\na,"${'['.repeat(100)}${']'.repeat(100)}"`, /^line 2: .* nested deeper than 64 levels/],
  ])('rejects a file that is nested too deeply, in %s', (ending, text, words) => {
    expect(faultsIn(`cases.${ending}`, text)[0]).toMatch(words);
  });

  test('accepts sixty-four levels in JSON and YAML', () => {
    const nested = (levels: number): string =>
      `[{"id":"a","metadata":{"x":${'['.repeat(levels)}${']'.repeat(levels)}}}]`;
    for (const ending of ['json', 'yaml']) {
      expect(casesIn(`cases.${ending}`, nested(61))).toHaveLength(1);
      expect(faultsIn(`cases.${ending}`, nested(62))[0]).toMatch(/deeper than 64 levels/);
    }
  });

  test('rejects a few lines of aliases that expand to a billion', () => {
    const laughs = Array.from({ length: 30 }, (_, n) =>
      n === 0
        ? 'l0: &l0 [lol, lol]'
        : `l${n}: &l${n} [${Array(9)
            .fill(`*l${n - 1}`)
            .join(', ')}]`,
    );
    const text = `- id: a\n  metadata:\n    ${laughs.join('\n    ')}\n`;
    expect(faultsIn('cases.yaml', text)).toEqual([
      expect.stringMatching(/^line \d+: This value is larger than 4 MiB as JSON, the limit for a case$/),
    ]);
  });

  test('rejects aliases that make many cases too large together', () => {
    const cases = Array.from({ length: 100 }, (_, n) => `- {id: c${n}, metadata: *big}`);
    const text = `- {id: first, metadata: &big {x: ${'y'.repeat(3 * MIB)}}}\n${cases.join('\n')}`;
    expect(faultsIn('cases.yaml', text)).toEqual([
      'line 86: With aliases expanded, the cases up to here are larger than 256 MiB as JSON',
    ]);
  });

  test('rejects an alias to its own parent, to nothing, and to a later anchor', () => {
    expect(faultsIn('cases.yaml', '- id: a\n  metadata: &m\n    self: *m\n')).toEqual([
      'line 3: The alias refers to a value that contains it',
    ]);
    for (const text of ['- id: *none', '- id: *later\n- id: &later b']) {
      expect(faultsIn('cases.yaml', text)[0]).toMatch(/^line 1: No earlier anchor has this name/);
    }
  });

  test('accepts a context that many cases share', () => {
    const cases = Array.from({ length: 1_000 }, (_, n) => `- {id: c${n}, input: *shared}`);
    const read = casesIn('cases.yaml', `- id: first\n  input: &shared {user: Hi}\n${cases.join('\n')}`);
    expect(read).toHaveLength(1_001);
    expect(read.at(-1)).toEqual({ schema_version: 'suite-case.v1', id: 'c999', input: { user: 'Hi' } });
  });

  test.each([
    ['json', `[{"id":"${'x'.repeat(300)}"}]`],
    ['jsonl', `{"id":"${'x'.repeat(300)}"}`],
    ['yaml', `- id: ${'x'.repeat(300)}`],
    ['csv', `id\n${'x'.repeat(300)}`],
  ])('rejects an id of 300 characters, in %s', (ending, text) => {
    expect(faultsIn(`cases.${ending}`, text)[0]).toMatch(/cases\[0\]\.id must be a case id: up to 100 letters/);
  });

  test.each([
    ['json', '[{"id":"a","__proto__":{"id":"b"},"expected":{"__proto__":{"contains":"x"}}}]'],
    ['jsonl', '{"id":"a","__proto__":{"id":"b"},"expected":{"__proto__":{"contains":"x"}}}'],
    ['yaml', '- {id: a, __proto__: {id: b}, expected: {__proto__: {contains: x}}}'],
  ])('rejects __proto__ as a key, in %s', (ending, text) => {
    expect(faultsIn(`cases.${ending}`, text)).toEqual([
      'line 1: cases[0].__proto__ is an unknown key',
      'line 1: cases[0].expected.__proto__ is an unknown key',
    ]);
  });

  test('rejects __proto__ as a key around the cases, in a column, or in a cell', () => {
    expect(faultsIn('cases.yaml', '__proto__: {suite: x}\ncases: [{id: a}]')[0]).toMatch(
      /^line 1: __proto__ is an unknown key/,
    );
    expect(faultsIn('cases.json', '{"__proto__": {"suite": "x"},\n"cases": []}')[0]).toMatch(/^line 1: __proto__/);
    expect(faultsIn('cases.csv', 'id,__proto__\na,b')[0]).toMatch(/^line 1: The column __proto__ is unknown$/);
    expect(faultsIn('cases.csv', 'id,expected,expected.contains\na,"{""__proto__"":{""contains"":1}}",x')).toEqual([
      'line 2: cases[0].expected.__proto__ is an unknown key',
    ]);
    expect(({} as { suite?: unknown }).suite).toBeUndefined();
  });

  test("keeps __proto__ as an ordinary key inside a case's data", () => {
    for (const [ending, text] of [
      ['json', '[{"id":"a","metadata":{"__proto__":{"x":1}}}]'],
      ['yaml', '- {id: a, metadata: {__proto__: {x: 1}}}'],
      ['csv', 'id,metadata\na,"{""__proto__"":{""x"":1}}"'],
    ]) {
      const [one] = casesIn(`cases.${ending}`, text as string);
      expect(JSON.stringify(one?.metadata)).toBe('{"__proto__":{"x":1}}');
      expect(one?.metadata?.['x']).toBeUndefined();
    }
  });

  test.each(['json', 'jsonl', 'yaml', 'csv'])('rejects invalid UTF-8, in .%s', ending => {
    const text = ending === 'csv' ? 'id\nabc' : ending === 'yaml' ? '- id: abc' : '[{"id":"abc"}]';
    const utf16 = Buffer.from(`\uFEFF${text}`, 'utf16le');
    expect(faultsIn(`cases.${ending}`, utf16)[0]).toMatch(/is UTF-16/);
    expect(faultsIn(`cases.${ending}`, text.replace('abc', 'a\0c'))[0]).toMatch(/line [12]: .*(NUL|control character)/);
    expect(faultsIn(`cases.${ending}`, Buffer.from(text.replace('abc', 'a\xffc'), 'latin1'))[0]).toMatch(
      /not valid UTF-8/,
    );
  });

  test('rejects a line, a cell or a value that exceeds the limit for a case', () => {
    const large = 'x'.repeat(4 * MIB);
    expect(faultsIn('cases.jsonl', `{"id":"a"}\n{"id":"b","title":"${large}"}\n{"id":"a"}`)).toEqual([
      'line 2: The line is longer than 4 MiB, the limit for a case',
      'line 3: cases[2].id repeats the id on line 1 (ids are case-insensitive)',
    ]);
    const almost = 'x'.repeat(4 * MIB - 60);
    expect(faultsIn('cases.jsonl', `{"id":"b","title":"${almost}"}`)).toEqual([
      'line 1: cases[0] is larger than 4 MiB as JSON, the limit for a case',
    ]);
    expect(faultsIn('cases.json', `[{"id":"a"},\n{"id":"b","title":"${large}"}]`)).toEqual([
      'line 2: cases[1] is larger than 4 MiB as JSON, the limit for a case',
    ]);
    expect(faultsIn('cases.csv', `id,title\na,\nb,"${large}"`)).toEqual([
      'line 3: cases[1] is larger than 4 MiB as JSON, the limit for a case',
    ]);
    expect(faultsIn('cases.yaml', `- id: a\n- id: b\n  title: ${large}`)).toEqual([
      'line 3: This value is larger than 4 MiB as JSON, the limit for a case',
    ]);
  });

  test('rejects a case that exceeds the limit once its numbers are written out', () => {
    const numbers = Array(900_000).fill('1e15').join(',');
    expect(faultsIn('cases.json', `[{"id":"a","metadata":{"n":[${numbers}]}}]`)).toEqual([
      'line 1: cases[0] is larger than 4 MiB as JSON, the limit for a case',
    ]);
  });

  test('rejects more than a million cases', () => {
    expect(faultsIn('cases.jsonl', '3\nx\n'.repeat(500_001))).toEqual([
      'cases.jsonl contains more than 1,000,000 cases. Split it into several files.',
    ]);
  });

  test('rejects more YAML tokens than the limit', () => {
    expect(faultsIn('cases.yaml', `- id: a\n${'#\n'.repeat(1_000_000)}`)).toEqual([
      expect.stringMatching(/^line \d+: The file has more than 2,000,000 YAML tokens; use JSON Lines instead$/),
    ]);
  });

  test('rejects slow patterns and schemas', () => {
    const asks = (expected: object): string => JSON.stringify([{ id: 'a', expected }]);
    expect(faultsIn('cases.json', asks({ regex: 'a'.repeat(10_001) }))[0]).toMatch(
      /longer than 10,000 characters, the limit for a regular expression/,
    );
    expect(faultsIn('cases.json', asks({ regex: '((a{100}){100}){100}' }))[0]).toMatch(/more than 10,000 instructions/);
    expect(faultsIn('cases.json', asks({ regex: '(\\1)' }))[0]).toMatch(/invalid escape sequence/);
    expect(faultsIn('cases.json', asks({ json_schema: { $ref: 'https://example.com/x' } }))[0]).toMatch(
      /json_schema is not a usable 2020-12 JSON Schema \(can't resolve reference/,
    );
    for (const [json_schema, words] of [
      [{ pattern: '(?=a)' }, /one of its patterns is not a valid RE2 regular expression/],
      [{ $schema: 'http://json-schema.org/draft-04/schema#' }, /must use JSON Schema 2020-12 or draft-07/],
      [{ $async: true }, /uses \$async, which is not supported/],
      [{ properties: { a: { type: 'objct' } } }, /\$\/properties\/a\/type must be/],
    ] as const) {
      expect(faultsIn('cases.json', asks({ json_schema }))[0]).toMatch(words);
    }
  });

  test('accepts different schemas with the same $id in two cases', () => {
    const schema = (type: string): object => ({ $id: 'https://example.com/answer', type });
    const text = JSON.stringify(
      ['object', 'string'].map(type => ({ id: type, expected: { json_schema: schema(type) } })),
    );
    expect(casesIn('cases.json', text)).toHaveLength(2);
  });

  test('finds the lines of keys with quotes, brackets and line feeds', () => {
    const text = '[{"id":"a",\n"odd [0].\\"key\\"":1,\n"expected":{"a\\nb":\n[{"\\\\":1}],\n"con\\u0074ans":"}]"}}]';
    expect(faultsIn('cases.json', text)).toEqual([
      expect.stringMatching(/^line 2: cases\[0\]\["odd /),
      expect.stringMatching(/^line 3: cases\[0\]\.expected\["a/),
      'line 5: cases[0].expected.contans is an unknown key (did you mean "contains"?)',
    ]);
  });

  test('prints nothing that a terminal would interpret', () => {
    for (const [name, text] of [
      ['cases.json', '[{"id":"a","\\u001b[31m":1}]'],
      ['cases.yaml', '- id: a\n  "\\e[31m": 1'],
      ['cases.csv', 'id,\u001b[31m\na,b'],
      ['\u001b[31m.json', '[3]'],
    ] as const) {
      expect(faultsIn(name, text).join('\n')).not.toContain('\u001b');
    }
  });
});
