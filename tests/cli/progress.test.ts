import { describe, expect, test } from 'vitest';
import { ProgressLine, watchedColumns } from '../../src/cli/text/progress.ts';
import { until } from '../support/runs.ts';

const PROGRESS = { done: 1_204, failed: 24, total: 10_000 };

/** The first progress line of a suite in a terminal with this many columns. */
async function shownIn(
  columns: number,
  progress: Parameters<ProgressLine['show']>[0] = PROGRESS,
  verdicts: readonly ('pass' | 'fail' | null)[] = [],
): Promise<string> {
  const written: string[] = [];
  const line = new ProgressLine(
    text => written.push(text),
    () => columns,
  );
  line.begin('suite_20260106_120000_aaaaaaaaaaaa');
  for (const verdict of verdicts) line.onVerdict?.(verdict);
  await until('a line is shown', () => {
    line.show(progress);
    return written.length > 0;
  });
  line.end();
  expect(written.at(-1)).toBe('\r\u001b[K');
  return (written[0] ?? '').replace('\r', '').replace('\u001b[K', '');
}

const RATE = String.raw`[\d.]+\/(?:s|min)`;
const LEFT = String.raw`[\d.]+ (?:ms|s|min) left`;

describe('the progress line', () => {
  test('is complete if there is room: answers, failures, rate and time left', async () => {
    expect(await shownIn(120)).toMatch(
      new RegExp(`^suite_20260106_120000_a{12}  1,204/10,000  1,180 answered  24 without an answer  ${RATE}  ${LEFT}$`),
    );
  });

  test('shows how many answers pass and fail, if they are judged as they arrive', async () => {
    const verdicts = [
      ...Array.from({ length: 1_150 }, () => 'pass' as const),
      ...Array.from({ length: 30 }, () => 'fail' as const),
      null,
    ];
    expect(await shownIn(120, PROGRESS, verdicts)).toMatch(
      new RegExp(`  1,204/10,000  1,150 passed  30 failed  24 without an answer  ${RATE}  ${LEFT}$`),
    );
  });

  test('counts no verdicts without a terminal, because judging would only slow the run down', () => {
    expect(new ProgressLine(() => undefined, undefined).onVerdict).toBeUndefined();
  });

  test('does not count failures if there are none', async () => {
    expect(await shownIn(120, { ...PROGRESS, failed: 0 })).toMatch(/ {2}1,204 answered {2}[\d.]+\/(?:s|min) {2}/);
  });

  test('claims no answers if a server does not say which cases have one', async () => {
    expect(await shownIn(120, { ...PROGRESS, failed: null })).toMatch(new RegExp(`  1,204/10,000  ${RATE}  ${LEFT}$`));
  });

  // In a narrow terminal the id gives way first, then the rate, the answers, the time left and the failures.
  test.each([
    [80, `^1,204/10,000  1,180 answered  24 without an answer  ${RATE}  ${LEFT}$`],
    [60, `^1,204/10,000  .*24 without an answer  ${LEFT}$`],
    [40, '^1,204/10,000  24 without an answer$'],
    [20, '^1,204/10,000$'],
    [5, '^1,20$'],
    [1, '^$'],
    [0, '^$'],
  ])('fits a terminal of %d columns', async (columns, expected) => {
    const shown = await shownIn(columns);
    expect(shown.length).toBeLessThanOrEqual(Math.max(0, columns - 1));
    expect(shown).toMatch(new RegExp(expected));
  });

  test('is not printed for every answer without a terminal', () => {
    const written: string[] = [];
    const line = new ProgressLine(text => written.push(text), undefined);
    line.begin('r1');
    for (let done = 1; done <= 1000; done++) line.show({ done, failed: 0, total: 1000 });
    line.end();
    expect(written).toEqual([]);
  });

  test('is not interactive in CI or in a dumb terminal', () => {
    const stream = { isTTY: true, columns: 77 } as NodeJS.WriteStream;
    expect(watchedColumns(stream, {})?.()).toBe(77);
    expect(watchedColumns(stream, { CI: 'false', TERM: 'xterm' })?.()).toBe(77);
    expect(watchedColumns(stream, { CI: '1' })).toBeUndefined();
    expect(watchedColumns(stream, { TERM: 'dumb' })).toBeUndefined();
    expect(watchedColumns({ ...stream, isTTY: false } as NodeJS.WriteStream, {})).toBeUndefined();
  });
});
