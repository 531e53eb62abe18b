import { expect, test } from 'vitest';
import { check } from '../../src/contracts/check.ts';
import type { Contract } from '../../src/contracts/contract.ts';

/** What the row is about, the keys to set in the example (undefined removes one), and what that breaks. */
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

/** Turns what each row is about into a claim. */
export function titled<Change>(
  rows: readonly (readonly [about: string, change: Change, broken: string[], advice?: string[]])[],
) {
  return rows.map(([about, change, broken, advice = []]) => {
    return [`${verdictOn(broken, advice)} ${about}`, change, broken, advice] as const;
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
