import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { readResults } from '../../../src/judge/results/read.ts';
import { type ResultRow, ResultFault } from '../../../src/run/results/row.ts';
import { ResultSide } from '../../../src/judge/results/side.ts';

const rowsIn = (text: string): ResultRow[] => [...readResults(Buffer.from(text)).rows];
const passesIn = (text: string): [string, boolean | null][] => rowsIn(text).map(row => [row.case, row.pass]);

function troubleIn(text: string): string {
  try {
    rowsIn(text);
  } catch (error) {
    if (error instanceof ResultFault) return `${error.line ?? '-'}: ${error.message}`;
    throw error;
  }
  throw new Error('A fault was expected.');
}

describe('a CSV file', () => {
  test('provides all of its columns, in any order', () => {
    const text =
      '\uFEFFpass,Case,trial,score,latency_ms,cost_usd,rerun,model\r\n1,"a, b",0,0.5,12.5,1e-3,true,x\r\n0,c,1,,,,,\r\n';
    expect(readResults(Buffer.from(text)).format).toBe('csv');
    expect(rowsIn(text)).toEqual([
      {
        case: 'a, b',
        trial: 0,
        pass: true,
        rerun: true,
        metrics: { score: 0.5, latency_ms: 12.5, cost_usd: 0.001 },
        line: 2,
      },
      { case: 'c', trial: 1, pass: false, rerun: false, metrics: {}, line: 3 },
    ]);
  });

  test('accepts several words for passed, failed and not run', () => {
    const words = ['true', 'PASS', 'passed', '1', 'false', 'fail', 'failed', 'error', '0', 'skipped', ''];
    const text = `case,pass\n${words.map((word, at) => `c${at},${word}`).join('\n')}\n`;
    const passes = passesIn(text).map(([, pass]) => pass);
    expect(passes).toEqual([true, true, true, true, false, false, false, false, false, null, null]);
  });

  test.each([
    ['', '-: The file is empty'],
    ['id,ok\na,1\n', '1: The first line has no column case and no column pass'],
    ['case,pass,case\na,1,b\n', '1: The column case occurs twice in the first line'],
    ['case,pass\na,1\nb\n', '3: The row has 1 cells, but the header has 2'],
    ['case,pass\na,maybe\n', '2: pass must be 0, 1, true, false, pass, fail, passed, failed, error, skipped or empty'],
    ['case,pass\n,1\n', '2: case is missing'],
    ['case,pass,latency_ms\na,1,-3\n', '2: latency_ms must be a number of at least 0'],
    ['case,pass,ttft_ms\na,1,soon\n', '2: ttft_ms must be a number of at least 0'],
    ['case,pass,score\na,1,Infinity\n', '2: score must be a number'],
    ['case,pass\n"a,1\n', '2: The quote that opens here is never closed'],
  ])('with the text %j is rejected', (text, says) => {
    expect(troubleIn(text)).toBe(says);
  });
});

describe('a file with a JSON object per line', () => {
  test('gives the same rows as a table', () => {
    const text =
      '{"case":"a","pass":true,"latency_ms":3}\n\n{"case":"b","pass":null}\n{"case":"c","pass":0,"rerun":true}';
    expect(readResults(Buffer.from(text)).format).toBe('jsonl');
    expect(rowsIn(text)).toEqual([
      { case: 'a', pass: true, rerun: false, metrics: { latency_ms: 3 }, line: 1 },
      { case: 'b', pass: null, rerun: false, metrics: {}, line: 3 },
      { case: 'c', pass: false, rerun: true, metrics: {}, line: 4 },
    ]);
  });

  test.each([
    ['{"case":"a"}\n', '1: pass is missing'],
    ['{"pass":true}\n', '1: case is missing'],
    ['{"case":"a","pass":true}\n[1]\n', '2: The line is not a JSON object'],
    ['{"case":"a","pass":true,"pass":false}\n', '-: The key "pass" appears twice in one object (line 1, byte 25)'],
    ['[{"case":"a","pass":true}]', '1: The file is a JSON list; write one object per line instead'],
  ])('with the text %j is rejected', (text, says) => {
    expect(troubleIn(text)).toBe(says);
  });
});

