import { execFileSync } from 'node:child_process';
import { describe, expect, test } from 'vitest';
import type { AgentRow } from '../../../src/reports/pages/agent-page-data.ts';
import { agentPage } from '../../../src/reports/pages/agent-page.ts';
import { usualCommands } from '../../../src/reports/pages/evidence-part.ts';
import { driftGroups } from '../../../src/reports/drift.ts';
import { lanesOf } from '../../../web/pages/agent/spans.ts';
import { scaleOf } from '../../../web/pages/history/scale.ts';
import { addressOf } from '../../../web/report/address.ts';
import { filledCommand } from '../../../web/report/command-text.ts';
import { enclosingPaths } from '../../../web/report/enclosing-paths.ts';
import { selected } from '../../../src/reports/rows/selection.ts';
import { looksLikeHtml } from '../../../web/shared/looks-like-html.ts';
import { histogramOf } from '../../../web/shared/histogram.ts';
import { reportWorld } from '../report-world.ts';
import { temporaryFolder } from '../../support/support.ts';
import { comparisonPage } from '../../../src/reports/comparison-page.ts';
import { linesFrom, pageInput } from './agent-page-world.ts';

/** Members that every object has. A plain object as a map finds them. */
const MEMBERS = ['__proto__', 'constructor', 'toString', 'hasOwnProperty', 'valueOf'];

describe('a name that every object has', () => {
  test.each(MEMBERS)('as an order in the address, keeps the usual order: %s', name => {
    const { head, rows } = comparisonPage(reportWorld({ cases: 6, regressed: 1 }));
    const all = [...rows()];
    expect(selected(all, head, addressOf(`#sort=${name}`))).toEqual([...all.keys()]);
  });

  test.each([...MEMBERS, '\nmodel', 'model', ''])('as a tool, names its own lane: %j', tool => {
    const row: AgentRow = { seq: 1, at: 10, turn: 1, kind: 'call', tool, state: 'ok', took: 5, waited: 10 };
    expect(lanesOf({ rows: [row], endMs: 20 }).map(({ name }) => name)).toEqual(['Model', tool]);
  });

  test.each(MEMBERS)('as a field that differs, names its own group: %s', field => {
    const fields = [{ field, baseline: 'a', new: 'b' }];
    const [group] = driftGroups({ comparability: { state: 'drift', fields }, cases: [] });
    expect(group?.of).toBe(field);
  });
});

describe('a number at the end of the range', () => {
  test.each([
    [1e308, 1e-9],
    [Number.MAX_VALUE, Number.MAX_VALUE],
    [1e308, 1e308],
    [5e-324, 5e-324],
  ])('gives a histogram with few ticks: %d and %d', (high, low) => {
    const histogram = histogramOf(Float64Array.of(low), Float64Array.of(low, high));
    expect(histogram?.ticks.length ?? 0).toBeLessThan(20);
    expect(histogram?.ticks.every(Number.isFinite) ?? true).toBe(true);
  });

  test.each([5e-324, 1e-310, 1e-300, 1e308, Number.MAX_VALUE])('gives a scale with few ticks: %d', highest => {
    expect(scaleOf(highest).length).toBeLessThanOrEqual(6);
    expect(scaleOf(highest).every(Number.isFinite)).toBe(true);
  });
});

describe('a place in a case', () => {
  test('is looked for in each place that encloses it', () => {
    expect([...enclosingPaths('events[2].args.id')]).toEqual([
      'events[2].args.id',
      'events[2].args',
      'events[2]',
      'events',
    ]);
  });

  test.each(['a[b]c]', ']', '[', '[]]', '..', '[[[', 'a].b[', `${'.'.repeat(100_000)}`, '\u0000]'])(
    'ends, whatever brackets its keys have: %j',
    path => expect([...enclosingPaths(path)].length).toBeLessThanOrEqual(1_000),
  );
});

describe('text that may be HTML', () => {
  test.each([
    ['<!doctype html><p>x', true],
    ['  <p class="a">x</p>\n', true],
    ['<my-tag>x</my-tag >', true],
    ['<p>x', false],
    ['a <p>x</p>', false],
    ['<3 </3>', false],
  ])('is recognized: %j', (text, is) => expect(looksLikeHtml(text)).toBe(is));

  // With a pattern that tries each length of a name, each of these takes minutes and exceeds the time limit of a test.
  test.each([
    `<${'a-'.repeat(50_000)}>${'x'.repeat(100_000)}`,
    `<a>${'</a'.repeat(66_000)}`,
    `<a>${'</a'.padEnd(100_000)}x`,
    `<a ${'<a '.repeat(60_000)}`,
  ])('is judged in one pass', text => expect(looksLikeHtml(text)).toBe(false));
});

describe('a command to paste', () => {
  /** What a shell hands to a program, word by word. */
  const wordsOf = (line: string): string[] =>
    execFileSync('bash', ['-c', `proctor() { printf '%s\\0' "$@"; }\n${line}`], { encoding: 'utf8' })
      .split('\0')
      .slice(0, -1);

  const NAMES = [
    'a\u0003\nid > owned\n.yml',
    '\u001b[201~; id; .yml',
    '$(id)`id`"$HOME"!!',
    '--anyway',
    '=ls',
    '~root',
    "it's\u202e",
  ];

  test.each(NAMES)('names the file of an agent, and has no character that a terminal acts on: %j', name => {
    const input = pageInput(temporaryFolder(), { needsReview: { total: 1, listed: [{ path: name, reason: 'x' }] } });
    const { commands } = agentPage(input).data;
    const apply = commands.find(({ does }) => does.startsWith('Apply'))?.command ?? '';
    expect(apply).not.toMatch(/[\p{Cc}\p{Cf}]/u);
    expect(wordsOf(apply)).toEqual(['apply', input.name, '--allow-active', name]);
  });

  test('names a run whose folder looks like a flag', () => {
    const { commands } = agentPage(pageInput(temporaryFolder(), { name: '--help' })).data;
    expect(commands.map(({ command }) => command).every(command => command.endsWith(' -- --help'))).toBe(true);
    for (const { command } of usualCommands({ word: '--help', life: 'finished' }))
      expect(command).toMatch(/ -- --help$/);
  });

  test.each(NAMES)('holds the question of a case as one word: %j', user => {
    const values = { id: 'a', input: { user }, runs: {} };
    const filled = filledCommand({ words: ['proctor', 'try', 'x', { put: 'question' }] }, values);
    expect(wordsOf((filled as { text: string }).text).at(-1)).toBe(user);
  });
});

test('10,000 commands of blanks are put on one line each without trying each blank', () => {
  const about = `${' '.repeat(1_590)}x\n y`;
  const lines = linesFrom(
    Array.from({ length: 10_000 }, (_, index) => ({
      kind: 'tool_call' as const,
      call: `${index}`,
      tool: 'Bash',
      input: { text: '{}' },
      command: { text: about },
    })),
  );
  expect(agentPage(pageInput(temporaryFolder(), { lines })).data.rows[0]?.about).toBe('x ⏎ y');
});
