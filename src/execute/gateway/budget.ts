import type { ModelPrices } from '../../contracts/model-prices/index.ts';
import { costOf, type Price, priceOf } from '../../contracts/model-prices/price.ts';
import type { Heard } from './gateway.ts';
import { Refused } from './refused.ts';

/** What an agent may ask of its model in all. Absent is what nothing bounds. */
export interface BudgetLimits {
  readonly maxRequests?: number;
  readonly maxTokens?: number;
  readonly maxCostUsd?: number;
  /** Prices of the user's. Without them no cost is counted. */
  readonly prices?: ModelPrices;
}

/** What the door has counted. Null where it cannot know. */
export interface Spent {
  readonly requests: number;
  readonly inputTokens: number;
  readonly cachedInputTokens: number;
  readonly outputTokens: number;
  readonly costUsd: number | null;
  /** Answers that did not say how many tokens they used. */
  readonly estimated: number;
}

/** A request that was admitted, until its answer is over. */
export interface Admitted {
  /** What its answer said. Called once. */
  readonly settle: (answer: AnswerFacts) => void;
}

export interface AnswerFacts {
  /** The provider counts tokens for it: it answered, or had the request when the agent gave up. */
  readonly isBilled: boolean;
  readonly bytes: number;
  readonly heard: Heard;
}

/**
 * Counts requests, tokens and cost over all requests that make a model answer, and refuses every further one when a limit
 * is reached. An answer under way is never cut for it, so the last one may exceed a limit of tokens or cost.
 */
export class Budget {
  readonly #limits: BudgetLimits;
  #spent: Spent;
  /** Tokens of requests that have no answer yet, so that many at once cannot slip through together. */
  #pending = 0;
  #isUnpriced = false;
  /** Why no further request is admitted. */
  #over: string | undefined;
  /** Told once, when the first request is refused. */
  onOver: ((sentence: string) => void) | undefined;

  constructor(limits: BudgetLimits) {
    this.#limits = limits;
    this.#spent = {
      requests: 0,
      inputTokens: 0,
      cachedInputTokens: 0,
      outputTokens: 0,
      costUsd: limits.prices ? 0 : null,
      estimated: 0,
    };
  }

  spent(): Spent {
    return this.#spent;
  }

  /** Whether the model that a request asks for has to be known. */
  get needsModel(): boolean {
    return this.#limits.prices !== undefined;
  }

  /** Throws `Refused` when the budget does not allow another request. */
  admit(bytes: number, model: string | undefined): Admitted {
    const over = this.#over ?? this.#excess() ?? this.#unpriced(model);
    if (over !== undefined) {
      const refused = new Refused('budget', 'budget', over);
      if (this.#over === undefined) this.onOver?.(refused.sentence);
      this.#over = over;
      throw refused;
    }
    const reserved = Math.ceil(bytes / REQUEST_BYTES_PER_TOKEN);
    this.#pending += reserved;
    this.#spent = { ...this.#spent, requests: this.#spent.requests + 1 };
    return {
      settle: answer => {
        this.#pending -= reserved;
        if (answer.isBilled) this.#add(answer, reserved, model);
      },
    };
  }

  #excess(): string | undefined {
    const { maxRequests, maxTokens, maxCostUsd, prices } = this.#limits;
    const { requests, inputTokens, outputTokens, costUsd } = this.#spent;
    if (maxRequests !== undefined && requests >= maxRequests)
      return `The agent made as many requests to its model as it may: ${maxRequests}`;
    if (maxTokens !== undefined && inputTokens + outputTokens + this.#pending >= maxTokens)
      return `The agent used as many tokens as it may: ${maxTokens}`;
    if (maxCostUsd === undefined || !prices) return undefined;
    if (this.#isUnpriced) return 'A model answered that has no price, so the limit on cost cannot be enforced any more';
    return (costUsd ?? 0) >= maxCostUsd ? `The agent cost as much as it may: ${maxCostUsd} US dollars` : undefined;
  }

  #unpriced(model: string | undefined): string | undefined {
    const { maxCostUsd, prices } = this.#limits;
    if (maxCostUsd === undefined || !prices || (model !== undefined && priceOf(prices, model))) return undefined;
    return 'The agent asked for a model that has no price, so the limit on cost cannot be enforced';
  }

  #add({ bytes, heard }: AnswerFacts, reserved: number, model: string | undefined): void {
    const { input, cached = 0, cacheWrite = 0, output } = heard;
    const used = { input: input ?? reserved, cached, cacheWrite, output: output ?? bytes };
    const isEstimated = input === undefined || output === undefined;
    const cost = this.#costOf(used, heard.model ?? model);
    const spent = this.#spent;
    this.#spent = {
      requests: spent.requests,
      inputTokens: spent.inputTokens + used.input + cached + cacheWrite,
      cachedInputTokens: spent.cachedInputTokens + cached,
      outputTokens: spent.outputTokens + used.output,
      costUsd: spent.costUsd === null || cost === undefined ? null : spent.costUsd + cost,
      estimated: spent.estimated + (isEstimated ? 1 : 0),
    };
  }

  #costOf(used: Parameters<typeof costOf>[1], model: string | undefined): number | undefined {
    const { prices } = this.#limits;
    const price: Price | undefined = prices && model !== undefined ? priceOf(prices, model) : undefined;
    if (price) return costOf(price, used);
    this.#isUnpriced = true;
    return undefined;
  }
}

/** Text in English has four letters to a token, code three, and a token never spans less than a byte. */
const REQUEST_BYTES_PER_TOKEN = 3;
