import { expect, test } from 'vitest';
import { compared, judgedCase, side } from './sides.ts';

test('a comparison stores the tokens of each trial, and nothing if they are unknown', () => {
  const metrics = {
    latency_ms: 1,
    attempts: 1,
    cost_usd: null,
    tokens: 7,
    input_tokens: 3,
    output_tokens: 4,
    steps: 0,
    score: 1,
  };
  const { cases } = compared(side('baseline', [judgedCase('a', { metrics })]), side('new', [judgedCase('a')]));
  expect(cases[0]?.baseline.trials[0]).toMatchObject({ tokens: 7, input_tokens: 3, output_tokens: 4 });
  for (const key of ['tokens', 'input_tokens', 'output_tokens'])
    expect(cases[0]?.new.trials[0]).not.toHaveProperty(key);
});
