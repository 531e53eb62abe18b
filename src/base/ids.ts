import { randomBytes } from 'node:crypto';
import { type Clock, instantText } from './clock.ts';

/** `runner_20260106_120000_` and 12 random hexadecimal digits: unique per execution, sortable by second. */
export function newRunnerId(clock: Clock): string {
  const [date = '', time = ''] = instantText(clock.now()).split('T');
  return `runner_${date.replaceAll('-', '')}_${time.slice(0, 8).replaceAll(':', '')}_${randomBytes(6).toString('hex')}`;
}
