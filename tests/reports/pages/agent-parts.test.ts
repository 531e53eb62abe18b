import { describe, expect, test } from 'vitest';
import type { AgentRow } from '../../../src/reports/pages/agent-page-data.ts';
import { languageOf, tokensOf } from '../../../web/shared/highlight.ts';
import { linesOf, openAtFirst, splitRows } from '../../../web/pages/agent/diff-rows.ts';
import { barsOf, clockText, lanesOf, ticksOf } from '../../../web/pages/agent/spans.ts';
import { randomFrom, SEED } from '../../support/random.ts';

const call = (seq: number, at: number, over: Partial<AgentRow> = {}): AgentRow => ({
  seq,
  at,
  kind: 'call',
  turn: 1,
  tool: 'Bash',
  state: 'ok',
  took: 10,
  ...over,
});

describe('the timeline', () => {
  test('has a lane for the model, for each tool and for retries', () => {
    const rows = [
      call(1, 100, { waited: 100 }),
      call(2, 200, { tool: 'Write', state: 'denied' }),
      call(3, 300, { kind: 'retry', tool: 'retry', took: 50 }),
    ];
    expect(lanesOf({ rows, endMs: 400 }).map(({ name, spans }) => [name, spans.length])).toEqual([
      ['Model', 1],
      ['Bash', 1],
      ['Write', 1],
      ['Retries', 1],
    ]);
  });

  test('joins the tools that took little time into one lane', () => {
    const rows = Array.from({ length: 20 }, (_, index) => call(index, index * 10, { tool: `t${index}`, took: index }));
    const lanes = lanesOf({ rows, endMs: 300 });
    expect(lanes).toHaveLength(7);
    expect(lanes.at(-1)).toMatchObject({ name: 'Other tools' });
    expect(lanes.at(-1)?.spans).toHaveLength(14);
  });

  test('draws a call without a result to the end of the run', () => {
    const { took: _, ...open } = call(1, 100, { state: null });
    expect(lanesOf({ rows: [open], endMs: 900 })[0]?.spans).toMatchObject([{ from: 100, to: 900, state: 'open' }]);
  });

  test('draws no more bars than there is room for', () => {
    const spans = Array.from({ length: 10_000 }, (_, row) => ({ row, from: row, to: row + 1, state: 'ok' }) as const);
    const bars = barsOf(spans, ms => ms / 20);
    expect(bars.length).toBeLessThan(600);
    expect(bars.reduce((sum, { count }) => sum + count, 0)).toBe(10_000);
  });

  test.each([0, 1, 999, 60_000, 3_600_000, 90_000_000])('has a few ticks for %i ms', endMs => {
    const ticks = ticksOf(endMs);
    expect(ticks.length).toBeLessThanOrEqual(11);
    expect(ticks[0]).toBe(0);
  });

  test('shows hours, minutes and seconds', () => {
    expect([120, 12_000, 200_000, 3_750_000].map(clockText)).toEqual(['0.12 s', '12 s', '3:20 min', '1:02:30 h']);
  });
});

describe('syntax highlighting', () => {
  const kindsOf = (line: string, path: string): string[] =>
    tokensOf(line, languageOf(path), null).tokens.map(({ text, kind }) => `${kind}:${text.trim()}`);

  test('recognizes keywords, strings, comments, numbers and names', () => {
    expect(kindsOf('const a = f("x // y", 12); // end', 'a.ts')).toEqual([
      'keyword:const',
      'plain:a =',
      'name:f',
      'plain:(',
      'string:"x // y"',
      'plain:,',
      'number:12',
      'plain:);',
      'comment:// end',
    ]);
    expect(kindsOf('url: http://a#b # note', 'a.yml').at(-1)).toBe('comment:# note');
    expect(kindsOf('<b>', 'unknown.xyz')).toEqual(['plain:<b>']);
  });

  test('carries an open comment to the next line', () => {
    const first = tokensOf('/* a', languageOf('a.c'), null);
    expect(first.carry).toEqual({ kind: 'comment', end: '*/' });
    expect(tokensOf('b */ int', languageOf('a.c'), first.carry).tokens.map(({ kind }) => kind)).toEqual([
      'comment',
      'plain',
      'keyword',
    ]);
  });

  test(`loses no character of any line (seed ${SEED})`, () => {
    const random = randomFrom(SEED);
    const alphabet = [
      '"',
      "'",
      '`',
      '/',
      '*',
      '#',
      '\\',
      '<',
      '!',
      '-',
      ' ',
      'if',
      'é',
      '😀',
      '\ud800',
      '7',
      '_',
      '$',
      '\u202e',
    ];
    for (let round = 0; round < 500; round++) {
      const line = Array.from({ length: 40 }, () => alphabet[Math.floor(random() * alphabet.length)]).join('');
      for (const path of ['a.ts', 'a.py', 'a.yml', 'a.html', 'a.sql', 'a.css', 'a']) {
        const { tokens } = tokensOf(line, languageOf(path), null);
        expect(tokens.map(({ text }) => text).join('')).toBe(line);
      }
    }
  });

  test('stops in a line with too many tokens, so that one line cannot stall the page', () => {
    const line = 'a"b"'.repeat(10_000);
    const { tokens } = tokensOf(line, languageOf('a.ts'), null);
    expect(tokens.length).toBeLessThanOrEqual(401);
    expect(tokens.map(({ text }) => text).join('')).toBe(line);
  });
});

describe('the lines of a diff', () => {
  const hunk = { oldFrom: 3, newFrom: 5, lines: [' a', '-b', '-c', '+d', ' e', '\\ No newline at end of file'] };

  test('have the numbers of both sides', () => {
    expect(linesOf(hunk, 'a.txt').map(({ sign, old, new: now }) => [sign, old, now])).toEqual([
      [' ', 3, 5],
      ['-', 4, null],
      ['-', 5, null],
      ['+', null, 6],
      [' ', 6, 7],
      ['\\', null, null],
    ]);
  });

  test('pair removed with added lines side by side', () => {
    const rows = splitRows(linesOf(hunk, 'a.txt').slice(0, 5));
    expect(rows.map(({ left, right }) => [left?.old ?? null, right?.new ?? null])).toEqual([
      [3, 5],
      [4, 6],
      [5, null],
      [6, 7],
    ]);
  });

  test('open files until the page would get slow', () => {
    const file = (lines: number) =>
      ({ hunks: [{ oldFrom: 0, newFrom: 1, lines: Array.from({ length: lines }, () => '+x') }] }) as never;
    expect([...openAtFirst([file(500), file(500), file(50)])]).toEqual([0, 2]);
  });
});