describe('a JUnit file', () => {
  const suite = (cases: string): string =>
    `<?xml version="1.0"?>\n<testsuites><testsuite name="s"><properties/>${cases}</testsuite></testsuites>`;

  test('names cases by class and name, and reads their time', () => {
    const text = suite(
      '<testcase classname="pay" name="refunds &lt;7&gt;" time="0.25"/>\n<testcase name="alone" time="1,234.5"/><testcase classname="x" name="x"/>',
    );
    expect(readResults(Buffer.from(`\n ${text}`)).format).toBe('junit');
    expect(rowsIn(text)).toEqual([
      { case: 'pay > refunds <7>', pass: true, rerun: false, metrics: { latency_ms: 250 }, line: 2 },
      { case: 'alone', pass: true, rerun: false, metrics: {}, line: 3 },
      { case: 'x', pass: true, rerun: false, metrics: {}, line: 3 },
    ]);
  });

  test('counts errors and tests that passed only on a retry as failed, and ignores skipped ones', () => {
    const inside = {
      failed: '<failure message="x">at &amp; y</failure>',
      errored: '<error/>',
      flaky: '<flakyFailure>x</flakyFailure><system-out><![CDATA[ </testcase> ]]></system-out>',
      rerun: '<rerunFailure/>',
      skipped: '<skipped message="later"/>',
      both: '<skipped/><failure/>',
      quiet: '<system-out>failure</system-out>',
      deep: '<system-out><failure/></system-out>',
    };
    const cases = Object.entries(inside).map(([name, body]) => `<testcase name="${name}">${body}</testcase>`);
    const more = '<testcase name="disabled" status="notrun"/><testcase name="said" status="failed"/>';
    expect(Object.fromEntries(passesIn(suite(cases.join('') + more)))).toEqual({
      failed: false,
      errored: false,
      flaky: false,
      rerun: false,
      skipped: null,
      both: false,
      quiet: true,
      deep: true,
      disabled: null,
      said: false,
    });
  });

  test.each([
    ['<html><body/></html>', '1: The XML is not JUnit: its root is neither testsuites nor testsuite'],
    [suite('\n<testcase/>'), '3: A testcase has no name'],
    [suite('\n\n<testcase name="a"><testcase name="b"/></testcase>'), '4: A testcase is nested in another one'],
    [suite('\n<testcase name="a">'), '3: This closing tag does not match the open element'],
    ['<!DOCTYPE x>\n<testsuite/>', '1: Document types and custom entities are not supported'],
  ])('with the text %j is rejected', (text, says) => {
    expect(troubleIn(text)).toBe(says);
  });
});

describe('a CTRF report', () => {
  const report = (tests: readonly unknown[], indent?: number): string =>
    JSON.stringify(
      { reportFormat: 'CTRF', specVersion: '0.0.0', results: { tool: { name: 't' }, tests } },
      null,
      indent,
    );

  test('names tests by suite and name, on one line or many', () => {
    const tests = [
      { name: 'a', status: 'passed', duration: 12, suite: ['pay', 'cards'] },
      { name: 'a', status: 'failed', duration: 0, suite: 'pay > cash' },
    ];
    for (const indent of [undefined, 2]) {
      expect(readResults(Buffer.from(report(tests, indent))).format).toBe('ctrf');
      expect(rowsIn(report(tests, indent))).toEqual([
        { case: 'pay > cards > a', pass: true, rerun: false, metrics: { latency_ms: 12 }, line: 1 },
        { case: 'pay > cash > a', pass: false, rerun: false, metrics: { latency_ms: 0 }, line: 1 },
      ]);
    }
  });

  test('counts a test that passed only on a retry as failed, and ignores one that did not run', () => {
    const tests = [
      { name: 'retried', status: 'passed', retries: 2 },
      { name: 'flaky', status: 'passed', flaky: true },
      { name: 'steady', status: 'passed', retries: 0, flaky: false },
      ...['skipped', 'pending', 'other'].map(status => ({ name: status, status })),
    ];
    expect(passesIn(report(tests))).toEqual([
      ['retried', false],
      ['flaky', false],
      ['steady', true],
      ['skipped', null],
      ['pending', null],
      ['other', null],
    ]);
  });

  test.each([
    [report([{ status: 'passed' }]), '-: results.tests[0].name must be a string'],
    [
      report([{ name: 'a', status: 'ok' }]),
      '-: results.tests[0].status must be one of passed, failed, skipped, pending, other',
    ],
    [
      report([{ name: 'a', status: 'passed', suite: 3 }]),
      '-: results.tests[0].suite must be a string or a list of strings',
    ],
    [report([{ name: ' ', status: 'passed' }]), '-: results.tests[0].name is blank'],
    ['{"results":{}}', '-: The JSON is neither a CTRF report (results.tests) nor one object per line'],
    ['{\n "a": 1\n}', '-: The JSON is neither a CTRF report (results.tests) nor one object per line'],
  ])('with the text %j is rejected', (text, says) => {
    expect(troubleIn(text)).toBe(says);
  });
});

