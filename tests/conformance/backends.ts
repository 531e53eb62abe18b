import type { Job } from '../../src/execute/job/job.ts';
import type { Launcher } from '../../src/execute/launcher/launch.ts';
import type { Machine } from '../../src/execute/host/machine.ts';
import type { StoppedBy } from '../../src/contracts/ending.ts';
import { type Asked, opened, type Outcome, outcomeOf, ran, type Show } from './jobs.ts';
import type { SandboxHandle } from '../../src/execute/launcher/launch.ts';

/** What a sandbox may promise beyond running a program to its end. */
export type Promised =
  | 'network'
  | 'file system'
  | 'environment'
  | 'work folder'
  | 'memory'
  | 'pids'
  | 'cpu'
  | 'tree'
  | 'open files'
  | 'core dumps'
  | 'commands'
  | 'sequences'
  | 'write roots'
  | 'mounts'
  | 'door';

/** A kind of sandbox and its promises. To add one, extend the list below. */
export interface Backend {
  readonly name: Job['backend'];
  readonly promises: readonly Promised[];
  /** Variables that it adds to those of the job. */
  readonly adds: readonly string[];
  /** Whether it sees the wait status of the program, or only an exit code made by a wrapper. */
  readonly seesSignals: boolean;
}

/** The backends that work on this machine. */
export function backendsOf({ cgroups, missing }: Machine): Backend[] {
  const bare: Backend = { name: 'none', promises: [], adds: ['PROCTOR_RUN'], seesSignals: true };
  const bound: Backend = {
    name: 'process',
    promises: [
      ...([
        'network',
        'file system',
        'environment',
        'work folder',
        'tree',
        'open files',
        'core dumps',
        'commands',
        'sequences',
        'write roots',
        'mounts',
        'door',
      ] as const),
      ...(cgroups === 'none' ? [] : (['memory', 'pids', 'cpu'] as const)),
    ],
    adds: ['PWD'],
    seesSignals: false,
  };
  return missing.length === 0 ? [bare, bound] : [bare];
}

/** Runs behaviours on one backend, through one launcher. */
export class World {
  readonly backend: Backend;
  readonly launcher: Launcher;

  constructor(backend: Backend, launcher: Launcher) {
    this.backend = backend;
    this.launcher = launcher;
  }

  run(
    asked: Asked,
    more: { show?: Show; look?: (workFolder: string, homeFolder: string) => void } = {},
  ): Promise<Outcome> {
    return ran(this.launcher, this.backend.name, asked, more);
  }

  open(asked: Asked, live = false): Promise<SandboxHandle> {
    return opened(this.launcher, this.backend.name, asked, live);
  }

  /** Runs a program, and after its first output requests a stop for each reason in turn. */
  async stopped(asked: Asked, ...reasons: readonly StoppedBy[]): Promise<Outcome> {
    const prepared = await this.open(asked, true);
    try {
      let isUp = () => {};
      const up = new Promise<void>(resolve => (isUp = resolve));
      const captured = prepared.start(() => isUp());
      await Promise.race([up, captured]);
      for (const by of reasons) prepared.stop(by);
      return outcomeOf(await captured, prepared.leftovers);
    } finally {
      await prepared.close();
    }
  }

  promises(promised: Promised): boolean {
    return this.backend.promises.includes(promised);
  }
}

/** A behaviour of every sandbox, or of every sandbox that promises it. */
export interface Behaviour {
  readonly name: string;
  readonly needs: Promised | 'always';
  readonly holds: (world: World) => Promise<void>;
  /** Checks a sandbox that does not promise this behaviour. If absent, only the claim is tested. */
  readonly lacking?: (world: World) => Promise<void>;
}
