import { describe, expect, test } from 'vitest';
import type { ComparedCase, Comparison } from '../../src/contracts/comparison/index.ts';
import { compareSides } from '../../src/judge/compare/compare.ts';
import { gateOf } from '../../src/judge/compare/gate.ts';
import { reports } from '../../src/reports/index.ts';
import { failedCase, judgedCase, side } from '../judge/compare/sides.ts';
import { ATTACKS, attacked, judgedRun, mixedComparison, text } from './world.ts';

const about = { comparisonId: 'c', generatedAt: '2026-01-07T09:31:00.000Z', artifactOf: () => undefined };
const LINES: Readonly<Record<string, number>> = { 'refund-small': 12, 'refund-large': 30, bad: 7 };
const places = { file: 'proctor/refunds.yaml', lineOf: (id: string) => LINES[id] };

interface Command {
  readonly name: string;
  readonly properties: Readonly<Record<string, string>>;
  readonly message: string;
}

/** Reads workflow commands as GitHub's runner does: line by line, with the escapes that it knows. */
function commandsIn(printed: string): Command[] {
  expect(printed.endsWith('\n')).toBe(true);
  return printed
    .slice(0, -1)
    .split(/\r\n|\n|\r/)
    .map(line => {
      const [, name = '', list = '', data = ''] = /^::([a-z]+) (.*?)::(.*)$/.exec(line) ?? [];
      const pairs = list.split(',').map(pair => [pair.slice(0, pair.indexOf('=')), pair.slice(pair.indexOf('=') + 1)]);
      const properties = pairs.map(([key, value = '']) => [
        key,
        unescaped(value.replaceAll('%3A', ':').replaceAll('%2C', ',')),
      ]);
      return { name, properties: Object.fromEntries(properties) as Record<string, string>, message: unescaped(data) };
    });
}

function unescaped(value: string): string {
  return value.replaceAll('%0D', '\r').replaceAll('%0A', '\n').replaceAll('%25', '%');
}

/** A comparison of cases that pass before and fail now, and of cases that fail on both sides. */
function compared(broken: number, failing = 0, limits = {}): Comparison {
  const ids = (count: number, name: string) => Array.from({ length: count }, (_, index) => `${name}-${index}`);
  const [regressed, still] = [ids(broken, 'broken'), ids(failing, 'still')];
  const before = [...still.map(id => failedCase(id)), ...regressed.map(id => judgedCase(id)), judgedCase('good')];
  const now = [...still, ...regressed].map(id => failedCase(id)).concat(judgedCase('good'));
  const trials = <One>(one: One): One[] => Array.from({ length: 8 }, () => one);
  return compareSides(side('baseline', ...trials(before)), side('new', ...trials(now)), gateOf({ limits }), about);
}

describe('annotations', () => {
  test('list regressions first, at the lines of their cases', () => {
    const commands = commandsIn(text(reports.annotations.ofComparison(mixedComparison(), places)));
    expect(commands.slice(0, 2).map(({ name, properties }) => [name, properties['line'], properties['title']])).toEqual(
      [
        ['error', '12', 'refund-small: regressed (2/2 → 0/2)'],
        ['error', '30', 'refund-large: regressed (2/2 → 0/2)'],
      ],
    );
    expect(commands[0]).toMatchObject({ properties: { file: 'proctor/refunds.yaml' } });
    expect(commands[0]?.message).toMatch(/^tool_required: The output .*\ntool_choice: The candidate called/);
    expect(commands.at(-1)).toMatchObject({ name: 'notice', properties: { title: 'Proctor: Regression' } });
  });

  test('give no line for a case whose line is unknown, and no file if the file is unknown', () => {
    const [, , first] = commandsIn(text(reports.annotations.ofComparison(mixedComparison(), places)));
    expect(first?.properties).toMatchObject({
      file: 'proctor/refunds.yaml',
      title: 'still-broken: failing (0/2 → 0/2)',
    });
    expect(first?.properties).not.toHaveProperty('line');
    for (const { properties } of commandsIn(text(reports.annotations.ofComparison(mixedComparison())))) {
      expect(Object.keys(properties)).toEqual(['title']);
    }
  });

  test('contain at most ten errors and one summary, which counts the rest', () => {
    const commands = commandsIn(text(reports.annotations.ofComparison(compared(14))));
    expect(commands.map(({ name }) => name)).toEqual([...Array.from({ length: 10 }, () => 'error'), 'notice']);
    expect(commands.at(-1)?.message).toMatch(/ 4 more problems in the report\.$/);
  });

  test('warn about suspects and cases that failed before', () => {
    const suspect = compareSides(
      side('baseline', [judgedCase('a')]),
      side('new', [failedCase('a')]),
      gateOf({}),
      about,
    );
    expect(
      commandsIn(text(reports.annotations.ofComparison(suspect))).map(({ name, properties: { title } }) => [
        name,
        title,
      ]),
    ).toEqual([
      ['warning', 'a: suspect, could be chance (1/1 → 0/1)'],
      ['notice', 'Proctor: Not enough evidence'],
    ]);
    const still = commandsIn(text(reports.annotations.ofComparison(compared(0, 1))));
    expect(still.map(({ name }) => name)).toEqual(['warning', 'notice']);
  });

  test('report failing cases as errors if a limit is not met', () => {
    const commands = commandsIn(text(reports.annotations.ofComparison(compared(0, 2, { max_failing: 0 }))));
    expect(commands.map(({ name, properties: { title } }) => [name, title])).toEqual([
      ['error', 'max_failing: limit not met'],
      ['error', 'still-0: failing (0/8 → 0/8)'],
      ['error', 'still-1: failing (0/8 → 0/8)'],
      ['notice', 'Proctor: Limit not met'],
    ]);
  });

  test('state the verdict as an error if no case explains it', () => {
    const comparison = { ...compared(0), verdict: 'regression', reason: 'The suite passes less often.' } as Comparison;
    const [only, ...rest] = commandsIn(text(reports.annotations.ofComparison(comparison)));
    expect(rest).toEqual([]);
    expect(only).toMatchObject({ name: 'error', message: 'The suite passes less often.' });
  });

  test('report a run without a comparison', () => {
    const commands = commandsIn(text(reports.annotations.ofRun(judgedRun, places)));
    expect(commands.map(({ name, properties: { title, line } }) => [name, title, line])).toEqual([
      ['warning', 'bad: failing', '7'],
      ['warning', 'late: failing', undefined],
      ['warning', 'lost: missing', undefined],
      ['notice', 'Proctor: No comparison', undefined],
    ]);
  });

  test.each([
    ...ATTACKS,
    '\n::error::forged',
    '\r\n::add-mask::x',
    '%0A::error::forged',
    'a::b,line=1,c=d',
    '##[error]forged',
  ])('cannot be forged with %j', attack => {
    const hostile = {
      ...attacked(attack),
      cases: attacked(attack).cases.map(one => Object.assign(one, { case_id: `${attack}${one.case_id}` })),
    };
    const told = text(reports.annotations.ofComparison(hostile, { ...places, file: `proctor/${attack}.yaml` }));
    expect(told.split('\n').length).toBe(text(reports.annotations.ofComparison(mixedComparison())).split('\n').length);
    expect(told).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u2028\u2029\u202a-\u202e\ufeff]/);
    for (const { name, properties } of commandsIn(told)) {
      expect(['error', 'warning', 'notice']).toContain(name);
      expect(Object.keys(properties).filter(key => !['file', 'line', 'title'].includes(key))).toEqual([]);
      expect(properties['file']).toMatch(/^proctor\/.*\.yaml$/);
    }
  });
});

