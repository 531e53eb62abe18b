import { expect, test } from 'vitest';
import { claudeTurn } from '../../src/adapters/claude-turn.ts';

const usage = { input_tokens: 10, cache_read_input_tokens: 70, cache_creation_input_tokens: 20, output_tokens: 1 };

test('adds up the input tokens of an answer, and ignores output tokens, which Claude states too early', () => {
  const said = { type: 'assistant', message: { id: 'msg_1', model: 'claude', usage } };
  expect(claudeTurn(said)).toEqual({ id: 'msg_1', inputTokens: 100, cachedTokens: 70 });
});

test.each([
  ['another line', { type: 'user', message: { id: 'msg_1', usage } }],
  ['a message that Claude wrote itself', { type: 'assistant', message: { id: 'x', model: '<synthetic>', usage } }],
  ['an answer without an id', { type: 'assistant', message: { usage } }],
  ['an answer without usage', { type: 'assistant', message: { id: 'msg_1' } }],
  ['nothing', {}],
])('reports no answer for %s', (_, said) => {
  expect(claudeTurn(said)).toBeUndefined();
});

test('reports null for numbers that are not counts', () => {
  const odd = { input_tokens: -1, cache_read_input_tokens: '7' };
  expect(claudeTurn({ type: 'assistant', message: { id: 'a', usage: odd } })).toEqual({
    id: 'a',
    inputTokens: null,
    cachedTokens: null,
  });
});
