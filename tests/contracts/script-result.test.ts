import { describe, expect, test } from 'vitest';
import { check } from '../../src/contracts/check.ts';
import { scriptResult } from '../../src/contracts/script-result/index.ts';
import { adviceOf, exampleWith, judged, judgedText, rulesOf } from '../support/support.ts';
import { judgedTitles } from './artifacts-words.ts';

type Row = [about: string, changes: Record<string, unknown>, broken: string[], advice?: string[]];

const artifact = (path: unknown, bytes: unknown = 1) => ({ artifacts: [{ path, bytes }] });
const failed = (error_summary: unknown) => ({ status: 'failed', error_summary });

const rows: Row[] = [
  ...[undefined, null, '1', true, 1.5, [1], 99, -1, 0, 2, 2 ** 31].map(
    (version): Row => [
      `version ${JSON.stringify(version)}`,
      { contract_version: version, status: 'nonsense', artifacts: 7, html_output: undefined },
      ['SR1'],
    ],
  ),
  ...['Succeeded', ' succeeded', 'ok', null, 'cancelled'].map(
    (status): Row => [`status ${JSON.stringify(status)}`, { status }, ['SR2']],
  ),
  ['no html', { html_output: undefined }, ['SR3']],
  ['null html', { html_output: null }, ['SR3']],
  ['html as a number', { html_output: 3 }, ['SR3']],
  ['empty html', { html_output: '' }, []],
  ['no summary', { error_summary: undefined }, ['SR4']],
  ['a summary of a success', { error_summary: 'All is well.' }, [], ['SR4']],
  ['a failure without a summary', failed(null), [], ['SR4']],
  ['a timeout claimed by the script', { status: 'timed_out', error_summary: 'Took too long.' }, []],
  ['a plain sentence', failed('The table has no column named amount.'), []],
  ['a long summary', failed('x'.repeat(2_001)), [], ['SR4']],
  ['a Python trace', failed('Traceback (most recent call last):\n  File "x.py", line 1'), ['SR4']],
  ['a Python frame alone', failed('  File "script.py", line 3, in run'), ['SR4']],
  ['a Node trace', failed('TypeError: x\n    at run (file.js:3:1)'), ['SR4']],
  ['a Java trace', failed('Exception in thread "main" java.lang.X'), ['SR4']],
  ['a Go trace', failed('panic: x\n\ngoroutine 1 [running]:'), ['SR4']],
  ['a Rust panic', failed("thread 'main' panicked at src/main.rs:2:5"), ['SR4']],
  ['a Ruby trace', failed("x.rb:1:in `f'\n\tfrom x.rb:3:in `g'"), ['SR4']],
  ['a home folder', failed('No such file: /home/alice/data.csv'), ['SR4']],
  ['a Windows path', failed('No such file: C:\\Users\\alice\\x'), ['SR4']],
  ['a file URL', failed('see file:///etc/passwd'), ['SR4']],
  ['a credential', failed(`The key sk-${'a1b2'.repeat(8)} was refused.`), ['SR4']],
  ['a Java frame', failed('x\n\tat com.foo.Bar.baz(Bar.java)'), ['SR4']],
  ['a bare Node frame', failed('x\n    at file.mjs:3:1'), ['SR4']],
  ['a line that starts with "at" and a row', failed('The sum is wrong\nat row (12)'), []],
  ['a line that starts with "at" and a time', failed('It stopped\nat 12:30'), []],
  ['the words at and from in a sentence', failed('It failed at the third row, taken from the sheet.'), []],
  ['no artifacts', { artifacts: undefined }, ['SR5']],
  ['null artifacts', { artifacts: null }, ['SR5']],
  ['artifacts as an object', { artifacts: {} }, ['SR5']],
  ['an empty list of artifacts', { artifacts: [] }, []],
  [
    '2,001 artifacts',
    { artifacts: Array.from({ length: 2_001 }, (_, index) => ({ path: `output/${index}`, bytes: 0 })) },
    ['SR5'],
  ],
  ['a negative size', artifact('output/x', -1), ['SR5']],
  ['a fractional size', artifact('output/x', 1.5), ['SR5']],
  ['a size that is a string', artifact('output/x', '12'), ['SR5']],
  ['a missing size', { artifacts: [{ path: 'output/x' }] }, ['SR5']],
  [
    'a duplicate artifact',
    {
      artifacts: [
        { path: 'output/x', bytes: 1 },
        { path: 'output/x', bytes: 1 },
      ],
    },
    [],
    ['SR5'],
  ],
  ['a path that is a number', artifact(7), ['SR6']],
  ['a path that is a list', artifact(['output/x']), ['SR6']],
  ...[
    'output/x',
    'output/a/b.txt',
    './output/x',
    'output/./x',
    'output/..%2f',
    'output/%2e%2e',
    'output/.env',
    'output/-rf',
    "output/=cmd'",
    'output/index.html',
    'output/ünïcode 1.txt',
  ].map((path): Row => [`the path ${path}`, artifact(path), []]),
  ...[
    '/etc/passwd', '//x', '/output/x', '../x', 'output/../x', 'output/../../x', 'output/a/../b', 'C:\\x', 'C:x', 'output/C:/x', '\\\\srv\\share', '\\\\?\\x', 'output\\x', 'output/a\\..\\b',
    '', '.', 'output', 'output/', 'output/.', 'outputs/x', 'OUTPUT/x', 'Output/x', 'input/x', 'script.py', 'result.json', 'output//x', ' output/x', 'output/x ', 'output/x.', 'output/ x',
    'output/a\u0000b', 'output/a\rb', 'output/a\nb', 'output/a\tb', 'output/\u001b[31m', 'output/\u007f', 'output/\u0085', 'output/\u2028', 'output/\u202egpj.exe', 'output/a\u200bb',
    'output/CON', 'output/nul', 'output/aux.txt', 'output/COM1', 'output/lpt1.log', 'output/a:b', 'output/a*', 'output/a?', 'output/a"b', 'output/<a>', 'output/a|b', '~/x', 'output/~'.replace('output/~', '~output/x'),
    `output/${'x'.repeat(256)}`, `output/${'é'.repeat(128)}`, `output/${'a/'.repeat(16)}x`, `output/${'abcdefgh/'.repeat(120)}x`,
  ].map((path): Row => [`the path ${JSON.stringify(path).slice(0, 60)}`, artifact(path), ['SR6']]), // biome-ignore format: a table
  ['an unknown key', { extra: 1 }, [], ['SR1']],
];

