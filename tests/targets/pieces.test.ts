import { expect, test } from 'vitest';
import { joinedPieces } from '../../src/targets/pieces.ts';

const piecesOf = (body: string): string[] => joinedPieces(Buffer.from(body));

test('joins texts at the same path of all frames and elements', () => {
  const frames = [{ a: 'x', b: { c: '1' } }, { a: 'y' }, { b: { c: '2' } }];
  const lines = frames.map(frame => JSON.stringify(frame));
  expect(piecesOf(lines.map(line => `data: ${line}\n\n`).join(''))).toEqual(['xy', '12']);
  expect(piecesOf(lines.join('\n'))).toEqual(['xy', '12']);
  expect(piecesOf(JSON.stringify({ list: frames }))).toEqual(['xy', '12']);
});

test('finds nothing in other replies', () => {
  for (const body of ['', 'null', '<html>', '{"a":"x"}', '{"a":']) expect(piecesOf(body)).toEqual([]);
});

test('reads 50,000 members below a name of a million characters', () => {
  const members = Object.fromEntries(Array.from({ length: 50_000 }, (_, index) => [`k${index}`, 'x']));
  expect(piecesOf(JSON.stringify([{ ['n'.repeat(1_000_000)]: members }]))).toEqual([]);
});
