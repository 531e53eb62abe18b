import * as z from 'zod/mini';
import { count, record } from '../../contracts/shape.ts';
import type { QueueOverview } from '../../queue/queue.ts';
import { queueOverviewShape, type WireOverview, wireOverview } from '../../queue/wire.ts';

/** The queue as the server shows it: the rows of `proctor queue show`, and what they add up to. */
export const queueViewShape = z.extend(queueOverviewShape, {
  totals: record({
    waiting: count(),
    active: count(),
    /** Null if nothing waits. */
    oldest_waiting_ms: z.nullable(count()),
    /** Rows, also those that the lists leave out. */
    needs: count(),
    workers: count(),
    slots: count(),
    busy_slots: count(),
  }),
});

export type QueueView = z.infer<typeof queueViewShape>;

/** Lists what waits longest first. Workers choose what they offer, so the lists have limits. */
export function queueView(overview: QueueOverview): QueueView {
  const { needs, workers, lost_last_hour } = wireOverview(overview);
  const ages = needs.flatMap(({ oldest_waiting_ms: ms }) => (ms === null ? [] : [ms]));
  return {
    needs: needs.toSorted((a, b) => ageOf(b) - ageOf(a)).slice(0, ROWS_MAX),
    workers: workers.slice(0, ROWS_MAX),
    lost_last_hour,
    totals: {
      waiting: sum(needs.map(({ waiting }) => waiting)),
      active: sum(needs.map(({ active }) => active)),
      oldest_waiting_ms: ages.length === 0 ? null : Math.max(...ages),
      needs: needs.length,
      workers: workers.length,
      slots: sum(workers.map(({ slots }) => slots)),
      busy_slots: sum(workers.map(({ active }) => active)),
    },
  };
}

const ageOf = ({ oldest_waiting_ms: ms }: WireOverview['needs'][number]): number => ms ?? -1;

const sum = (numbers: readonly number[]): number => numbers.reduce((total, one) => total + one, 0);

const ROWS_MAX = 1_000;
