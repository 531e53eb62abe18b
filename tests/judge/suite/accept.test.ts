import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { judgeAccept } from '../../../src/judge/suite/apart.ts';
import { temporaryFolder } from '../../support/support.ts';

const LIST = { type: 'object', properties: { orders: { type: 'array', items: { required: ['id'] } } } };
const CLOSED = { properties: {}, additionalProperties: false };

test.each<[string, Record<string, unknown>, string, string | null]>([
  ['matches', LIST, '{"orders":[{"id":1}]}', null],
  ['has another type', LIST, '[]', 'The document must be object.'],
  ['lacks a nested key', LIST, '{"orders":[{}]}', "In the document, orders[0] must have required property 'id'."],
  ['has a key that names a host path', CLOSED, '{"/home/me":1}', 'The document does not match the schema.'],
])('judges a document that %s by its schema', async (_, schema, content, message) => {
  const folder = temporaryFolder();
  mkdirSync(path.join(folder, 'out'));
  writeFileSync(path.join(folder, 'out', 'a.json'), content);
  const files = new Map([['out/a.json', { sha256: '', bytes: content.length }]]);
  const [judged] = await judgeAccept([{ check: 'json_schema', path: 'out/a.json', schema }], folder, files);
  expect(judged).toEqual({ check: 'json_schema', path: 'out/a.json', held: message === null, message });
});

test('does not judge a pattern that takes too many steps on a large file', async () => {
  const folder = temporaryFolder();
  const content = 'ax'.repeat(100_000);
  writeFileSync(path.join(folder, 'a.txt'), content);
  const files = new Map([['a.txt', { sha256: '', bytes: content.length }]]);
  const pattern = String.raw`\p{L}{0,1000}\p{L}{0,1000}\p{L}{0,1000}y$`;
  const [judged] = await judgeAccept([{ check: 'content_matches', path: 'a.txt', pattern }], folder, files);
  expect(judged).toMatchObject({ held: false, message: expect.stringContaining('too many steps') });
});
