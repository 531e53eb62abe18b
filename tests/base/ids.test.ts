import { describe, expect, test } from 'vitest';
import { monotonicMs, systemClock } from '../../src/base/clock.ts';
import { random, newCorrelationId, newRunId } from '../../src/base/ids.ts';
import { VERSION } from '../../src/base/version.ts';
import { scriptOutcome } from '../../src/contracts/script-outcome/index.ts';
import { exampleWith, judged, rulesOf } from '../support/support.ts';

const noon = { now: () => Date.UTC(2026, 0, 6, 12) };

describe('a run id', () => {
  test('starts with its kind and its start time, so that names sort by time', () => {
    expect(newRunId('script', noon)).toMatch(/^script_20260106_120000_[0-9a-f]{12}$/);
    expect(newRunId('agent', noon)).toMatch(/^agent_20260106_120000_/);
    const later = { now: () => Date.UTC(2026, 0, 6, 12, 0, 1) };
    expect(newRunId('script', noon) < newRunId('script', later)).toBe(true);
  });

  test('does not repeat within a second', () => {
    expect(new Set(Array.from({ length: 1_000 }, () => newRunId('script', noon))).size).toBe(1_000);
  });

  test('and a correlation id are valid in an outcome', async () => {
    const ids = { run_id: newRunId('script', systemClock), correlation_id: newCorrelationId() };
    expect(rulesOf(await judged(scriptOutcome, exampleWith(scriptOutcome, ids)))).toEqual([]);
    expect(newCorrelationId()).not.toBe(newCorrelationId());
  });
});

test('random numbers are between 0 and 1', () => {
  for (let round = 0; round < 1_000; round++) {
    const value = random();
    expect(value >= 0 && value < 1).toBe(true);
  }
});

test('the monotonic clock never goes backwards', () => {
  const times = Array.from({ length: 1_000 }, monotonicMs);
  expect(times).toEqual(times.toSorted((a, b) => a - b));
});

test('the version of a source checkout is 0.0.0-source', () => {
  expect(VERSION).toBe('0.0.0-source');
});
