import { describe, expect, test } from 'vitest';
import { ProgressLine, watchedColumns } from '../../src/cli/text/progress.ts';
import { until } from '../support/runs.ts';

/** The first progress line of a suite in a terminal with this many columns. */
async function shownIn(columns: number): Promise<string> {
  const written: string[] = [];
  const line = new ProgressLine(
    text => written.push(text),
    () => columns,
  );
  line.begin('suite_20260106_120000_aaaaaaaaaaaa');
  await until('a line is shown', () => {
    line.show({ done: 7, failed: 2, total: 1000 });
    return written.length > 0;
  });
  line.end();
  expect(written.at(-1)).toBe('\r\u001b[K');
  return (written[0] ?? '').replace('\r', '').replace('\u001b[K', '');
}

describe('the progress line', () => {
  test('is complete if there is room', async () => {
    expect(await shownIn(120)).toMatch(/^suite_20260106_120000_a{12} {2}7\/1000, 2 without an answer {2}.* left$/);
  });

  test.each([60, 20, 1, 0])('fits a terminal of %d columns, and keeps the numbers if there is room', async columns => {
    const shown = await shownIn(columns);
    expect(shown.length).toBeLessThanOrEqual(Math.max(0, columns - 1));
    if (columns >= 20) expect(shown).toMatch(/^7\/1000, 2 without/);
  });

  test('is printed at most every 10 s without a terminal', () => {
    const written: string[] = [];
    const line = new ProgressLine(text => written.push(text), undefined);
    line.begin('r1');
    for (let done = 1; done <= 1000; done++) line.show({ done, failed: 0, total: 1000 });
    line.end();
    expect(written).toEqual([]);
  });

  test('is not interactive in CI, even with a terminal', () => {
    const stream = { isTTY: true, columns: 77 } as NodeJS.WriteStream;
    expect(watchedColumns(stream, {})?.()).toBe(77);
    expect(watchedColumns(stream, { CI: 'false' })?.()).toBe(77);
    expect(watchedColumns(stream, { CI: '1' })).toBeUndefined();
    expect(watchedColumns({ ...stream, isTTY: false } as NodeJS.WriteStream, {})).toBeUndefined();
  });
});
