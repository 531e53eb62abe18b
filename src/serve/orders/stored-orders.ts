import { rmSync } from 'node:fs';
import path from 'node:path';
import { Fault } from '../../base/fault.ts';
import type { ServerLog } from '../operation/log.ts';
import { orderNames, readOrder } from './order-folder.ts';
import { Order } from './order.ts';

/** The orders of earlier servers. An order that cannot be read must not keep the server from starting. */
export function storedOrders(root: string, log: ServerLog): Order[] {
  const noted = <Value>(name: string, read: () => Value, otherwise: Value): Value => {
    try {
      return read();
    } catch (cause) {
      log.fault('unreadable_order', name, new Fault('storage_failed', UNREADABLE, { cause }));
      return otherwise;
    }
  };
  const names = noted('all', () => orderNames(root), []);
  return names.flatMap(name => noted(name, () => storedOrder(root, name, log), undefined) ?? []);
}

/** One order; undefined if there is none that this user's Proctor stored here. */
export function storedOrder(root: string, name: string, log: ServerLog): Order | undefined {
  const folder = path.join(root, name);
  const stored = readOrder(folder);
  if (stored === 'foreign') log.note('foreign_order', { run_id: name, message: FOREIGN });
  else if (stored === 'unstored') rmSync(folder, { recursive: true, force: true });
  else return new Order(name, folder, stored);
  return undefined;
}

const UNREADABLE = 'An order cannot be read, so the server does not start it.';
const FOREIGN = 'The order was not stored by this user on this machine, so the server does not start it.';
