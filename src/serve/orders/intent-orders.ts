import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import type { Profile } from '../../contracts/profile/shape.ts';
import type { RunFolder } from '../../evidence/run-folder/runs.ts';
import { recoverPlace } from '../../verbs/recover.ts';
import { checkRemoteIntent, type RemoteIntent, runRemoteIntent } from '../../verbs/remote-intent.ts';
import type { ServerLog } from '../operation/log.ts';
import type { IntentOrderInput } from './intent-order.ts';
import { filesOf } from './order-folder.ts';
import type { OrderEnd, OrderKind, OrderRunning, OrderToRun } from './order-kind.ts';

interface IntentOrdersOptions {
  readonly cwd: string;
  readonly home: string;
  readonly log: ServerLog;
}

/**
 * Intents run in this process. One that was running when the server died is never run again: its evidence is completed,
 * and says that the run was interrupted.
 */
export function intentOrders({ cwd, home, log }: IntentOrdersOptions): OrderKind {
  return {
    lane: 'intents',
    outlives: false,
    prepare: async order => {
      if (!order.isLaid) checkRemoteIntent(storedIntent(order));
    },
    run: async (order, running) => {
      const { id } = order;
      const place: RunFolder = { id, lane: 'intent', folder: path.join(home, 'runs', 'intent', id) };
      const left = await leftBehind(place, cwd, running);
      if (left !== 'nothing') return left;
      const onWarning = (message: string): void => log.note('intent_warning', { run_id: id, message });
      try {
        await runRemoteIntent(id, storedIntent(order), { cwd, signal: running.cancel, onWarning });
      } catch (error) {
        if (running.cancel.aborted) return CANCELLED;
        throw error;
      }
      return running.cancel.aborted ? CANCELLED : { how: 'finished', message: null };
    },
  };
}

const CANCELLED: OrderEnd = { how: 'cancelled', message: null };

/** Completes what an earlier server left of a run. `nothing` if no command of it has started. */
async function leftBehind(
  place: RunFolder,
  cwd: string,
  { cancel, leave }: OrderRunning,
): Promise<OrderEnd | 'nothing'> {
  while (existsSync(place.folder)) {
    const { became, why } = (await recoverPlace(cwd, place)) ?? { became: 'sealed' };
    if (became === 'removed') break;
    if (became === 'recovered') return { how: 'recovered', message: null };
    if (became === 'sealed' || became === 'entered') return { how: 'finished', message: null };
    if (became !== 'alive') return { how: 'failed', message: why ?? "Proctor cannot prove the run's journal." };
    // The launcher of the dead server is still ending its programs.
    await wait(LOOK_MS);
    if (leave.aborted) return undefined;
  }
  return cancel.aborted ? CANCELLED : 'nothing';
}

const LOOK_MS = 200;

/** Reads the files of an order. Only an order that this user's Proctor stored gets here. */
function storedIntent({ folder, ordered }: Pick<OrderToRun, 'folder' | 'ordered'>): RemoteIntent {
  const { intent, answers, mode } = ordered.input as unknown as IntentOrderInput;
  const bytesOf = (name: string): Buffer => readFileSync(path.join(filesOf(folder), name));
  return {
    intent: { name: intent, bytes: bytesOf('intent') },
    answers: answers === null ? null : { name: answers, bytes: bytesOf('answers') },
    profile: JSON.parse(bytesOf('profile').toString()) as Profile,
    mode,
  };
}
