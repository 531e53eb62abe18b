import { randomBytes, randomUUID } from 'node:crypto';
import { type Clock, instantText } from './clock.ts';

/** `runner_20260106_120000_` and 12 random hexadecimal digits: unique per execution, sortable by second. */
export function newRunnerId(clock: Clock): string {
  const [date = '', time = ''] = instantText(clock.now()).split('T');
  return `runner_${date.replaceAll('-', '')}_${time.slice(0, 8).replaceAll(':', '')}_${randomBytes(6).toString('hex')}`;
}

/** `script_20260106_120000_` and 12 random hexadecimal digits: the name of a run, and of its folder. */
export function newRunId(kind: string, clock: Clock): string {
  return newRunnerId(clock).replace('runner', kind);
}

/** Links a message for users to the internal log. */
export function newCorrelationId(): string {
  // Node keeps a stock of random UUIDs, which is several times faster. Both ends of one are random.
  const uuid = randomUUID();
  return uuid.slice(0, 8) + uuid.slice(-8);
}

export function newSessionId(): string {
  return randomUUID();
}

/** A secret token of 64 hexadecimal digits. */
export function newToken(): string {
  return randomBytes(32).toString('hex');
}

/** A random number from 0 (inclusive) to 1 (exclusive), for jitter. */
export function random(): number {
  return Math.random();
}

/** A W3C trace id: 32 hexadecimal digits. */
export function newTraceId(): string {
  return randomBytes(16).toString('hex');
}

/** A W3C span id: 16 hexadecimal digits. */
export function newSpanId(): string {
  return randomBytes(8).toString('hex');
}
