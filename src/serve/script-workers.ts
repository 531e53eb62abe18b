import { Fault } from '../base/fault.ts';
import type { Signer } from '../contracts/seal/index.ts';
import { signerAt } from '../verbs/keys.ts';
import { trustedWorkers } from '../verbs/worker-keys.ts';
import type { ScriptWorkers } from './orders/script-runner.ts';
import type { TeamSettings } from './workers/open-team-queue.ts';
import type { TeamQueue } from './workers/team-queue.ts';

interface Sending {
  readonly cwd: string;
  readonly workerKeys: readonly string[] | undefined;
  readonly settings: TeamSettings | undefined;
}

/** Checks that workers can run the published scripts of a server. */
export function sendingOf({ cwd, workerKeys, settings }: Sending): Pick<ScriptWorkers, 'signer' | 'trusted'> {
  if (!settings || settings.store === undefined) throw new Fault('usage', NO_STORE);
  const signer: Signer | undefined = signerAt(cwd);
  if (!signer) throw new Fault('usage', NO_KEY);
  return { signer, trusted: trustedWorkers(workerKeys, cwd) };
}

/** What the server needs to send its published scripts to workers. */
export function scriptWorkers(sending: Pick<ScriptWorkers, 'signer' | 'trusted'>, team: TeamQueue): ScriptWorkers {
  const { queue, store } = team;
  if (!store) throw new Fault('usage', NO_STORE);
  return { ...sending, queue, store, overview: () => team.overview() };
}

const NO_STORE =
  'Published scripts and their evidence reach workers through a queue and a store. Add --queue and --store to --scripts-on workers.';
const NO_KEY = 'The server signs the runs that it accepts from workers. Create its key first: proctor keys new.';