describe('codequality', () => {
  interface Entry {
    readonly description: string;
    readonly check_name: string;
    readonly fingerprint: string;
    readonly severity: string;
    readonly location: { readonly path: string; readonly lines: { readonly begin: number } };
  }
  const entriesIn = (pieces: Iterable<string>): Entry[] => JSON.parse(text(pieces)) as Entry[];

  test('has the keys that GitLab requires, and lists the worst problems first', () => {
    const entries = entriesIn(reports.codequality.ofComparison(mixedComparison(), places));
    expect(entries[0]).toEqual({
      description: expect.stringMatching(/^refund-small: regressed \(2\/2 → 0\/2\)\. tool_required: /) as string,
      check_name: 'proctor/regressed',
      fingerprint: expect.stringMatching(/^[0-9a-f]{64}$/) as string,
      severity: 'critical',
      location: { path: 'proctor/refunds.yaml', lines: { begin: 12 } },
    });
    expect(entries.map(({ check_name, severity }) => [check_name, severity])).toEqual([
      ['proctor/regressed', 'critical'],
      ['proctor/regressed', 'critical'],
      ['proctor/failing', 'minor'],
      ['proctor/failing', 'minor'],
      ['proctor/missing', 'info'],
    ]);
  });

  test('says that a line is unknown, because GitLab requires one', () => {
    const [first, , still] = entriesIn(reports.codequality.ofComparison(mixedComparison(), places));
    expect(still?.location.lines.begin).toBe(1);
    expect(still?.description).toContain('(The line of the case is unknown.)');
    expect(first?.description).not.toContain('unknown');
    const [limit] = entriesIn(reports.codequality.ofComparison(compared(0, 1, { max_failing: 0 }), places));
    expect(limit).toMatchObject({
      check_name: 'proctor/limit',
      severity: 'critical',
      location: { lines: { begin: 1 } },
    });
    expect(limit?.description).not.toContain('unknown');
  });

  test('gives each problem its own fingerprint, which does not depend on the wording', () => {
    const entries = entriesIn(reports.codequality.ofComparison(mixedComparison(), places));
    expect(new Set(entries.map(({ fingerprint }) => fingerprint)).size).toBe(entries.length);
    const reworded = entriesIn(reports.codequality.ofComparison(attacked('other words'), places));
    expect(reworded.map(({ fingerprint }) => fingerprint)).toEqual(entries.map(({ fingerprint }) => fingerprint));
  });

  test('lists 1,000 problems and counts the rest', () => {
    const comparison = compared(1);
    const one = comparison.cases.find(({ case_id }) => case_id === 'broken-0');
    const cases = Array.from({ length: 1_200 }, (_, index) => ({ ...one, case_id: `b-${index}` })) as ComparedCase[];
    const entries = entriesIn(reports.codequality.ofComparison({ ...comparison, cases }, places));
    expect(entries).toHaveLength(1_002);
    expect(entries.at(-1)?.description).toBe('200 more problems in the other reports.');
  });

  test('is an empty list without problems, and also covers a single run', () => {
    expect(entriesIn(reports.codequality.ofComparison(compared(0), places))).toEqual([]);
    expect(entriesIn(reports.codequality.ofRun(judgedRun, places)).map(({ check_name }) => check_name)).toEqual([
      'proctor/failing',
      'proctor/failing',
      'proctor/missing',
    ]);
  });

  test('fails if the case file is unknown', () => {
    expect(() => text(reports.codequality.ofRun(judgedRun))).toThrow('Name it with --cases.');
  });

  test.each(ATTACKS)('stays intact with %j', attack => {
    const entries = entriesIn(reports.codequality.ofComparison(attacked(attack), places));
    expect(entries).toHaveLength(5);
    for (const { description } of entries) expect(description).not.toMatch(/[\u0000-\u001f\u007f-\u009f\u202e]/);
  });
});
