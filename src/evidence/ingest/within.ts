import { setTimeout as pause } from 'node:timers/promises';
import { Fault } from '../../base/fault.ts';

/**
 * Does some work within a time, or throws. The work is told to stop by the signal and gets a moment for that, so that
 * what it holds is let go; a call that the machine never answers is left behind.
 */
export async function within<T>(wallMs: number, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const stop = new AbortController();
  const working = work(stop.signal);
  const timer = new AbortController();
  const late = pause(wallMs, LATE, { signal: timer.signal });
  try {
    const first = await Promise.race([working, late]);
    if (first !== LATE) return first;
    const slow = new Fault('ingest_slow', 'Taking over what the run left behind took too long.');
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
