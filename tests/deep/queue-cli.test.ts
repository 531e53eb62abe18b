/** `proctor queue`, from the built package. */
import { spawn } from 'node:child_process';
import { utimesSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { bytesHash } from '../../src/base/hash.ts';
import { assertServer } from '../../src/queue/postgres/migrate.ts';
import { openPostgresQueue } from '../../src/queue/postgres/queue.ts';
import { FolderStore } from '../../src/store/folder.ts';
import { reported, request } from '../conformance/queue.ts';
import { TestPostgres } from '../support/postgres.ts';
import { Place } from '../support/runs.ts';
import { servedUntilStopped } from '../support/serve.ts';
import { ROOT, temporaryFolder } from '../support/support.ts';

let postgres: TestPostgres;
beforeAll(async () => {
  postgres = await TestPostgres.start();
});
afterAll(() => postgres.stop());

interface Ran {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

async function proctor(words: readonly string[], env: Record<string, string> = {}): Promise<Ran> {
  const child = spawn(process.execPath, [path.join(ROOT, 'dist', 'proctor.js'), ...words], {
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const [out, err] = await Promise.all(
    [child.stdout, child.stderr].map(async stream => {
      const pieces: Buffer[] = [];
      for await (const piece of stream) pieces.push(piece as Buffer);
      return Buffer.concat(pieces).toString();
    }),
  );
  if (child.exitCode === null) await new Promise(resolve => child.once('exit', resolve));
  return { code: child.exitCode, out: out ?? '', err: err ?? '' };
}

test('queue migrate creates the tables once, even if several start together', async () => {
  const url = await postgres.database();
  const ran = await Promise.all([1, 2, 3].map(() => proctor(['queue', 'migrate', '--json'], { PROCTOR_QUEUE: url })));
  expect(ran.map(({ code, err }) => [code, err])).toEqual([
    [0, ''],
    [0, ''],
    [0, ''],
  ]);
  const from = ran.map(({ out }) => (JSON.parse(out) as { from_version: number; version: number }).from_version);
  expect(from.sort((a, b) => a - b)).toEqual([0, 3, 3]);
  expect(await proctor(['queue', 'migrate', url])).toEqual({
    code: 0,
    out: 'The tables have version 3 already.\n',
    err: '',
  });
  const tables = await postgres.sql<{ name: string }>(
    `select table_name as name from information_schema.tables where table_schema = 'proctor' order by 1`,
    url,
  );
  expect(tables.map(({ name }) => name)).toEqual(['begun', 'migration', 'outcome', 'run', 'worker']);
});

test('queue migrate refuses a server that is older than PostgreSQL 13', () => {
  expect(() => assertServer(120_022)).toThrow('The queue needs PostgreSQL 13 or newer. This server has version 12.');
  expect(() => assertServer(130_000)).not.toThrow();
});

test('queue show reports what waits, what is active, what was lost, and the workers', async () => {
  const url = await postgres.database();
  await proctor(['queue', 'migrate', url]);
  expect((await proctor(['queue', 'show', url])).out).toBe(
    'Nothing waits, and there are no workers.\n\nlost in the last hour: 0\n',
  );
  const queue = await openPostgresQueue(url);
  await queue.offer([request('a'), request('b'), request('c', { needs: 'agent/claude/sha256:00' })]);
  const worker = { worker: 'w1', protocols: [1], needs: ['http'], slots: 8, version: '0.2.0' };
  await queue.settle((await queue.claim(worker, 1, { waitMs: 0 })).map(claim => reported(claim)));
  await queue.close();
  const { code, out } = await proctor(['queue', 'show', url]);
  expect(code).toBe(0);
  expect(out).toMatch(/^agent\/claude\/sha256:00 +1 +\S+ .*none offers it$/m);
  expect(out).toMatch(/^http +1 .* 1$/m);
  expect(out).toMatch(/^w1 +0 of 8 .* 0\.2\.0$/m);
  const shown = JSON.parse((await proctor(['queue', 'show', url, '--json'])).out) as { needs: object[] };
  expect(shown).toMatchObject({
    needs: [
      { needs: 'agent/claude/sha256:00', waiting: 1, active: 0, workers: 0 },
      { needs: 'http', waiting: 1, active: 0, workers: 1 },
    ],
    workers: [{ worker: 'w1', slots: 8, active: 0 }],
    lost_last_hour: 0,
  });
  const place = new Place();
  onTestFinished(() => place.remove());
  const server = await servedUntilStopped(place.cwd, { team: { queue: url } });
  onTestFinished(() => server.stop());
  const { body } = await server.json('/v1/queue');
  expect(withoutTimes({ ...(body as object), totals: undefined })).toBe(withoutTimes(shown));
});

/** The rows in any order, because the server lists what waits longest first. */
function withoutTimes(shown: object): string {
  const { needs, workers, ...rest } = shown as Record<'needs' | 'workers', object[]>;
  const lines = (rows: object[]) => rows.map(row => JSON.stringify(row).replace(/_ms":\d+/g, '_ms":0')).sort();
  return JSON.stringify([lines(needs), lines(workers), rest]);
}

test('refuses a database without tables, and tables of another version, with a sentence and exit code 2', async () => {
  const url = await postgres.database();
  const { code, err } = await proctor(['queue', 'show', url]);
  expect([code, err]).toEqual([
    2,
    'error: The database contains no queue of Proctor. Run `proctor queue migrate` with the address of the database.\n',
  ]);
  await proctor(['queue', 'migrate', url]);
  // The next version still supports this release.
  await postgres.sql('insert into proctor.migration (version) values (4)', url);
  expect((await proctor(['queue', 'show', url])).code).toBe(0);
  await postgres.sql('insert into proctor.migration (version) values (5)', url);
  expect(await proctor(['queue', 'show', url])).toMatchObject({
    code: 2,
    err: expect.stringContaining(
      'The tables of the queue have version 5, and this release supports versions 3 and 4.',
    ) as string,
  });
  expect((await proctor(['queue', 'migrate', url])).code).toBe(2);
  await postgres.sql('delete from proctor.migration', url);
  expect(await proctor(['queue', 'show', url])).toMatchObject({
    code: 2,
    err: expect.stringContaining('The tables of the queue have version 0, and this release needs version 3.') as string,
  });
});

test('never prints the password of an address', async () => {
  const host = new URL(postgres.url()).host;
  const addresses = [
    `postgres://proctor:hunter2@${host}/missing`,
    `postgres://proctor:hunter2@${host}/postgres?sslmode=require`,
    `postgres://proctor:hunter2@nowhere.invalid/x`,
    `postgres://proctor:hunter2@${host}/x:[`,
    'mysql://proctor:hunter2@h/x',
    'postgres://proctor:hunter2@h:99999999/x',
  ];
  for (const url of addresses) {
    const { code, out, err } = await proctor(['queue', 'show', url], { PROCTOR_DEBUG: '1' });
    expect([code, out], url).toEqual([2, '']);
    expect(err, url).not.toContain('hunter2');
    expect(err, url).toMatch(/^error: [A-Z].*\.\n$/);
  }
});

test('queue sweep removes the blobs that nothing has written for a while, and nothing else', async () => {
  const folder = temporaryFolder();
  const store = new FolderStore(folder);
  const [old, young] = ['old', 'young'].map(text => ({ text, digest: bytesHash(text) }));
  if (!old || !young) throw new Error('two blobs');
  for (const { text, digest } of [old, young]) await store.put(digest, once(text), 10);
  const name = old.digest.replace('sha256:', '');
  const longAgo = new Date(Date.now() - 40 * 86_400_000);
  utimesSync(path.join(folder, name.slice(0, 2), name), longAgo, longAgo);
  const sweep = (age: string, at = folder): Promise<Ran> =>
    proctor(['queue', 'sweep', '--store', at, '--older-than', age]);
  expect(await sweep('50d')).toEqual({ code: 0, out: '0 blobs removed.\n', err: '' });
  expect(await sweep('30d')).toEqual({ code: 0, out: '1 blob removed.\n', err: '' });
  expect(await store.missing([old.digest, young.digest])).toEqual([old.digest]);
  expect(await sweep('1h')).toMatchObject({ code: 2, err: expect.stringContaining('at least 1d') as string });
  expect(await sweep('30d', path.join(folder, 'typo'))).toMatchObject({
    code: 2,
    err: expect.stringContaining('There is no such folder.') as string,
  });
});

async function* once(text: string): AsyncGenerator<Uint8Array> {
  yield Buffer.from(text);
}
