import { codeOf } from '../base/fault.ts';

/**
 * Whether an error of a queue says that no database runs at its host. Then no conductor can give up an attempt. A network
 * that is cut looks different.
 */
export function isDatabaseDown(error: unknown): boolean {
  return DOWN.has(codeOf(error instanceof Error ? error.cause : undefined));
}

/** What a server answers to a worker if its database is down. */
export const QUEUE_DOWN = 'queue_down';

/** Connection refused; PostgreSQL is shutting down, has crashed, or is starting; and what a server says about that. */
const DOWN: ReadonlySet<string> = new Set(['ECONNREFUSED', '57P01', '57P02', '57P03', QUEUE_DOWN]);
