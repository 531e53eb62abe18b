import { systemClock } from '../../src/base/clock.ts';
import { OriginClient } from '../../src/base/origin-client.ts';
import { homeFrom } from '../../src/evidence/run-folder/runs.ts';
import type { AttemptOutcome, Queue, QueueOverview } from '../../src/queue/queue.ts';
import { RemoteQueue } from '../../src/queue/remote.ts';
import { Tokens } from '../../src/serve/access/tokens.ts';
import { serverFolder } from '../../src/serve/state/server-folder.ts';
import type { TeamSettings } from '../../src/serve/workers/open-team-queue.ts';
import { RemoteStore } from '../../src/store/remote.ts';
import { type World, world } from './access/serve-world.ts';

/** A worker that speaks to a real server. */
export interface RemoteWorker {
  readonly token: string;
  readonly queue: RemoteQueue;
  readonly store: RemoteStore;
}

/** A real server with a queue, and tokens for workers. */
export async function workerWorld(team: TeamSettings, cwd?: string) {
  const at = await world({ team, ...(cwd !== undefined && { cwd }) });
  const worker = async (name: string): Promise<RemoteWorker> => remoteWorker(at, await newToken(at.cwd, name));
  return { at, worker };
}

export function remoteWorker({ origin }: Pick<World, 'origin'>, token: string): RemoteWorker {
  const client = new OriginClient(origin, token);
  const queue = new RemoteQueue(client);
  return { token, queue, store: new RemoteStore(client, queue) };
}

async function newToken(cwd: string, name: string): Promise<string> {
  const tokens = new Tokens(serverFolder(homeFrom(cwd)), systemClock);
  return (await tokens.create({ name, role: 'worker' })).text;
}

/** A queue whose workers speak to a server, and whose conductor has the database. Names of workers lose their token. */
export function joined(remote: Queue, own: Queue): Queue {
  return {
    claim: (offer, free, wait) => remote.claim(offer, free, wait),
    beat: claims => remote.beat(claims),
    forget: claims => remote.forget(claims),
    settle: settlements => remote.settle(settlements),
    close: async () => {
      await remote.close();
      await own.close();
    },
    offer: requests => own.offer(requests),
    outcomes: async (keys, wait) => {
      const known = await own.outcomes(keys, wait);
      return new Map([...known].map(([key, outcome]): [string, AttemptOutcome] => [key, bare(outcome)]));
    },
    begun: keys => own.begun(keys),
    withdraw: runId => own.withdraw(runId),
    onWithdrawn: listener => own.onWithdrawn(listener),
    supervise: () => own.supervise(),
    markSealed: runId => own.markSealed(runId),
    overview: async (): Promise<QueueOverview> => {
      const shown = await own.overview();
      return { ...shown, workers: shown.workers.map(bare) };
    },
  };
}

function bare<Named extends { readonly worker: string }>(named: Named): Named {
  return { ...named, worker: named.worker.replace(/@tok_[0-9a-f]{16}$/, '') };
}