test.each([
  [Buffer.from([0xff, 0xfe, 0x61, 0]), 'The file is UTF-16; save it as UTF-8'],
  [Buffer.from('case,pass\na\0,1\n'), 'The file contains a NUL byte; it must be UTF-8 text'],
  [Buffer.from([0x63, 0xc3, 0x28]), 'The file is not valid UTF-8'],
])('rejects bytes that are not text: %j', (bytes, says) => {
  expect(() => readResults(bytes)).toThrow(says);
});

const WHOLE: readonly string[] = [
  'case,trial,pass,latency_ms\n"a ""b""",1,true,2.5\nc,2,,\n',
  '{"case":"a","pass":true}\n{"case":"b","pass":null,"score":0.5}\n',
  '<testsuites><testsuite><testcase name="a" time="1"><failure m="&lt;"/></testcase></testsuite></testsuites>',
  '{"results":{"tests":[{"name":"a","status":"passed","suite":["x"],"retries":0}]}}',
];

test('reads a damaged file or says in a sentence why it cannot', () => {
  const damage = fc.tuple(fc.constantFrom(...WHOLE), fc.nat(), fc.nat({ max: 4 }), fc.uint8Array({ maxLength: 4 }));
  fc.assert(
    fc.property(damage, ([whole, place, taken, put]) => {
      const bytes = Buffer.from(whole);
      const at = place % bytes.length;
      const damaged = Buffer.concat([bytes.subarray(0, at), put, bytes.subarray(at + taken)]);
      try {
        const side = new ResultSide();
        side.add(readResults(damaged).rows, false);
        for (const { trials } of side.cases.values())
          for (const { latency_ms } of trials) expect(latency_ms ?? 0).toBeGreaterThanOrEqual(0);
      } catch (error) {
        if (!(error instanceof ResultFault)) throw error;
        expect(error.message.length).toBeLessThan(200);
      }
    }),
    { seed: 11, numRuns: 3_000 },
  );
});

describe('a side', () => {
  const row = (name: string, more: Partial<ResultRow> = {}): ResultRow => ({
    case: name,
    pass: true,
    rerun: false,
    metrics: {},
    line: 7,
    ...more,
  });

  test('counts repeated rows of a case as trials, and rejects a numbered trial that occurs twice', () => {
    const side = new ResultSide();
    side.add([row('a'), row('a', { pass: false }), row('a', { pass: null })], false);
    side.add([row('a', { trial: 1 }), row('b', { trial: 1 }), row('a', { trial: 1, rerun: true })], false);
    expect(side.cases.get('a')?.trials.map(({ verdict, rerun }) => [verdict, rerun])).toEqual([
      ['pass', undefined],
      ['fail', undefined],
      ['pass', undefined],
      ['pass', true],
    ]);
    expect(side.cases.get('a')?.skipped).toBe(1);
    expect(() => side.add([row('a', { trial: 1 }), row('a', { trial: 1 })], false)).toThrow(
      'This trial of this case is already in the file',
    );
  });

  test.each(['latency_ms', 'ttft_ms', 'cost_usd', 'score'] as const)(
    'rejects a %s beyond 1e12 from any tool',
    metric => {
      const side = new ResultSide();
      side.add([row('a', { metrics: { [metric]: 1e12 } })], false);
      expect(() => side.add([row('a', { metrics: { [metric]: 1e308 } })], false)).toThrow(
        `${metric} must be at most 1,000,000,000,000`,
      );
    },
  );

  test('has at most 100,000 cases and a million trials, with names of at most 1,024 bytes', () => {
    const many = function* (count: number, name: (at: number) => string): Generator<ResultRow> {
      for (let at = 0; at < count; at++) yield row(name(at));
    };
    const full = new ResultSide();
    full.add(many(100_000, String), false);
    expect(() => full.add([row('one more')], false)).toThrow('The side has more than 100,000 cases');
    const long = new ResultSide();
    long.add(
      many(1_000_000, () => 'a'),
      false,
    );
    expect(() => long.add([row('a')], false)).toThrow('The side has more than 1,000,000 trials');
    expect(() => long.add([row('ä'.repeat(513))], false)).toThrow('The name of a case is longer than 1024 bytes');
  });
});
