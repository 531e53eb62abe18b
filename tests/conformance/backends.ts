import type { Job } from '../../src/execute/job.ts';
import type { Launcher } from '../../src/execute/launch.ts';
import type { Machine } from '../../src/execute/machine.ts';
import type { StoppedBy } from '../../src/contracts/ending.ts';
import { type Asked, opened, type Outcome, outcomeOf, ran, type Show } from './jobs.ts';
import type { Prepared } from '../../src/execute/launch.ts';

/** What a sandbox may promise of a program beyond running it to its end. */
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

/** A kind of sandbox, and what it says of itself. A new one joins by an entry in the list below. */
export interface Backend {
  readonly name: Job['backend'];
  readonly promises: readonly Promised[];
  /** Variables that it adds to those that were asked for. */
  readonly adds: readonly string[];
  /** Whether it sees the wait status of the program, or only a code that a wrapper made of it. */
  readonly seesSignals: boolean;
}

/** Those that work on this machine. */
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

/** Where a behaviour is tried: one backend, through one launcher. */
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

  open(asked: Asked, live = false): Promise<Prepared> {
    return opened(this.launcher, this.backend.name, asked, live);
  }

  /** Runs a program that is asked to end when it has said its first word, for one reason after the other. */
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

/** Something that is so in every sandbox, or in every one that promises it. */
export interface Behaviour {
  readonly name: string;
  readonly needs: Promised | 'always';
  readonly holds: (world: World) => Promise<void>;
  /** What is seen where it is not promised. Without it, only the claim is looked at. */
  readonly lacking?: (world: World) => Promise<void>;
}
