import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { caseLines } from '../../../src/run/suite/case-lines.ts';
import { casePlaces } from '../../../src/verbs/case-places.ts';
import { temporaryFolder } from '../../support/support.ts';

const linesIn = (name: string, text: string): Record<string, number> => {
  const file = path.join(temporaryFolder(), name);
  writeFileSync(file, text);
  return Object.fromEntries(caseLines(file));
};

describe('caseLines', () => {
  test.each([
    [
      'a YAML list',
      'a.yaml',
      '# first\n- id: one\n  input: { user: x }\n\n- { id: two }\n-\n  id: 007\n',
      { one: 2, two: 5, '007': 7 },
    ],
    [
      'YAML with keys around it',
      'a.yml',
      'suite: s\ncases:\n  - input:\n      user: |\n        id: x\n\n    id: one\n  - id: two\n',
      { one: 3, two: 8 },
    ],
    ['YAML with CRLF', 'a.yaml', '- id: one\r\n- id: two\r\n', { one: 1, two: 2 }],
    ['YAML with a byte order mark', 'a.yaml', '\uFEFF- id: one\n- id: two\n', { one: 1, two: 2 }],
    [
      'a JSON list',
      'a.json',
      '\n[\n  {"id": "one"}, {"id": "two"},\n\n  {\n "input": {"user": "\\n{[\\""}, "id": "three" }\n]',
      { one: 3, two: 3, three: 5 },
    ],
    ['JSON with keys around it', 'a.json', '{"suite":"s",\n"cases":[\n{"id":"one"},\n\n{"id":2}]}', { one: 3, 2: 5 }],
    ['JSON Lines', 'a.jsonl', '{"id":"one"}\n\n  \n{"id":"two"}', { one: 1, two: 4 }],
    ['CSV', 'a.csv', 'id,user\none,"a\nb"\n\ntwo,"c ""x"""\r\nthree,d', { one: 2, two: 5, three: 6 }],
  ])('finds every case in %s', (_, name, text, lines) => {
    expect(linesIn(name, text)).toEqual(lines);
  });

  test('returns no lines for an invalid, missing or unsupported file', () => {
    expect(linesIn('a.yaml', '- id: one\n- id: one\n')).toEqual({});
    expect(linesIn('a.json', '[{"id":"one"}')).toEqual({});
    expect(linesIn('a.txt', 'one')).toEqual({});
    expect([...caseLines(path.join(temporaryFolder(), 'none.yaml'))]).toEqual([]);
  });

  test('finds 20,000 cases in a JSON file', () => {
    const ids = Array.from({ length: 20_000 }, (_, index) => `case-${index}`);
    const lines = linesIn('a.json', `[\n${ids.map(id => JSON.stringify({ id })).join(',\n')}\n]`);
    expect([lines['case-0'], lines['case-1'], lines['case-19999']]).toEqual([2, 3, 20_001]);
  });
});

describe('casePlaces', () => {
  test('names the file relative to the repository, not to the current folder', () => {
    const folder = temporaryFolder();
    mkdirSync(path.join(folder, '.git'));
    mkdirSync(path.join(folder, 'app', 'proctor'), { recursive: true });
    writeFileSync(path.join(folder, 'app', 'proctor', 'a.yaml'), '- id: one\n');
    const places = casePlaces('proctor/a.yaml', path.join(folder, 'app'));
    expect(places?.file).toBe('app/proctor/a.yaml');
    expect([places?.lineOf('one'), places?.lineOf('two')]).toEqual([1, undefined]);
  });

  test('returns nothing for a file outside the repository, and refuses one that does not exist', () => {
    const folder = temporaryFolder();
    mkdirSync(path.join(folder, 'inner'));
    writeFileSync(path.join(folder, 'a.yaml'), '- id: one\n');
    expect(casePlaces('../a.yaml', path.join(folder, 'inner'))).toBeUndefined();
    expect(casePlaces('a.yaml', folder)?.file).toBe('a.yaml');
    expect(() => casePlaces('b.yaml', folder)).toThrow('The case file b.yaml does not exist, or cannot be opened.');
  });
});
