import { setTimeout as pause } from 'node:timers/promises';
import { Fault } from '../../base/fault.ts';

/**
 * Runs `work` with a time limit, and throws when the limit is reached. The signal then asks `work` to stop, and it gets
 * a second to release its resources. A system call that never returns is abandoned.
 */
export async function within<T>(wallMs: number, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const stop = new AbortController();
  const working = work(stop.signal);
  const timer = new AbortController();
  const late = pause(wallMs, LATE, { signal: timer.signal });
  try {
    const first = await Promise.race([working, late]);
    if (first !== LATE) return first;
    const slow = new Fault('ingest_slow', "Reading the run's output took too long.");
    stop.abort(slow);
    await Promise.race([working.catch(() => undefined), pause(GRACE_MS)]);
    throw slow;
  } finally {
    timer.abort();
    late.catch(() => undefined);
  }
}

const LATE = Symbol('late');
const GRACE_MS = 1_000;
