import { lstatSync } from 'node:fs';
import path from 'node:path';
import { codeOf } from '../../base/fault.ts';
import { hasJournal } from '../../evidence/recovery/recover.ts';
import { dropUnordered, type OrderedRunLine, readRecord, recordedRuns } from '../../publish/script-runs.ts';
import { LOCAL_USER } from '../../verbs/publish/publish.ts';
import type { ServerLog } from '../operation/log.ts';

interface OpenScriptOrder {
  readonly runId: string;
  readonly by: string;
  /** The digest of its version. */
  readonly version: string;
}

export interface OpenScriptOrders {
  /** Orders without a run folder, oldest first. */
  readonly unbegun: readonly OpenScriptOrder[];
  /** Runs that are not sealed. */
  readonly begun: readonly OpenScriptOrder[];
  /** Runs that only a worker may make. */
  readonly sent: readonly OpenScriptOrder[];
  /** The newest orders that a client may repeat. */
  readonly repeats: readonly (OpenScriptOrder & { readonly repeat: NonNullable<OrderedRunLine['repeat']> })[];
}

/** What earlier servers left of the orders of published scripts. An order that cannot be read does not stop the others. */
export function openScriptOrders(home: string, log: ServerLog): OpenScriptOrders {
  const unbegun: OpenScriptOrder[] = [];
  const begun: OpenScriptOrder[] = [];
  const sent: OpenScriptOrder[] = [];
  const repeats: OpenScriptOrders['repeats'][number][] = [];
  for (const runId of recordedRuns(home).reverse()) {
    try {
      const record = readRecord(home, runId);
      if (!record) dropUnordered(home, runId);
      // A terminal runs the orders of the local user itself.
      if (!record || record.ordered.by === LOCAL_USER) continue;
      const { by, repeat, published } = record.ordered;
      const order = { runId, by, version: published.digest };
      if (repeat) repeats.push({ ...order, repeat });
      if (record.refused) continue;
      if (record.sent) {
        if (!record.taken) sent.push(order);
        continue;
      }
      const folder = path.join(home, 'runs', 'script', runId);
      if (!lstatSync(folder, { throwIfNoEntry: false })) unbegun.push(order);
      else if (hasJournal(folder)) begun.push(order);
    } catch (error) {
      log.note('unreadable_order', { run_id: runId, code: codeOf(error) });
    }
  }
  return { unbegun, begun, sent, repeats: repeats.slice(-REPEATS_MAX) };
}

const REPEATS_MAX = 10_000;
