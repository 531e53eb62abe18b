/**
 * `npm run bench:queue`: what the queue and the store cost, beside a bare engine in the same minute on the same
 * machine. Ratios count; absolute rates depend on the machine.
 */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { open, rename } from 'node:fs/promises';
import path from 'node:path';
import { syncFolder } from '../src/base/atomic.ts';
import { bytesHash } from '../src/base/hash.ts';
import { MemoryQueue } from '../src/queue/memory.ts';
import type { AttemptRequest, Queue, TargetSlots, WorkerOffer } from '../src/queue/queue.ts';
import { migrateQueueTables, openQueue } from '../src/verbs/queue.ts';
import { openStore } from '../src/verbs/store.ts';
import { TestPostgres } from '../tests/support/postgres.ts';
import { median } from './median.ts';
import { bareRate, enginePeaks, Peaks } from './queue-engines.ts';
import { printRows, type Row } from './rows.ts';

const ATTEMPTS = 4000;
const ROUNDS = 3;
const WINDOW = 512;
const FREE = 32;
const LIMITS = [1, 2, 4, 8] as const;
const EACH = 25;
const WORKERS = 4;
const BLOBS = 200;
const BLOB_BYTES = 32_768;
const REPORT = JSON.stringify({ text: 'x'.repeat(1500) });

async function main(): Promise<void> {
  const folder = mkdtempSync(path.join(process.cwd(), 'node_modules', '.bench-'));
  const postgres = await TestPostgres.start();
  try {
    const url = await postgres.database();
    await migrateQueueTables(url);
    printRows('queue', [await rateRow(url), await limitsRow(url), await storeRow(folder)], {
      attempts: ATTEMPTS,
      free: FREE,
      memory_attempts_per_second: Math.round(await queueRate(new MemoryQueue(), 'm')),
    });
  } finally {
    await postgres.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

/**
 * A hand-written table against the queue, which also fences, expires, notifies, and keeps an outcome per attempt. The
 * table settles attempts as they end; the detail also shows it settling in groups, as the queue does.
 */
async function rateRow(url: string): Promise<Row> {
  const queue = await openQueue(url);
  const [bare, grouped, port]: [number[], number[], number[]] = [[], [], []];
  const same = { attempts: ATTEMPTS, free: FREE, report: REPORT };
  for (let round = 0; round < ROUNDS; round++) {
    bare.push(await bareRate(url, { ...same, settled: 'alone' }));
    grouped.push(await bareRate(url, { ...same, settled: 'grouped' }));
    port.push(await queueRate(queue, `r${round}`));
  }
  await queue.close();
  const ratio = median(port) / median(bare);
  const detail = `${rates(port)} per s against ${rates(bare)} (grouped: ${rates(grouped)}), ${FREE} at a time`;
  return { what: 'queue / bare SKIP LOCKED', ratio, bound: '>= 0.5', holds: ratio >= 0.5, detail };
}

async function limitsRow(url: string): Promise<Row> {
  const alone = await enginePeaks(url, LIMITS, EACH, WORKERS);
  const peaks = await queuePeaks(url);
  const worst = Math.max(...LIMITS.map(max => (peaks[`t${max}`] ?? 0) / max));
  const shown = (of: Record<string, number>): string => LIMITS.map(max => of[`t${max}`]).join(' / ');
  const detail = `limits ${LIMITS.join(' / ')}: peaks ${shown(peaks)}; pg-boss alone ${shown(alone)}`;
  return { what: 'A6 peak / limit, 4 workers', ratio: worst, bound: '= 1', holds: worst === 1, detail };
}

async function queuePeaks(url: string): Promise<Record<string, number>> {
  const first = await openQueue(url);
  const requests = LIMITS.flatMap(max =>
    Array.from({ length: max * EACH }, (_, index) =>
      requestOf(`p/t${max}c${index}/1`, 'p', { target: `t${max}`, max }),
    ),
  );
  await first.offer(requests);
  const peaks = new Peaks();
  let left = requests.length;
  const work = async (index: number) => {
    const queue = await openQueue(url);
    while (left > 0) {
      const claims = await queue.claim({ ...WORKER, worker: `w${index}` }, 16, { waitMs: 50 });
      await Promise.all(claims.map(({ request }) => peaks.during(request.slots?.target ?? '')));
      left -= claims.length;
      await queue.settle(claims.map(claim => ({ claim, end: { is: 'reported', report: REPORT } })));
    }
    await queue.close();
  };
  await Promise.all(Array.from({ length: WORKERS }, (_, index) => work(index)));
  await first.close();
  return peaks.worst;
}

/** Attempts per second, if they take no time: offered in windows, claimed and settled in groups. */
async function queueRate(queue: Queue, runId: string): Promise<number> {
  const startedMs = performance.now();
  for (let at = 0; at < ATTEMPTS; at += WINDOW) {
    const count = Math.min(WINDOW, ATTEMPTS - at);
    const window = Array.from({ length: count }, (_, index) => requestOf(`${runId}/c${at + index}/1`, runId));
    await queue.offer(window);
    for (let left = count; left > 0; ) {
      const claims = await queue.claim(WORKER, FREE, { waitMs: 1000 });
      await queue.settle(claims.map(claim => ({ claim, end: { is: 'reported', report: REPORT } })));
      left -= claims.length;
    }
    await queue.outcomes(
      window.map(({ key }) => key),
      { waitMs: 1000 },
    );
  }
  return (ATTEMPTS * 1000) / (performance.now() - startedMs);
}

const WORKER: WorkerOffer = { worker: 'bench', protocols: [1], needs: ['http'], slots: FREE, version: 'bench' };

function requestOf(key: string, runId: string, slots?: TargetSlots): AttemptRequest {
  return { key, runId, protocol: 1, needs: 'http', priority: 0, timeoutMs: 60_000, ask: '{}', ...(slots && { slots }) };
}

/** The folder against bare writes that are just as durable. */
async function storeRow(folder: string): Promise<Row> {
  const store = await openStore(path.join(folder, 'store'), {});
  const bare = path.join(folder, 'bare');
  mkdirSync(bare);
  const blobs = Array.from({ length: BLOBS }, (_, index) => Buffer.alloc(BLOB_BYTES, `${index}`));
  const [stored, written]: [number[], number[]] = [[], []];
  for (let round = 0; round < ROUNDS; round++) {
    stored.push(await rateOf(blobs, blob => store.put(bytesHash(blob), once(blob), BLOB_BYTES)));
    written.push(await rateOf(blobs, async (blob, index) => writeDurably(path.join(bare, `${index}`), blob)));
  }
  const ratio = median(stored) / median(written);
  const detail = `${rates(stored)} per s against ${rates(written)} per s, 32 kB`;
  return { what: 'folder store / bare durable write', ratio, bound: '>= 0.3', holds: ratio >= 0.3, detail };
}

async function rateOf(blobs: readonly Buffer[], act: (blob: Buffer, index: number) => Promise<void>): Promise<number> {
  const startedMs = performance.now();
  for (const [index, blob] of blobs.entries()) await act(blob, index);
  return (blobs.length * 1000) / (performance.now() - startedMs);
}

async function writeDurably(file: string, bytes: Buffer): Promise<void> {
  const handle = await open(`${file}.tmp`, 'w');
  await handle.writeFile(bytes);
  await handle.datasync();
  await handle.close();
  await rename(`${file}.tmp`, file);
  syncFolder(path.dirname(file));
}

async function* once(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}

function rates(values: readonly number[]): string {
  return values.map(value => Math.round(value)).join(', ');
}

await main();
