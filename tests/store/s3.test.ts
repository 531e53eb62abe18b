import { once as emitted } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { fileHash } from '../../src/base/file-hash.ts';
import { bytesHash, type ContentHash } from '../../src/base/hash.ts';
import { parseS3Address } from '../../src/store/s3-address.ts';
import { openStore } from '../../src/verbs/store.ts';
import { S3Store } from '../../src/store/s3.ts';
import type { BlobStore } from '../../src/store/store.ts';
import { storeConformance } from '../conformance/store.ts';
import { S3_CREDENTIALS, startS3 } from '../support/s3.ts';
import { temporaryFolder } from '../support/support.ts';

async function bucket(): Promise<{ address: string; folder: string; close: () => Promise<void> }> {
  const folder = temporaryFolder();
  const { endpoint, close } = await startS3(folder, 'proctor');
  onTestFinished(close);
  return { address: `s3://proctor/blobs?endpoint=${endpoint}`, folder, close };
}

storeConformance('s3', async () => {
  const { address, folder } = await bucket();
  let nowMs = Date.now();
  const s3 = new S3Store(parseS3Address(address), S3_CREDENTIALS, { now: () => nowMs });
  const fileOf = (digest: ContentHash): string =>
    path.join(folder, 'proctor', 'blobs', `${digest.replace('sha256:', '')}._S3rver_object`);
  const store: BlobStore = {
    // s3rver answers before it has written the file. Real services answer afterwards.
    put: async (digest, bytes, bytesMax) => {
      await s3.put(digest, bytes, bytesMax);
      await expect.poll(() => fileHash(fileOf(digest))).toBe(digest);
    },
    get: digest => s3.get(digest),
    missing: digests => s3.missing(digests),
    sweep: (ageMs, keep) => s3.sweep(ageMs, keep),
  };
  return {
    store,
    age: ms => void (nowMs += ms),
    damage: digest => {
      const bytes = readFileSync(fileOf(digest));
      bytes[0] = (bytes[0] ?? 0) ^ 1;
      writeFileSync(fileOf(digest), bytes);
    },
  };
});

test('S3 sweeps only blobs, and only below its prefix', async () => {
  const { address } = await bucket();
  const later = { now: () => Date.now() + 10_000 };
  const [inner, outer] = [address, address.replace('/blobs', '/blobs2')].map(
    text => new S3Store(parseS3Address(text), S3_CREDENTIALS, later),
  ) as [S3Store, S3Store];
  await inner.put(bytesHash('a'), once('a'), 1);
  await outer.put(bytesHash('a'), once('a'), 1);
  expect(await inner.sweep(5000, new Set())).toBe(1);
  expect(await outer.missing([bytesHash('a')])).toEqual([]);
});

test('S3 stops sweeping if the service sends the same page for ever', async () => {
  const page = '<IsTruncated>true</IsTruncated><NextContinuationToken>again</NextContinuationToken>';
  const server = createServer((_, response) => void response.end(page)).listen(0, '127.0.0.1');
  onTestFinished(() => void server.close());
  await emitted(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const store = new S3Store(parseS3Address(`s3://proctor/blobs?endpoint=http://127.0.0.1:${port}`), S3_CREDENTIALS);
  await expect(store.sweep(1000, new Set())).rejects.toThrow('does not end');
});

test('S3 without an answer, with wrong credentials or without its bucket is a fault without secrets', async () => {
  const { address, close } = await bucket();
  const wrong = new S3Store(parseS3Address(address), { ...S3_CREDENTIALS, accessKeyId: 'hunter2' });
  await expect(wrong.put(bytesHash('a'), once('a'), 1)).rejects.toMatchObject({ code: 'store_rights' });
  const elsewhere = new S3Store(parseS3Address(address.replace('//proctor', '//nowhere')), S3_CREDENTIALS);
  await expect(elsewhere.put(bytesHash('a'), once('a'), 1)).rejects.toMatchObject({ code: 'store_bucket' });
  await close();
  const gone = wrong.get(bytesHash('a'));
  await expect(gone).rejects.toMatchObject({ code: 'store_unavailable' });
  await expect(gone).rejects.not.toThrow(/hunter2/);
});

test('the address of an S3 store names bucket, prefix, endpoint and region', () => {
  expect(parseS3Address('s3://my-bucket')).toEqual({
    endpoint: 'https://s3.us-east-1.amazonaws.com',
    bucket: 'my-bucket',
    prefix: '',
    region: 'us-east-1',
  });
  expect(parseS3Address('s3://b.c/a/b/?endpoint=https://s3.example:9000/&region=eu-1')).toEqual({
    endpoint: 'https://s3.example:9000',
    bucket: 'b.c',
    prefix: 'a/b/',
    region: 'eu-1',
  });
});

test.each([
  's3://',
  's3://Bucket_x/a',
  's3://user:hunter2@bucket/a',
  's3://bucket/a?endpoint=http://s3.example',
  's3://bucket/a?endpoint=https://user:hunter2@s3.example',
  's3://bucket/a?key=hunter2',
  's3://bucket/%2e%2e/x y',
  'https://bucket/a',
  'bucket',
])('refuses the address %s without repeating it', text => {
  expect(() => parseS3Address(text)).toThrow(/^The address of an S3 store has the form/);
});

test('openStore takes credentials from the environment, and requires both', async () => {
  const { address } = await bucket();
  const env = { AWS_ACCESS_KEY_ID: 'S3RVER', AWS_SECRET_ACCESS_KEY: 'S3RVER' };
  const store = await openStore(address, env);
  await store.put(bytesHash('a'), once('a'), 1);
  expect(await store.missing([bytesHash('a')])).toEqual([]);
  const half = openStore(address, { ...env, AWS_SECRET_ACCESS_KEY: '' });
  await expect(half).rejects.toMatchObject({ code: 'store_credentials' });
  const folder = await openStore(temporaryFolder(), {});
  expect(await folder.missing([bytesHash('a')])).toEqual([bytesHash('a')]);
});

async function* once(text: string): AsyncGenerator<Uint8Array> {
  yield Buffer.from(text);
}
