import { counted } from '../../base/counted.ts';
import { printable, printableJson } from '../../base/printable.ts';
import { migrateQueueTables, showQueue } from '../../verbs/queue.ts';
import { queueAddress } from '../options/variables.ts';
import { sweepStore } from '../../verbs/store.ts';
import { stdout } from '../text/out.ts';
import { tableLines } from '../text/table.ts';
import { durationText } from '../text/units.ts';

export async function migrateCommand(url: string | undefined, { json }: { json?: true }): Promise<number> {
  const { from, to } = await migrateQueueTables(queueAddress(url));
  if (json) stdout.write(`${printableJson({ from_version: from, version: to })}\n`);
  else stdout.write(from === to ? `The tables have version ${to} already.\n` : `The tables have version ${to} now.\n`);
  return 0;
}

export async function sweepStoreCommand({ store, olderThan, json }: SweepFlags): Promise<number> {
  const removed = await sweepStore(store, olderThan, process.env);
  if (json) stdout.write(`${printableJson({ removed })}\n`);
  else stdout.write(`${counted(removed, 'blob')} removed.\n`);
  return 0;
}

interface SweepFlags {
  readonly store: string;
  readonly olderThan: number;
  readonly json?: true;
}

export async function showQueueCommand(url: string | undefined, { json }: { json?: true }): Promise<number> {
  const overview = await showQueue(queueAddress(url));
  if (json) {
    stdout.write(`${printableJson(overview)}\n`);
    return 0;
  }
  const { needs, workers, lost_last_hour: lost } = overview;
  const waiting = needs.map(row => [
    printable(row.needs),
    String(row.waiting),
    row.oldest_waiting_ms === null ? '' : durationText(row.oldest_waiting_ms),
    String(row.active),
    row.waiting > 0 && row.workers === 0 ? 'none offers it' : String(row.workers),
  ]);
  const present = workers.map(row => [
    printable(row.worker),
    `${row.active} of ${row.slots}`,
    `${durationText(row.last_seen_ms)} ago`,
    printable(row.version),
  ]);
  const lines = [
    ...(needs.length === 0
      ? ['Nothing waits, and there are no workers.']
      : tableLines([['needs', 'waiting', 'oldest', 'active', 'workers'], ...waiting])),
    ...(workers.length === 0 ? [] : ['', ...tableLines([['worker', 'slots', 'seen', 'version'], ...present])]),
    '',
    `lost in the last hour: ${lost}`,
  ];
  stdout.write(`${lines.join('\n')}\n`);
  return 0;
}
