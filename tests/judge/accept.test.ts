import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { judgeAccept } from '../../src/judge/accept.ts';
import { temporaryFolder } from '../support.ts';

const LIST = { type: 'object', properties: { orders: { type: 'array', items: { required: ['id'] } } } };
const CLOSED = { properties: {}, additionalProperties: false };

test.each<[string, Record<string, unknown>, string, string | null]>([
  ['keeps it', LIST, '{"orders":[{"id":1}]}', null],
  ['is of another kind', LIST, '[]', 'The document must be object.'],
  ['lacks a key within', LIST, '{"orders":[{}]}', "In the document, orders[0] must have required property 'id'."],
  ['has a key that names a place of a machine', CLOSED, '{"/home/me":1}', 'The document does not keep the schema.'],
])('a document that %s is judged by its schema, in words', async (_, schema, content, message) => {
  const folder = temporaryFolder();
  mkdirSync(path.join(folder, 'out'));
  writeFileSync(path.join(folder, 'out', 'a.json'), content);
  const files = new Map([['out/a.json', { sha256: '', bytes: content.length }]]);
  const [judged] = await judgeAccept([{ check: 'json_schema', path: 'out/a.json', schema }], folder, files);
  expect(judged).toEqual({ check: 'json_schema', path: 'out/a.json', held: message === null, message });
});
