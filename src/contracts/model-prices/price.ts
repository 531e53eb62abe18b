import type { ModelPrices } from './index.ts';

export type Price = ModelPrices['models'][string];

/** Tokens of one answer. */
export interface UsedTokens {
  /** Neither read from a cache nor written to one. */
  readonly input: number;
  readonly cached: number;
  readonly cacheWrite: number;
  readonly output: number;
}

/** The price of a model: by its exact name, else by the longest name with a star at its end that fits. */
export function priceOf({ models }: ModelPrices, model: string): Price | undefined {
  if (Object.hasOwn(models, model)) return models[model];
  const fitting = Object.keys(models).filter(name => name.endsWith('*') && model.startsWith(name.slice(0, -1)));
  const longest = fitting.reduce((best, name) => (name.length > best.length ? name : best), '');
  return longest === '' ? undefined : models[longest];
}

/** In US dollars. A cache that has no price of its own costs what other input costs. */
export function costOf(price: Price, { input, cached, cacheWrite, output }: UsedTokens): number {
  const { cached_input = price.input, cache_write = price.input } = price;
  const perMillion = input * price.input + cached * cached_input + cacheWrite * cache_write + output * price.output;
  return perMillion / TOKENS_PER_PRICE;
}

const TOKENS_PER_PRICE = 1_000_000;
