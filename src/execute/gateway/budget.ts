import type { ModelPrices } from '../../contracts/model-prices/index.ts';
import { costOf, type Price, priceOf } from '../../contracts/model-prices/price.ts';
import type { AnswerPart } from './gateway.ts';
import { Refused } from './refused.ts';

/** An agent's total budget. Undefined means no limit. */
export interface BudgetLimits {
  readonly maxRequests?: number;
  readonly maxTokens?: number;
  readonly maxCostUsd?: number;
  /** The user's prices. Without them, no cost is counted. */
  readonly prices?: ModelPrices;
}

/** The counts so far. Null if unknown. */
export interface Spent {
  readonly requests: number;
  readonly inputTokens: number;
  readonly cachedInputTokens: number;
  readonly outputTokens: number;
  readonly costUsd: number | null;
  /** The number of answers without token counts. */
  readonly estimated: number;
}

export interface Admitted {
  /** Called once with the facts about the answer. */
  readonly settle: (answer: AnswerFacts) => void;
}

export interface AnswerFacts {
  /** Whether the provider bills the request: it answered, or had the request when the agent disconnected. */
  readonly isBilled: boolean;
  readonly bytes: number;
  readonly heard: AnswerPart;
}

/**
 * Counts model requests, tokens and cost, and refuses further requests once a limit is reached. It never truncates an
 * answer, so the last answer may exceed a token or cost limit.
 */
export class Budget {
  readonly #limits: BudgetLimits;
  #spent: Spent;
  /** Tokens reserved for open requests, so that concurrent requests cannot exceed the limit together. */
  #pending = 0;
  #isUnpriced = false;
  #over: string | undefined;
  /** Called once, when the first request is refused. */
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

  /** Whether the model of a request must be known. */
  get needsModel(): boolean {
    return this.#limits.prices !== undefined;
  }

  /** Throws `Refused` if the budget does not allow another request. */
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
      return `The agent reached its limit of ${maxRequests} model requests`;
    if (maxTokens !== undefined && inputTokens + outputTokens + this.#pending >= maxTokens)
      return `The agent reached its limit of ${maxTokens} tokens`;
    if (maxCostUsd === undefined || !prices) return undefined;
    if (this.#isUnpriced) return 'A model without a price answered, so the cost limit can no longer be enforced';
    return (costUsd ?? 0) >= maxCostUsd ? `The agent reached its limit of ${maxCostUsd} US dollars` : undefined;
  }

  #unpriced(model: string | undefined): string | undefined {
    const { maxCostUsd, prices } = this.#limits;
    if (maxCostUsd === undefined || !prices || (model !== undefined && priceOf(prices, model))) return undefined;
    return 'The agent requested a model without a price, so the cost limit cannot be enforced';
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

/** English text has about four bytes per token, code about three. */
const REQUEST_BYTES_PER_TOKEN = 3;
