import * as z from 'zod/mini';
import { type Contract, MIB } from '../contract.ts';
import { must, NO_UNKNOWN_KEYS, rulesFor } from '../rule.ts';
import { between, record } from '../shape.ts';

const dollars = () => between(0, USD_MAX);

/** US dollars per million tokens. */
const USD_MAX = 100_000;

const modelPricesShape = record({
  /** Optional, because users write these files by hand. */
  schema_version: z.optional(z.literal('model-prices.v1')),
  models: z.record(
    z.string(),
    record({
      input: dollars(),
      /** Input that the provider read from its cache; same as `input` if absent. */
      cached_input: z.optional(dollars()),
      /** Input that the provider wrote to its cache; same as `input` if absent. */
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
    why: 'A misspelled key would have no effect, so a cost limit would not hold.',
    asks: ['schema_version, if present, is "model-prices.v1"', NO_UNKNOWN_KEYS],
    fields: ['schema_version'],
    breach: prices => ({ ...prices, schema_version: 'model-prices.v9' }),
  }),
  rule({
    id: 'MP2',
    title: 'Every Model Priced',
    why: 'Proctor can enforce a cost limit only if every answer has a price.',
    asks: [
      'models has 1 to 1,000 members; each name is a model name, or a prefix followed by *',
      'a name has 1 to 200 printable ASCII characters, and * only at its end',
      'each has input and output, in US dollars per million tokens, from 0 to 100,000',
      'each may have cached_input and cache_write, which default to input',
    ],
    fields: ['models'],
    *check({ models }) {
      const names = Object.keys(models);
      if (names.length === 0) yield must('models', 'must have at least one model');
      if (names.length > MODELS_MAX) yield must('models', `must have at most ${MODELS_MAX} models`);
      if (!names.every(name => MODEL.test(name))) yield must('models', 'has an invalid model name');
    },
    breach: prices => ({ ...prices, models: {} }),
  }),
];

const MODELS_MAX = 1_000;
const MODEL = /^(?=.{1,200}$)[!-)+-~]*\*?$/;

export const modelPrices: Contract = {
  name: 'model-prices',
  title: 'Model prices',
  tells: 'The prices of models, which Proctor uses to enforce cost limits.',
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
