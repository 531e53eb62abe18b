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

/** What joins a sentence for people to the lines of the internal log that explain it. */
export function newCorrelationId(): string {
  return randomBytes(8).toString('hex');
}

/** By which an agent calls its session. */
export function newSessionId(): string {
  return randomUUID();
}

/** A word that nobody can guess, in 64 hexadecimal digits: whoever says it may pass. */
export function newToken(): string {
  return randomBytes(32).toString('hex');
}

/** A number from 0 up to but not 1, for pauses that must not fall into step. */
export function random(): number {
  return Math.random();
}
