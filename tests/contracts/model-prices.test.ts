import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { costOf, priceOf } from '../../src/contracts/model-prices/price.ts';
import { readPrices } from '../../src/run/agent/read-prices.ts';
import { temporaryFolder } from '../support/support.ts';

describe('a model price', () => {
  const prices = {
    models: {
      big: { input: 1, output: 1 },
      'big*': { input: 2, output: 2 },
      'big-2*': { input: 3, output: 3 },
      '*': { input: 4, output: 4 },
    },
  };
  test.each([
    ['big', 1],
    ['big-1', 2],
    ['big-2-2026', 3],
    ['small', 4],
    ['__proto__', 4],
  ])('for %s is found by its exact name, then by the longest prefix', (model, input) => {
    expect(priceOf(prices, model)?.input).toBe(input);
  });

  test('is unknown if no name matches', () => {
    const { '*': _, ...models } = prices.models;
    expect(priceOf({ models }, 'small')).toBeUndefined();
    expect(priceOf({ models }, 'constructor')).toBeUndefined();
  });

  test('for cached input defaults to the input price', () => {
    const used = { input: 1_000_000, cached: 2_000_000, cacheWrite: 3_000_000, output: 4_000_000 };
    expect(costOf({ input: 1, output: 10 }, used)).toBe(46);
    expect(costOf({ input: 1, cached_input: 0, cache_write: 2, output: 10 }, used)).toBe(47);
  });
});

describe('a price file', () => {
  const read = (text: string): unknown => {
    const file = path.join(temporaryFolder(), 'prices.yaml');
    writeFileSync(file, text);
    return readPrices(path.basename(file), path.dirname(file));
  };

  test('may be YAML or JSON', () => {
    const models = { m: { input: 1.5, output: 2 } };
    expect(read('models: { m: { input: 1.5, output: 2 } }')).toEqual({ models });
    expect(read(JSON.stringify({ schema_version: 'model-prices.v1', models }))).toMatchObject({ models });
  });

  test.each([
    ['models: {}', 'must have at least one model'],
    ['models:\n  m: { input: 1 }', 'line 2: '],
    ['models:\n  m: { input: -1, output: 1 }', 'line 2: '],
    ['models:\n  m: { input: 1, output: 1, outptu: 1 }', 'line 2: '],
    ['models:\n  "a*b": { input: 1, output: 1 }', 'has an invalid model name'],
    ['{"models":{"m":{"input":1,"output":1},"m":{"input":2,"output":2}}}', 'cannot be read'],
    ['', 'price file'],
  ])('is rejected: %j', (text, says) => {
    expect(() => read(text)).toThrow(says);
  });

  test('that does not exist is rejected', () => {
    expect(() => readPrices('nowhere.yaml', temporaryFolder())).toThrow('The price file cannot be read');
  });
});
