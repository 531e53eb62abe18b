import { realpathSync } from 'node:fs';
import { bytesHash } from '../base/hash.ts';
import { takeOwnLock } from '../execute/host/locks.ts';

/** Lets one server of a project take orders. Undefined if another process does. A dead server holds no lock. */
export function takeOrdersLock(folder: string): ReturnType<typeof takeOwnLock> {
  return takeOwnLock(`orders-${bytesHash(realpathSync(folder)).slice(-16)}`);
}
