import { mkdirSync, readFileSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { readCases } from '../../../src/run/suite/cases-file.ts';
import { ROOT, temporaryFolder } from '../../support/support.ts';
import { casesIn, casesOf, faultsIn, faultsOf } from './cases-world.ts';

const refund = {
  schema_version: 'suite-case.v1',
  id: 'refund',
  title: 'A refund, "quickly"',
  suite: 'money',
  input: { user: 'Give it back,\nplease', context: { locale: 'en' } },
  expected: { contains: ['sorry', 'back'], max_steps: 3, evidence_required_for_actions: true },
  metadata: { severity: 'high' },
};
const hours = { schema_version: 'suite-case.v1', id: '1002', input: { user: '' } };

describe('reads cases', () => {
  test('from a JSON list, with numeric ids and optional input', () => {
    const { schema_version: _, ...written } = refund;
    expect(casesIn('cases.json', JSON.stringify([written, { id: 1002 }]))).toEqual([refund, hours]);
  });

  test('from a JSON object, whose suite is the default for its cases', () => {
    const file = { schema_version: 'cases.v1', suite: 'all', cases: [{ id: 'a' }, { id: 'b', suite: 'own' }] };
    const read = casesIn('cases.json', JSON.stringify(file));
    expect(read.map(({ id, suite }) => [id, suite])).toEqual([
      ['a', 'all'],
      ['b', 'own'],
    ]);
    const { schema_version: _, ...bare } = file;
    expect(casesIn('cases.JSON', JSON.stringify(bare))).toEqual(read);
  });

  test.each(['jsonl', 'ndjson'])('from .%s, one per line, ignoring blank lines', ending => {
    const text = `\n${JSON.stringify(refund)}\r\n  \n{"id":1002}`;
    expect(casesIn(`cases.${ending}`, text)).toEqual([refund, hours]);
  });

  test.each(['yaml', 'yml'])('from .%s, keeping unquoted ids as written', ending => {
    const text = [
      '# what we ask',
      'suite: money',
      'cases:',
      '  - id: refund',
      `    title: 'A refund, "quickly"'`,
      '    input:',
      '      user: |-',
      '        Give it back,',
      '        please',
      '      context: &english {locale: en}',
      '    expected: {contains: [sorry, back], max_steps: 3, evidence_required_for_actions: true}',
      '    metadata: {severity: high}',
      '  - id: 007',
      '    input: {user: yes, context: *english}',
    ].join('\n');
    expect(casesIn(`cases.${ending}`, text)).toEqual([
      refund,
      {
        schema_version: 'suite-case.v1',
        id: '007',
        suite: 'money',
        input: { user: 'yes', context: { locale: 'en' } },
      },
    ]);
  });

  test('from CSV, ignoring empty cells', () => {
    const text = [
      'id,title,suite,user,context,expected,expected.max_steps,expected.evidence_required_for_actions,metadata',
      'refund,"A refund, ""quickly""",money,"Give it back,\nplease","{""locale"":""en""}",' +
        '"{""contains"":[""sorry"",""back""]}",3,TRUE,"{""severity"":""high""}"',
      '1002,,,,,,,,',
      '',
    ].join('\r\n');
    expect(casesIn('cases.csv', `\uFEFF${text}`)).toEqual([refund, hours]);
  });

  test('from CSV, keeping text in text fields even if it looks like a number', () => {
    const header =
      'id,input.user,input.context,expected.contains,expected.regex,expected.equals,expected.tool_sequence';
    const [first, second] = casesIn(
      'cases.csv',
      `${header}\na,42,00123,42,[a-z]+,true,"[""find"",""get""]"\nb,x,12345678901234567890,[,{,"{""n"":1}",get\n`,
    );
    expect(first).toMatchObject({
      input: { user: '42', context: '00123' },
      expected: { contains: '42', regex: '[a-z]+', equals: 'true', tool_sequence: ['find', 'get'] },
    });
    expect(second).toMatchObject({
      input: { context: '12345678901234567890' },
      expected: { contains: '[', regex: '{', equals: { n: 1 }, tool_sequence: 'get' },
    });
  });

  test('with unknown schema formats and keywords, which have no effect', () => {
    const json_schema = { type: 'string', format: 'email', 'x-note': 'mail' };
    expect(casesIn('cases.json', JSON.stringify([{ id: 'a', expected: { json_schema } }]))).toHaveLength(1);
  });

  test.each(['http://json-schema.org/draft-07/schema#', 'http://json-schema.org/draft-07/schema'])(
    'with a draft-07 schema that uses draft-07 keywords: %s',
    $schema => {
      const json_schema = { $schema, items: [{ type: 'string' }], additionalItems: false };
      expect(casesIn('cases.json', JSON.stringify([{ id: 'a', expected: { json_schema } }]))).toHaveLength(1);
    },
  );

  test.each([
    ['json', '{"$schema": "./cases.schema.json", "cases": [{"id": "a"}]}'],
    ['yaml', '$schema: ./cases.schema.json\ncases: [{id: a}]'],
  ])('with a top-level $schema in .%s, which is not added to any case', (ending, text) => {
    expect(casesIn(`cases.${ending}`, text)).toEqual([{ ...hours, id: 'a' }]);
  });

  test('through a symlink', () => {
    const folder = temporaryFolder();
    writeFileSync(path.join(folder, 'real.json'), '[{"id":"a"}]');
    symlinkSync('real.json', path.join(folder, 'cases.json'));
    expect(casesOf(path.join(folder, 'cases.json'))).toHaveLength(1);
  });

  test('in the format of the public toolkit, without losing a field', () => {
    const file = path.join(ROOT, 'tests/run/suite/toolkit-cases.json');
    const written = JSON.parse(readFileSync(file, 'utf8')) as Record<string, unknown>[];
    const [parcel, open, nothing] = casesOf(file);
    expect(parcel).toEqual({ schema_version: 'suite-case.v1', ...written[0] });
    expect(open).toEqual({ schema_version: 'suite-case.v1', ...written[1], id: '1002' });
    expect(nothing).toEqual({ schema_version: 'suite-case.v1', id: 'nothing-asked', input: { user: '' } });
  });
});

describe('reports an error with its line', () => {
  test.each([
    ['json', '[\n {"id": "a"},\n {"id": "b",\n  "expected": {\n   "must_inclde": "x"}}]', 5],
    ['jsonl', '{"id":"a"}\n\n{"id":"b","expected":{"must_inclde":"x"}}\n', 3],
    ['yaml', '- id: a\n- id: b\n  expected:\n    # why?\n    must_inclde: x\n', 5],
    ['csv', 'id,title,expected\na,"two\nlines",\nb,"two\nlines","{""must_inclde"":3}"\n', 5],
  ])('for an unknown key, in %s', (ending, text, line) => {
    expect(faultsIn(`cases.${ending}`, text)).toEqual([
      `line ${line}: cases[1].expected.must_inclde is an unknown key (did you mean "must_include"?)`,
    ]);
  });

  test.each([
    ['json', '[{"id": "a"},\n{"id": "Ab"},\n{"title": "x",\n"id": "aB"}]', 4, 2],
    ['jsonl', '{"id":"a"}\n\n{"id":"Ab"}\n\n\n{"id":"aB"}', 6, 3],
    ['yaml', '- id: a\n- title: x\n  id: Ab\n\n- id: aB\n', 5, 3],
    ['csv', 'id,title\na,"x\ny"\nAb,\n\naB,z', 6, 4],
  ])('for a duplicate id, ignoring case, in %s', (ending, text, line, first) => {
    expect(faultsIn(`cases.${ending}`, text)).toEqual([
      `line ${line}: cases[2].id repeats the id on line ${first} (ids are case-insensitive)`,
    ]);
  });

  test.each([
    ['json', '[\n{"id": "../up"},\n{"id": "run"},\n{"title": "x"},\n{"id": true, "title": 5}\n]', [2, 3, 4, 5]],
    ['jsonl', '\n{"id":"../up"}\n{"id":"run"}\n{"title":"x"}\n{"id":true,"title":5}', [2, 3, 4, 5]],
    ['yaml', '\n- id: ../up\n- id: run\n- title: x\n- {id: true, title: 5}', [2, 3, 4, 5]],
  ])('for unsafe, reserved, missing or non-string ids, in %s', (ending, text, lines) => {
    expect(faultsIn(`cases.${ending}`, text)).toEqual([
      `line ${lines[0]}: cases[0].id must be a case id: up to 100 letters, digits, ".", "_" or "-", starting with a letter or digit`,
      `line ${lines[1]}: cases[1].id is a reserved name`,
      `line ${lines[2]}: cases[2].id is missing`,
      `line ${lines[3]}: cases[3].id must be a string, but is a boolean`,
      `line ${lines[3]}: cases[3].title must be a string, but is a number`,
    ]);
  });

  test('for unsafe, reserved or missing ids, in csv', () => {
    expect(faultsIn('cases.csv', 'title,id\nx,../up\nx,run\nx,\n').map(fault => fault.slice(0, 24))).toEqual([
      'line 2: cases[0].id must',
      'line 3: cases[1].id is a',
      'line 4: cases[2].id is m',
    ]);
  });

  test.each([
    [
      'json',
      '[{"id":"a","expected":\n{"regex":["ok",\n"(?=x)"],\n"json_schema":{"type":"objct"},\n"script":{\n"file":"../x.py"}}}]',
    ],
    [
      'yaml',
      '- id: a\n  expected:\n    regex: [ok,\n      (?=x)]\n    json_schema: {type: objct}\n    script:\n      file: ../x.py',
    ],
  ])('for invalid expectations, in %s', (ending, text) => {
    const found = faultsIn(`cases.${ending}`, text);
    expect(
      found.map(fault => fault.replace(/^line \d: cases\[0\]\.expected\./, '').replace(/^(.{60}).*$/, '$1')),
    ).toEqual([
      'regex[1] is not a valid RE2 regular expression (invalid or u',
      'json_schema is not a usable 2020-12 JSON Schema ($/type must',
      'script.file must be inside the folder of the case file, but ',
    ]);
    expect(found.map(fault => Number(/^line (\d)/.exec(fault)?.[1]))).toEqual(
      ending === 'json' ? [3, 4, 6] : [4, 5, 7],
    );
  });

  test('for a schema that is neither 2020-12 nor draft-07, or that violates its meta-schema', () => {
    const faultOf = (json_schema: object) =>
      faultsIn('cases.json', JSON.stringify([{ id: 'a', expected: { json_schema } }]))[0]?.slice(
        'line 1: cases[0].expected.json_schema '.length,
      );
    const known = 'must use JSON Schema 2020-12 or draft-07';
    expect(faultOf({ $schema: 'http://json-schema.org/draft-04/schema#' })).toBe(known);
    expect(faultOf({ $schema: 7 })).toBe(known);
    expect(faultOf({ $schema: 'toString' })).toBe(known);
    expect(faultOf({ $schema: 'http://json-schema.org/draft-07/schema#', type: 'objct' })).toMatch(
      /^is not a usable draft-07 JSON Schema/,
    );
  });

  test('for invalid expectations, in JSON Lines and CSV', () => {
    expect(
      faultsIn('cases.jsonl', '{"id":"a"}\n{"id":"b","expected":{"json_path":[{"path":"$.a","regex":"("}]}}'),
    ).toEqual([
      'line 2: cases[1].expected.json_path[0].regex is not a valid RE2 regular expression (missing closing ))',
    ]);
    expect(faultsIn('cases.csv', 'id,expected.not_regex,expected.script\na,"a\n**","{""file"":""/x.py""}"')).toEqual([
      'line 2: cases[0].expected.not_regex is not a valid RE2 regular expression (invalid nested repetition operator)',
      'line 3: cases[0].expected.script.file must be inside the folder of the case file, but is absolute',
    ]);
  });

  test('for every bad key of a case, not only the first', () => {
    const text = '[{"id":"a","expected":{"contans":"x","regex":"(","max_steps":1.5}}]';
    expect(faultsIn('cases.json', text)).toHaveLength(3);
  });

  test('for the first twenty errors, and counts the rest', () => {
    const lines = Array.from({ length: 1_025 }, (_, index) => `{"id":"${index}","titel":"x"}`).join('\n');
    const faults = faultsIn('cases.jsonl', lines);
    expect(faults).toHaveLength(21);
    expect(faults[19]).toMatch(/^line 20: cases\[19\]/);
    expect(faults[20]).toBe('and 1,005 more');
  });

  test('and yields no case after it', () => {
    const file = path.join(temporaryFolder(), 'cases.jsonl');
    writeFileSync(file, '{"id":"a"}\n{"id":"b","x":1}\n{"id":"c"}\n');
    const taken: string[] = [];
    expect(() => readCases(file, ({ id }) => taken.push(id))).toThrow('line 2');
    expect(taken).toEqual(['a']);
  });
});

describe('reports errors outside the cases:', () => {
  test.each([
    ['json', '{"suite": 3,\n"sute": "x",\n"cases": {}}', [1, 2, 3]],
    ['yaml', 'suite: 3\nsute: x\ncases: {}', [1, 2, 3]],
  ])('bad keys of the object, in %s', (ending, text, [suite, sute, list]) => {
    expect(faultsIn(`cases.${ending}`, text)).toEqual([
      `line ${suite}: suite must be a string, but is a number`,
      `line ${sute}: sute is an unknown key (did you mean "suite"?)`,
      `line ${list}: cases must be a list, but is an object`,
    ]);
  });

  test.each([
    ['json', '"cases"'],
    ['yaml', 'cases'],
  ])('a file that contains only a string, in %s', (ending, text) => {
    expect(faultsIn(`cases.${ending}`, text)).toEqual([
      'line 1: The file must contain a list of cases, or an object with the key cases, but contains a string',
    ]);
  });

  test.each([
    ['id,titel', ['line 1: The column titel is unknown']],
    ['id,expected.must_inclde', ['line 1: The column expected.must_inclde is unknown']],
    ['id,user,input.user', ['line 1: The column input.user is a duplicate']],
    ['id,,', [1, 2].map(n => `line 1: Column ${n + 1} has no name`)],
    ['title,user', ['line 1: The header has no id column']],
  ])('the header %s', (header, faults) => {
    expect(faultsIn('cases.csv', `${header}\na,b,c\n`)).toEqual(faults);
  });

  test('invalid JSON cells, values set in two columns, and missing cells', () => {
    const header = 'id,metadata,expected,expected.contains,context';
    expect(
      faultsIn(
        'cases.csv',
        `${header}\na,{,,,\nb,,"{""contains"":""x""}",y,\nc,,,,"{""a"":1,""a"":2}"\nd,,\ne,[],,,\n`,
      ),
    ).toEqual([
      'line 2: cases[0].metadata cannot be read: The document ends too early: expected a key or "}" (byte 2)',
      'line 3: cases[1].expected.contains is also set in the column expected',
      'line 4: cases[2].input.context cannot be read: The key "a" appears twice in one object (byte 8)',
      'line 5: cases[3] has 3 cells, but the header has 5',
      'line 6: cases[4].metadata must be an object, but is a list',
    ]);
  });

  test.each([
    ['cases.json', '[{"id":"a"},\n{"id":"a","id":"b"}]', 'line 2: The key "id" appears twice in one object (byte 11)'],
    [
      'cases.json',
      '[{"id":"a"}',
      'line 1: The document ends too early: expected "," or the end of the list or object (byte 12)',
    ],
    ['cases.jsonl', '{"id":"a"}\n{"id":"a","id":"b"}', 'line 2: The key "id" appears twice in one object (byte 11)'],
    ['cases.yaml', '- id: a\n- id: a\n  id: b', 'line 3: The key is a duplicate'],
    ['cases.yaml', 'suite: a\nsuite: b\ncases: []', 'line 2: The key is a duplicate'],
    [
      'cases.yaml',
      '- id: a\n- id: [b',
      'line 2: Invalid YAML: Flow sequence in block collection must be sufficiently indented and end with a ]',
    ],
    ['cases.yaml', '- id: a\n- {id: b, [x]: y}', 'line 2: The key is not a string'],
    ['cases.yaml', '- &x {id: a}\n- <<: *x\n  id: b', 'line 2: cases[1]["<<"] is an unknown key'],
    ['cases.yaml', '- id: a\n---\n- id: b', 'line 2: A second YAML document starts here; only one is allowed'],
    ['cases.yaml', '- id: a\n- id: !who b', 'line 2: YAML tags are not supported'],
    ['cases.yaml', '- id: a\n  metadata:\n    <<: {b: 1}\n    d: .nan', 'line 4: The number is not finite'],
    [
      'cases.yaml',
      '- id: a\n  metadata: {n: 12345678901234567890}',
      'line 2: The integer is beyond 2^53−1 and would be rounded; quote it to make it a string',
    ],
    ['cases.yaml', '- id: a\n  title: "\\ud800"', 'line 2: A string contains half a surrogate pair'],
    ['cases.yaml', '%YAML 1.1\n---\n- id: a', 'line 1: Only YAML 1.2 is supported'],
    ['cases.csv', 'id,title\na,"b\nc,d\n', 'line 2: The quote that opens here is never closed'],
    ['cases.csv', 'id,title\na,b"c\n', 'line 2: A quote appears inside an unquoted cell'],
    ['cases.csv', 'id,title\n\na,"b"c\n', 'line 3: Text follows the closing quote of a cell'],
    ['cases.csv', 'id,title\ra,b\r', 'line 1: A carriage return is not followed by a line feed'],
  ])('%s with the text %j', (name, text, fault) => {
    expect(faultsIn(name, text)[0]).toBe(fault);
  });

  test.each(['json', 'jsonl', 'ndjson', 'yaml', 'yml', 'csv'])('an empty .%s, which contains no cases', ending => {
    expect(faultsIn(`cases.${ending}`, '')).toEqual([`cases.${ending} contains no cases.`]);
    expect(faultsIn(`cases.${ending}`, ' \n')).toHaveLength(1);
  });

  test.each([
    ['json', '[]'],
    ['json', '{"cases":[]}'],
    ['yaml', '[]'],
    ['yaml', '# nothing\n'],
    ['yaml', 'cases: []'],
    ['csv', 'id,title\n'],
  ])('.%s with %j, which contains no cases', (ending, text) => {
    expect(faultsIn(`cases.${ending}`, text)).toEqual([`cases.${ending} contains no cases.`]);
  });
});

describe('rejects a case file', () => {
  test.each(['cases.toml', 'cases', 'cases.json.gz'])('with an unsupported name: %s', name => {
    expect(faultsIn(name, '[]')).toEqual([
      `${name} is not a supported case file: its name must end in .json, .jsonl, .ndjson, .yaml, .yml or .csv.`,
    ]);
  });

  test('that is missing or a folder', () => {
    const folder = temporaryFolder();
    mkdirSync(path.join(folder, 'cases.json'));
    expect(faultsOf(() => casesOf(path.join(folder, 'none.json')))).toEqual([
      'The case file none.json does not exist.',
    ]);
    expect(faultsOf(() => casesOf(path.join(folder, 'cases.json')))).toEqual([
      'cases.json is a folder, not a case file.',
    ]);
    expect(faultsOf(() => casesOf('/dev/null/cases.json'))[0]).not.toContain('/dev');
  });

  test.each([
    ['json', 256],
    ['jsonl', 256],
    ['yaml', 64],
    ['csv', 64],
  ])('that is larger than the limit for .%s, %i MiB', (ending, mib) => {
    const file = path.join(temporaryFolder(), `cases.${ending}`);
    writeFileSync(file, '');
    truncateSync(file, mib * 1024 * 1024 + 1);
    expect(faultsOf(() => casesOf(file))).toEqual([
      `cases.${ending} is larger than ${mib} MiB, the limit for this format.`,
    ]);
  });
});
