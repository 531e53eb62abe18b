import { describe, expect, test } from 'vitest';
import { type AnswerFacts, Budget, type BudgetLimits } from '../../../src/execute/gateway/budget.ts';
import { Refused } from '../../../src/execute/gateway/refused.ts';

const answer = (parts: Partial<AnswerFacts> = {}): AnswerFacts => ({
  isBilled: true,
  bytes: 500,
  heard: { model: 'big', input: 100, cached: 40, cacheWrite: 10, output: 50 },
  ...parts,
});
const prices = {
  models: { big: { input: 10, cached_input: 1, cache_write: 20, output: 100 }, 'small*': { input: 1, output: 2 } },
};

/** The number of admitted requests, sent one after another. */
function admitted(limits: BudgetLimits, count: number, facts: AnswerFacts = answer(), model = 'big'): number {
  const budget = new Budget(limits);
  let good = 0;
  for (let asked = 0; asked < count; asked++) {
    try {
      budget.admit(300, model).settle(facts);
      good++;
    } catch (error) {
      expect(error).toBeInstanceOf(Refused);
    }
  }
  return good;
}

describe('a budget', () => {
  test('without limits counts requests, and refuses none', () => {
    const budget = new Budget({});
    for (let asked = 0; asked < 3; asked++) budget.admit(300, undefined).settle(answer());
    expect(budget.spent()).toEqual({
      requests: 3,
      inputTokens: 450,
      cachedInputTokens: 120,
      outputTokens: 150,
      costUsd: null,
      estimated: 0,
    });
  });

  test('of requests admits exactly that many, and reports the limit once', () => {
    const told: string[] = [];
    const budget = new Budget({ maxRequests: 4 });
    budget.onOver = sentence => told.push(sentence);
    for (let asked = 0; asked < 4; asked++) budget.admit(1, undefined);
    for (let asked = 0; asked < 3; asked++)
      expect(() => budget.admit(1, undefined)).toThrow('limit of 4 model requests');
    expect(told).toEqual(['The agent reached its limit of 4 model requests.']);
    expect(budget.spent().requests).toBe(4);
  });

  test('of tokens admits requests until the answers have used it up', () => {
    // 200 tokens each: the third starts at 400 and ends at 600.
    expect(admitted({ maxTokens: 500 }, 10)).toBe(3);
    expect(admitted({ maxTokens: 400 }, 10)).toBe(2);
    expect(admitted({ maxTokens: 1 }, 10)).toBe(1);
  });

  test('of tokens counts open requests, so that concurrent ones cannot exceed it', () => {
    const budget = new Budget({ maxTokens: 1_000 });
    let open = 0;
    expect(() => {
      for (; open < 42; open++) budget.admit(900, undefined);
    }).toThrow('limit of 1000 tokens');
    expect(open).toBe(4);
  });

  test('estimates an answer without token counts by its bytes, and reports the estimate', () => {
    const budget = new Budget({});
    budget.admit(300, undefined).settle(answer({ heard: {} }));
    budget.admit(300, undefined).settle(answer({ heard: { input: 7 } }));
    budget.admit(300, undefined).settle(answer({ isBilled: false, heard: {} }));
    expect(budget.spent()).toMatchObject({ requests: 3, inputTokens: 107, outputTokens: 1_000, estimated: 2 });
  });

  test("of cost uses the user's prices", () => {
    const budget = new Budget({ prices });
    budget.admit(300, 'big').settle(answer());
    // (100 × 10 + 40 × 1 + 10 × 20 + 50 × 100) / 1,000,000.
    expect(budget.spent().costUsd).toBeCloseTo(0.00624, 10);
    expect(admitted({ prices, maxCostUsd: 0.01 }, 10)).toBe(2);
    expect(admitted({ prices, maxCostUsd: 0.01 }, 10, answer({ heard: { input: 1, output: 1 } }))).toBe(10);
  });

  test('of cost refuses a model without a price, whether the request or the answer names it', () => {
    expect(admitted({ prices, maxCostUsd: 1 }, 5, answer(), 'other')).toBe(0);
    expect(admitted({ prices, maxCostUsd: 1 }, 5, answer({ heard: { model: 'other', input: 1, output: 1 } }))).toBe(1);
    expect(admitted({ prices, maxCostUsd: 1 }, 5, answer({ heard: { model: 'small-2', input: 1, output: 1 } }))).toBe(
      5,
    );
    const budget = new Budget({ prices });
    budget.admit(1, 'other').settle(answer({ heard: { model: 'other', input: 1, output: 1 } }));
    expect(budget.spent().costUsd).toBeNull();
  });

  test('of cost is not enforced by the proxy without prices', () => {
    expect(admitted({ maxCostUsd: 0.01 }, 50)).toBe(50);
  });
});
