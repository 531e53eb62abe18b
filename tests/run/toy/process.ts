/** A process that runs a toy, and blocks at the given step. */
import { writeSync } from 'node:fs';
import { useStateFolder } from '../../../src/base/state-folder.ts';
import { openLauncher } from '../../../src/execute/launcher/launch.ts';
import { ledgerOf } from '../../../src/verbs/ledger.ts';
import { type AtStep, runToy } from './kind.ts';

export type Stop = Parameters<AtStep>[0] | 'ledger' | 'never';

/** The argument of the process, as JSON. */
export interface Task {
  readonly home: string;
  readonly stateFolder: string;
  readonly command: readonly string[];
  readonly stopAt: Stop;
}

const { home, stateFolder, command, stopAt } = JSON.parse(process.argv[2] as string) as Task;
useStateFolder(stateFolder);

const at = (step: Stop): void => {
  if (step !== stopAt) return;
  writeSync(1, `${step}\n`);
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
};

const launcher = openLauncher();
const ledger = ledgerOf(home);
await runToy(
  command,
  {
    launcher,
    home,
    signer: undefined,
    ledger: { enter: async entry => (at('ledger'), ledger.enter(entry)) },
    onOutput: () => undefined,
  },
  at,
);
writeSync(1, 'done\n');
await launcher.close();
