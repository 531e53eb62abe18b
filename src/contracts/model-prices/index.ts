import * as z from 'zod/mini';
import { type Contract, MIB } from '../contract.ts';
import { must, rulesFor } from '../rule.ts';
import { between, record } from '../shape.ts';

const dollars = () => between(0, USD_MAX);

/** US dollars for a million tokens. */
const USD_MAX = 100_000;

const modelPricesShape = record({
  /** May be left out of files that people write. */
  schema_version: z.optional(z.literal('model-prices.v1')),
  models: z.record(
    z.string(),
    record({
      input: dollars(),
      /** Input that the provider read from its cache; costs as much as other input if absent. */
      cached_input: z.optional(dollars()),
      /** Input that the provider wrote to its cache; costs as much as other input if absent. */
      cache_write: z.optional(dollars()),
      output: dollars(),
    }),
  ),
});

export type ModelPrices = z.infer<typeof modelPricesShape>;

const rule = rulesFor<ModelPrices>();

const rules = [
  rule({
    id: 'MP1',
    title: 'Price Version Known',
    why: 'A misspelt key would price nothing, and a limit on cost would not hold.',
    asks: [
      'schema_version, if present, is "model-prices.v1"; files that people write may leave it out',
      'should (must, when strict): no key is unknown',
    ],
    fields: ['schema_version'],
    breach: prices => ({ ...prices, schema_version: 'model-prices.v9' }),
  }),
  rule({
    id: 'MP2',
    title: 'Every Model Priced',
    why: 'A limit on cost holds only if every answer has a price.',
    asks: [
      'models has 1 to 1,000 members; each name is that of a model, or its beginning and a star',
      'a name has 1 to 200 printable ASCII letters, and a star only at its end',
      'each has input and output, in US dollars for a million tokens, from 0 to 100,000',
      'each may have cached_input and cache_write, which cost as much as input if absent',
    ],
    fields: ['models'],
    *check({ models }) {
      const names = Object.keys(models);
      if (names.length === 0) yield must('models', 'must have a model');
      if (names.length > MODELS_MAX) yield must('models', `must have at most ${MODELS_MAX} models`);
      if (!names.every(name => MODEL.test(name))) yield must('models', 'has a name that no model has');
    },
    breach: prices => ({ ...prices, models: {} }),
  }),
];

const MODELS_MAX = 1_000;
const MODEL = /^(?=.{1,200}$)[!-)+-~]*\*?$/;

export const modelPrices: Contract = {
  name: 'model-prices',
  title: 'Model prices',
  tells: 'What models cost, so that a limit on cost can be enforced.',
  source: 'Proctor, run agent',
  version: { field: 'schema_version', value: 'model-prices.v1' },
  shape: modelPricesShape,
  rules,
  unknownKeys: 'MP1',
  beyond: ['whether a provider charges these prices'],
  bytesMax: MIB,
  example: {
    schema_version: 'model-prices.v1',
    models: {
      'example-model-1': { input: 3, cached_input: 0.3, cache_write: 3.75, output: 15 },
      'example-model-small*': { input: 0.25, output: 2 },
    },
  } satisfies ModelPrices,
};
