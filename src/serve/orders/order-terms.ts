import { BusyFault } from '../operation/busy-fault.ts';
import type { ServerLog } from '../operation/log.ts';
import type { OrderedLine } from './order-folder.ts';
import type { TokenQuotas } from '../access/identity.ts';
import type { OrderKinds } from './order-kind.ts';

export interface OrdersOptions {
  /** The folder of all orders. */
  readonly root: string;
  readonly kinds: OrderKinds;
  readonly log: ServerLog;
  readonly limits: OrderLimits;
}

export interface OrderLimits {
  /** How many orders of each lane run at once. */
  readonly atOnce: Readonly<Record<'suites' | 'intents', number>>;
  readonly waitingMax: number;
  /** How many orders of one identity may wait. */
  readonly waitingPerIdentity: number;
}

/** An order of a client. */
export interface NewOrder {
  readonly id: string;
  readonly kind: OrderedLine['kind'];
  readonly by: string;
  readonly key: string | null;
  readonly digest: string | null;
  readonly input: Readonly<Record<string, unknown>>;
  readonly files: readonly { readonly name: string; readonly bytes: Uint8Array }[];
}

/** What a client sees of an order. */
export interface OrderView {
  readonly run_id: string;
  readonly state: 'waiting' | 'running' | 'ended';
  /** Its position among the waiting orders of its lane, from 1; null if it does not wait. */
  readonly position: number | null;
  /** How it ended. */
  readonly how: string | null;
  readonly message: string | null;
}

interface Waiting {
  readonly all: number;
  readonly own: number;
  readonly quotas: TokenQuotas | undefined;
}

/** Refuses an order if too many wait: of all identities, of one, or of one token with a quota. */
export function refuseFull(
  { waitingMax, waitingPerIdentity }: Pick<OrderLimits, 'waitingMax' | 'waitingPerIdentity'>,
  { all, own, quotas }: Waiting,
  code: 'too_many_requests' | 'queue_full' = 'too_many_requests',
): void {
  const quota = quotas?.waiting;
  const why =
    all >= waitingMax
      ? `${waitingMax} runs are waiting.`
      : quota !== undefined && own >= quota
        ? `The quota of this token is ${quota} waiting ${quota === 1 ? 'run' : 'runs'}.`
        : quota === undefined && own >= waitingPerIdentity
          ? `${waitingPerIdentity} of your runs are waiting.`
          : undefined;
  if (why !== undefined) throw new BusyFault(code, `${why} Try again later.`, RETRY_S);
}

const RETRY_S = 30;
