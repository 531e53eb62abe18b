import { expect, test } from 'vitest';
import { check } from '../../src/contracts/check.ts';
import type { Contract } from '../../src/contracts/contract.ts';

/** A name, the keys of the example that are set (or taken away, by undefined), and what that breaks. */
export type Row = readonly [name: string, change: object, ...broken: string[]];

export const HEX = 'a'.repeat(64);

export function testRows(contract: Contract, example: unknown, rows: readonly Row[]): void {
  for (const [name, change, ...broken] of rows) {
    test(name, () => {
      const { violations } = judged(contract, Object.assign({}, example, change));
      expect(violations.map(({ rule_id, path }) => `${rule_id} ${path}`)).toEqual(broken);
    });
  }
}

/** Judges what would be read back from disk: a key that is undefined is not there. */
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
