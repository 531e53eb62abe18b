import { expect, test } from 'vitest';
import { Fingerprints } from '../../src/base/fingerprints.ts';

test('reports every text as new exactly once', () => {
  const met = new Fingerprints(1_000_000);
  const texts = Array.from({ length: 200_000 }, (_, index) => `runner_20260106_120000_${index.toString(36)}`);
  expect(texts.filter(text => met.hasMet(text))).toEqual([]);
  expect(texts.filter(text => !met.hasMet(text))).toEqual([]);
  expect(met.hasMet('')).toBe(false);
  expect(met.hasMet('')).toBe(true);
  expect(met.isFull).toBe(false);
});

test('distinguishes texts that differ in one character, in order or in length', () => {
  const met = new Fingerprints(1_000);
  for (const text of ['ab', 'ba', 'a', 'b', 'aa', 'aab', '\u0000', '\u0000\u0000', 'é', 'e\u0301', '😀'])
    expect(met.hasMet(text)).toBe(false);
});

test('stores nothing beyond its limit, and reports that it is full', () => {
  const met = new Fingerprints(3);
  for (const text of ['a', 'b', 'c', 'd']) expect(met.hasMet(text)).toBe(false);
  expect(met.isFull).toBe(true);
  expect(met.hasMet('a')).toBe(true);
  expect(met.hasMet('d')).toBe(false);
});
