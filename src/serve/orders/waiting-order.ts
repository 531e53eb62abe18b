import path from 'node:path';
import { Fault } from '../../base/fault.ts';
import { homeFrom } from '../../evidence/run-folder/runs.ts';
import { readRecord } from '../../publish/script-runs.ts';
import { LOCAL_USER } from '../../verbs/publish/publish.ts';
import { readOrder } from './order-folder.ts';

/** A run that a terminal names: its id, and its lane if it has a folder. */
interface NamedRun {
  readonly id: string;
  readonly lane?: string;
}

/** Refuses to call a run ended or missing while a server of this project is going to start it. */
export function refuseWaiting(cwd: string, run: NamedRun): void {
  const home = homeFrom(cwd);
  if (!PLAIN_ID.test(run.id) || !(isOpenOrder(home, run) || isOpenScript(home, run))) return;
  throw new Fault(
    'waits_for_server',
    `${run.id} waits until proctor serve starts it. Cancel it there: on its page, or with POST /v1/runs/${run.id}/cancel.`,
  );
}

/** An id from a terminal becomes a path here. */
const PLAIN_ID = /^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/;

function isOpenOrder(home: string, { id, lane }: NamedRun): boolean {
  const order = readOrder(path.join(home, 'server', 'orders', id));
  if (order === 'unstored' || order === 'foreign' || order.ended) return false;
  const { kind, input } = order.ordered;
  return lane === undefined || lane === (kind === 'suite' ? input['lane'] : kind);
}

/** Without a folder, a recorded run has not started. A terminal runs the orders of the local user itself. */
function isOpenScript(home: string, { id, lane }: NamedRun): boolean {
  const record = lane === undefined ? readRecord(home, id) : undefined;
  return record !== undefined && record.refused === undefined && record.ordered.by !== LOCAL_USER;
}