describe('a script result', () => {
  test.each(judgedTitles(rows))('with %s', async (_, changes, broken, advice = []) => {
    const verdict = await judged(scriptResult, exampleWith(scriptResult, changes));
    expect({ broken: rulesOf(verdict), advice: adviceOf(verdict) }).toEqual({ broken, advice });
  });

  test.each(['[]', 'null', '"x"', 'true', '3'])('with the root %s breaks SR1', async text => {
    expect(rulesOf(await judgedText(scriptResult, text))).toEqual(['SR1']);
  });

  test('with version 1.0 is valid: JSON does not distinguish it from 1', async () => {
    const text = JSON.stringify(scriptResult.example).replace('"contract_version":1', '"contract_version":1.0');
    expect((await judgedText(scriptResult, text)).outcome).toBe('valid');
  });
});

// Backtracking from every start would take minutes.
test('searches a megabyte for traces, paths and credentials in linear time', () => {
  const line = `at ${':'.repeat(300)}${'1'.repeat(290)}x\n`;
  for (const unit of [
    '\n',
    ' ',
    '\n ',
    'at ',
    'at a(',
    line,
    'eyJ-',
    'eyJaaaaaaaaa.',
    'sk-',
    '/home',
    'File "',
    'from a:1',
    '-----BEGIN A',
    '://a:',
    'Bearer a',
  ]) {
    const summary = unit.repeat(2 ** 20 / unit.length);
    const document = exampleWith(scriptResult, failed(summary));
    expect(() => check(scriptResult, document, { strict: false, internal: false }), unit.slice(0, 20)).not.toThrow();
  }
});
