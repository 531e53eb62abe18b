import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { writeAtomic } from '../../src/base/atomic.ts';
import { instantText, parseInstant, systemClock } from '../../src/base/clock.ts';
import { Fault } from '../../src/base/fault.ts';
import { newRunnerId } from '../../src/base/ids.ts';

describe('an instant', () => {
  test.each([
    ['2026-01-06T12:00:00.000Z', 1767700800000],
    ['2026-01-06T12:00:00Z', 1767700800000],
    ['2026-01-06T12:00:00.5Z', 1767700800500],
    ['2024-02-29T00:00:00Z', 1709164800000],
  ])('is parsed from %s', (text, atMs) => {
    expect(parseInstant(text)).toBe(atMs);
  });

  test.each([
    '2026-02-30T12:00:00Z',
    '2025-02-29T00:00:00Z',
    '2026-13-01T12:00:00Z',
    '2026-01-06T24:00:00Z',
    '2026-01-06T23:59:60Z',
    '2026-01-06T12:00:00+00:00',
    '2026-01-06T12:00:00.123456Z',
    '2026-01-06 12:00:00Z',
    '2026-01-06T12:00Z',
    '2026-01-06',
    '2026-01-06T12:00:00Z\n',
    '',
  ])('%j is rejected', text => {
    expect(parseInstant(text)).toBeUndefined();
  });

  test('is written in UTC with milliseconds', () => {
    expect(instantText(0)).toBe('1970-01-01T00:00:00.000Z');
  });
});

test('runner ids match their format and do not repeat', () => {
  const ids = Array.from({ length: 1_000 }, () => newRunnerId(systemClock));
  for (const id of ids) expect(id).toMatch(/^runner_\d{8}_\d{6}_[a-z0-9]+$/);
  expect(new Set(ids).size).toBe(ids.length);
  expect(newRunnerId({ now: () => Date.UTC(2026, 0, 6, 12) })).toMatch(/^runner_20260106_120000_/);
});

describe('an atomic write', () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'atomic-'));
  afterAll(() => rmSync(folder, { recursive: true }));

  test('replaces the whole file and leaves nothing else behind', () => {
    const file = path.join(folder, 'a.json');
    writeFileSync(file, 'old and long');
    writeAtomic(file, 'new');
    expect(readFileSync(file, 'utf8')).toBe('new');
    expect(readdirSync(folder)).toEqual(['a.json']);
  });

  test('that fails reports no path, keeps the cause, and leaves nothing behind', () => {
    const file = path.join(folder, 'no', 'such', 'b.json');
    let fault: unknown;
    try {
      writeAtomic(file, 'x');
    } catch (error) {
      fault = error;
    }
    expect(fault).toBeInstanceOf(Fault);
    expect(String(fault)).not.toContain(folder);
    expect((fault as Fault).cause).toBeInstanceOf(Error);
    expect(readdirSync(folder)).toEqual(['a.json']);
  });
});
