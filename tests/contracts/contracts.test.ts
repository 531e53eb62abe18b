import { Ajv2020 } from 'ajv/dist/2020.js';
import { describe, expect, test } from 'vitest';
import { catalogue, loadContracts } from '../../src/contracts/catalogue.ts';
import { check } from '../../src/contracts/check.ts';
import { definitionOf } from '../../src/contracts/definition.ts';
import { jsonSchema } from '../../src/contracts/json-schema.ts';
import { judged } from '../support/support.ts';

const contracts = await loadContracts();
const context = { strict: false, internal: true };
const ajv = new Ajv2020({ strict: false });

describe.each(contracts.map(contract => [contract.name, contract] as const))('the contract %s', (name, contract) => {
  test('has an example that is valid in strict mode, without advice', async () => {
    const { outcome, violations, advice } = await judged(contract, contract.example, { strict: true });
    expect({ outcome, violations, advice: advice.filter(({ rule_id }) => rule_id !== 'RS5') }).toEqual({
      outcome: 'valid',
      violations: [],
      advice: [],
    });
  });

  test.each(contract.rules.map(rule => [rule.id, rule] as const))(
    'has a breach of %s that breaks only that rule',
    (id, rule) => {
      const breach = rule.breach(structuredClone(contract.example) as never);
      const { violations } = check(contract, breach, context);
      expect([...new Set(violations.map(({ rule_id }) => rule_id))]).toEqual([id]);
    },
  );

  test('assigns every key to exactly one rule', () => {
    const { shape, options = [] } = definitionOf(contract.shape)._zod.def;
    const shapes = [shape, ...options.map(option => option._zod.def.shape)];
    for (const key of new Set(shapes.flatMap(one => Object.keys(one ?? {})))) {
      expect(
        contract.rules.filter(({ fields }) => fields.includes(key)).map(({ id }) => id),
        key,
      ).toHaveLength(1);
    }
    const owned = contract.rules.flatMap(({ fields }) => fields);
    expect(new Set(owned).size, 'a key is owned twice').toBe(owned.length);
    expect(contract.rules.map(({ id }) => id)).toContain(contract.unknownKeys);
  });

  test('has rules with an id, a title and a reason that is a sentence', () => {
    for (const { id, title, why } of contract.rules) {
      expect(id).toMatch(/^[A-Z]{2}\d+$/);
      expect(title).toMatch(/^\S.*\S$/);
      expect(why, id).toMatch(/^[A-Z“"].*[.]$/s);
    }
  });

  test('matches its entry in the catalogue', () => {
    const entry = catalogue[name];
    expect({ field: entry?.field, value: entry?.value, fileNames: entry?.fileNames ?? [] }).toEqual({
      field: contract.version?.field,
      value: contract.version?.value,
      fileNames: contract.fileNames ?? [],
    });
  });

  test('has a JSON Schema that accepts the example and rejects it without any required key', () => {
    const schema = jsonSchema(contract);
    const validate = ajv.compile(schema);
    expect(validate(contract.example), ajv.errorsText(validate.errors)).toBe(true);
    // A union has no required keys of its own.
    for (const key of schema.required ?? []) {
      const { [key]: _, ...rest } = contract.example as Record<string, unknown>;
      expect(validate(rest), key).toBe(false);
      expect(check(contract, rest, context).violations.length, key).toBeGreaterThan(0);
    }
  });

  test('reports each breach with its path, as a sentence', () => {
    for (const rule of contract.rules) {
      for (const { message, path } of check(contract, rule.breach(structuredClone(contract.example) as never), context)
        .violations) {
        if (path !== undefined) expect(message.startsWith(`${path} `), message).toBe(true);
        expect(message).toMatch(/\.$/);
      }
    }
  });
});

test('a rule id has the same title and reason everywhere', () => {
  const meanings = new Map<string, string>();
  for (const { id, title, why } of contracts.flatMap(({ rules }) => rules)) {
    const meaning = `${title}: ${why}`;
    expect(meanings.get(id) ?? meaning, id).toBe(meaning);
    meanings.set(id, meaning);
  }
});
