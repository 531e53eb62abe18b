import { expect, test } from 'vitest';
import { check } from '../../src/contracts/check.ts';
import type { Contract } from '../../src/contracts/contract.ts';

/** A label, the keys to set in the example (undefined removes one), and the rules that this breaks. */
export type Row = readonly [about: string, change: object, ...broken: string[]];

export const HEX = 'a'.repeat(64);

export function testRows(contract: Contract, example: unknown, rows: readonly Row[]): void {
  for (const [about, change, ...broken] of rows) {
    test(`${verdictOn(broken)} ${about}`, () => {
      const { violations } = judged(contract, Object.assign({}, example, change));
      expect(violations.map(({ rule_id, path }) => `${rule_id} ${path}`)).toEqual(broken);
    });
  }
}

type Judged<Change> = readonly [about: string, change: Change, broken: string[], advice?: string[]];

/** Puts the expected verdict before each label, for example `rejects a blank name`. */
export function titled<Change>(rows: readonly Judged<Change>[]) {
  return rows.map(([about, change, broken, advice = []]) => {
    return [`${verdictOn(broken, advice)} ${about}`, change, broken, advice] as const;
  });
}

/** Puts the expected verdict after each label, for example `a blank name is rejected`. */
export function judgedTitles<Change>(rows: readonly Judged<Change>[]) {
  return rows.map(([about, change, broken, advice = []]) => {
    const verdict = broken.length > 0 ? 'is rejected' : advice.length > 0 ? 'gets advice' : 'is valid';
    return [`${about} ${verdict}`, change, broken, advice] as const;
  });
}

function verdictOn(broken: readonly string[], advice: readonly string[] = []): string {
  if (broken.length > 0) return 'rejects';
  return advice.length > 0 ? 'advises against' : 'accepts';
}

/** Checks the value as it would be read from disk, without keys that are undefined. */
export function judged(contract: Contract, value: unknown) {
  return check(contract, JSON.parse(JSON.stringify(value)), { strict: false, internal: false });
}

export function adviceOn(contract: Contract, value: unknown): string[] {
  const { violations, advice } = judged(contract, value);
  expect(violations).toEqual([]);
  return advice.map(({ rule_id, path }) => `${rule_id} ${path}`);
}

export function claimsOf(contract: Contract, value: unknown) {
  return [...(contract.claims?.(value as never) ?? [])];
}
