import type { ModelPrices } from './index.ts';

export type Price = ModelPrices['models'][string];

/** The tokens of one answer. */
export interface UsedTokens {
  /** Input that was not read from or written to a cache. */
  readonly input: number;
  readonly cached: number;
  readonly cacheWrite: number;
  readonly output: number;
}

/** Finds the price by exact name, then by the longest matching prefix that ends with `*`. */
export function priceOf({ models }: ModelPrices, model: string): Price | undefined {
  if (Object.hasOwn(models, model)) return models[model];
  const fitting = Object.keys(models).filter(name => name.endsWith('*') && model.startsWith(name.slice(0, -1)));
  const longest = fitting.reduce((best, name) => (name.length > best.length ? name : best), '');
  return longest === '' ? undefined : models[longest];
}

/** The cost in US dollars. Cache prices default to the input price. */
export function costOf(price: Price, { input, cached, cacheWrite, output }: UsedTokens): number {
  const { cached_input = price.input, cache_write = price.input } = price;
  const perMillion = input * price.input + cached * cached_input + cacheWrite * cache_write + output * price.output;
  return perMillion / TOKENS_PER_PRICE;
}

const TOKENS_PER_PRICE = 1_000_000;
