import { setTimeout as wait } from 'node:timers/promises';
import { monotonicMs } from '../base/clock.ts';
import { Fault } from '../base/fault.ts';
import { OriginClient } from '../base/origin-client.ts';
import { RemoteQueue } from '../queue/remote.ts';
import { LONG_POLL_MS_MAX } from '../queue/wire.ts';
import { RemoteStore } from '../store/remote.ts';
import type { BlobStore } from '../store/store.ts';
import type { ServerOfQueue } from './worker.ts';

/** The queue and the store of a server, for a worker. Waits for a server that is just starting. */
export async function openServerQueue(
  { url, token }: ServerOfQueue,
  signal?: AbortSignal,
): Promise<{ readonly queue: RemoteQueue; readonly store: BlobStore; readonly claimMs: number }> {
  const client = new OriginClient(url, token);
  const queue = new RemoteQueue(client);
  const endMs = monotonicMs() + OPEN_MS;
  for (;;) {
    try {
      await queue.check();
      return { queue, store: new RemoteStore(client, queue), claimMs: LONG_POLL_MS_MAX };
    } catch (error) {
      const mayRecover = error instanceof Fault && error.code === 'queue_unavailable';
      if (!mayRecover || monotonicMs() > endMs || signal?.aborted === true) throw error;
      await wait(RETRY_MS, undefined, signal && { signal }).catch(() => undefined);
    }
  }
}

const OPEN_MS = 30_000;
const RETRY_MS = 500;
