import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { catalogue } from '../../src/contracts/catalogue.ts';
import { type JsonSchema, jsonSchema } from '../../src/contracts/json-schema.ts';
import { contentHash } from '../../src/base/hash.ts';
import { judged, ROOT } from '../support/support.ts';

const CORPUS = path.join(ROOT, 'tests', 'corpus');
const read = (...names: string[]): unknown => JSON.parse(readFileSync(path.join(CORPUS, ...names), 'utf8'));
const names = readdirSync(CORPUS).filter(name => name !== 'schemas');

describe.each(names)('the frozen format %s', name => {
  test.each(readdirSync(path.join(CORPUS, name)))('still accepts %s', async file => {
    const contract = await catalogue[name]?.load();
    if (!contract) throw new Error('the contract is gone');
    const { outcome, violations } = await judged(contract, read(name, file), { strict: true });
    expect({ outcome, violations }).toEqual({ outcome: 'valid', violations: [] });
  });

  test('has not changed the definition of any frozen key', async () => {
    const contract = await catalogue[name]?.load();
    if (!contract) throw new Error('the contract is gone');
    expect([...brokenPromises(read('schemas', `${name}.json`), jsonSchema(contract), '')]).toEqual([]);
  });
});

/** Only optional keys may be added. The definition of an existing key must not change. */
function* brokenPromises(before: unknown, now: unknown, at: string): Generator<string> {
  if (typeof before !== 'object' || before === null) {
    if (before !== now) yield at;
    return;
  }
  if (typeof now !== 'object' || now === null) {
    yield at;
    return;
  }
  for (const [key, value] of Object.entries(before)) {
    if (key === 'required') {
      if (JSON.stringify(value) !== JSON.stringify((now as JsonSchema).required)) yield `${at}.required`;
    } else yield* brokenPromises(value, (now as Record<string, unknown>)[key], `${at}.${key}`);
  }
}

test('detects a changed type, a new required key and a removed key', () => {
  const before = { properties: { a: { type: 'string' } }, required: ['a'] };
  const changes = [
    { properties: { a: { type: 'number' } }, required: ['a'] },
    { properties: { a: { type: 'string' }, b: {} }, required: ['a', 'b'] },
    { properties: {}, required: ['a'] },
  ];
  for (const change of changes) expect([...brokenPromises(before, change, '')]).not.toEqual([]);
  expect([...brokenPromises(before, { ...before, properties: { ...before.properties, b: {} } }, '')]).toEqual([]);
});

test('the built-in profiles have their known hashes', () => {
  expect(['strict', 'default', 'dev'].map(name => contentHash(read('profile', `${name}.json`)))).toEqual([
    'sha256:1f5c1221e6ae2e17e8b4b861801d28cd0eac8c79e7013cc94a3eb124f134d161',
    'sha256:1bd44e78d70da2b8afc440c11e92f0ec0beda1ec634e0c2e240a8464bb63a313',
    'sha256:fddc1f396c59f813e2ec8692739226a39b82117784c8c69e6433b273aa358b96',
  ]);
});
