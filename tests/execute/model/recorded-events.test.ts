import { expect, test } from 'vitest';
import { maskingOf } from '../../../src/base/masker.ts';
import { keptBytes } from '../../../src/execute/model/recorded-body.ts';

const SECRET = 'violet-lantern-99173';
const delta = (text: string, index = 0): string =>
  `event: content_block_delta\ndata: ${JSON.stringify({ type: 'content_block_delta', index, delta: { type: 'text_delta', text } })}\n\n`;
const kept = (text: string): { readonly text: string; readonly masked: number } => {
  const { body, masked } = keptBytes(Buffer.from(text), maskingOf([SECRET]));
  return { text: String(body?.value), masked };
};

test('masks a secret that spans events, puts the mask where it starts, and keeps the events valid', () => {
  const pieces = ['It is vio', 'let-lan', 'tern-99', '173, and so on'];
  expect(kept(pieces.map(piece => delta(piece)).join(''))).toEqual({
    text: ['It is [masked]', '', '', ', and so on'].map(piece => delta(piece)).join(''),
    masked: 1,
  });
});

test('does not join texts of different blocks', () => {
  const text = delta('It is violet-', 0) + delta('lantern-99173', 1);
  expect(kept(text)).toEqual({ text, masked: 0 });
});

test('masks a secret within one event, plain or escaped', () => {
  expect(kept(delta(SECRET)).text).toBe(delta('[masked]'));
  const spelt = delta('@').replace('@', '\\u0076iolet-lantern-99173');
  expect(kept(spelt).text).toBe(delta('[masked]'));
});

test('keeps other bodies and interrupted streams unchanged', () => {
  for (const text of ['data: {"a', 'data: [1]\n\n', 'event: ping\n\n', 'nothing of the kind'])
    expect(kept(text).text).toBe(text);
});
