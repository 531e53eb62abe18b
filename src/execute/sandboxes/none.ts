import { spawn } from 'node:child_process';
import { closeSync, mkdirSync, openSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { Fault } from '../../base/fault.ts';
import type { SandboxInstance, RawEnd, Sandbox, Started } from '../job/sandbox-instance.ts';
import type { Job, Leftovers } from '../job/job.ts';
import { checkStdin } from './mounts.ts';
import { handOver, makePipes, type Pipe } from '../job/pipes.ts';
import { isAlive, processesInGroup, processesMarked, signal } from '../host/processes.ts';

/**
 * No sandbox: an ordinary process of the current user, with limits on time and output only. Proctor finds its
 * descendants by process group and by a variable in their environment. A process that leaves the group and clears its
 * environment escapes.
 */
export const none: Sandbox = {
  async open(job) {
    const refused = NOT_ENFORCEABLE.find(([isAsked]) => isAsked(job));
    if (refused) throw new Fault('not_enforceable', `Without a sandbox, Proctor cannot ${refused[1]}.`);
    if (job.stdin !== undefined) checkStdin(job.stage, job.stdin);
    if (job.home) mkdirSync(path.join(job.stage, 'home'), { mode: 0o700 });
    return new BareCell(job, await makePipes(2));
  },
};

const NOT_ENFORCEABLE: readonly (readonly [(job: Job) => unknown, string])[] = [
  [job => job.programs, 'limit which programs run'],
  [job => job.then, 'make sure that one program has ended before the next starts'],
  [job => job.writeRoots, 'limit where a program writes'],
  [job => job.mounts ?? job.door, 'mount files for a program'],
  [job => job.network === 'blocked', 'block the network'],
];

class BareCell implements SandboxInstance {
  readonly workFolder: string;
  readonly homeFolder?: string;
  readonly leftovers: Leftovers;
  readonly #job: Job;
  readonly #marker: string;
  readonly #pipes: readonly Pipe[];
  /** The program's process group, until all its processes have ended. Then the kernel may reuse the number. */
  #group: number | undefined;

  constructor(job: Job, pipes: readonly Pipe[]) {
    this.#job = job;
    this.#pipes = pipes;
    this.workFolder = path.join(job.stage, 'work');
    if (job.home) this.homeFolder = path.join(job.stage, 'home');
    this.#marker = `PROCTOR_RUN=${job.id}`;
    this.leftovers = { stage: job.stage, cgroups: [], processes: [], marker: this.#marker };
  }

  start(): Started {
    const { argv, env, id, stage, stdin } = this.#job;
    const [program = '', ...args] = argv;
    const [stdout, stderr] = this.#pipes as readonly [Pipe, Pipe];
    const ended = new Promise<RawEnd>(resolve => {
      let input: number | undefined;
      try {
        if (stdin !== undefined) input = openSync(path.join(stage, stdin), 'r');
        const child = spawn(program, args, {
          cwd: path.join(this.workFolder, this.#job.startIn ?? '.'),
          env: { ...env, PROCTOR_RUN: id },
          stdio: [input ?? 'ignore', stdout.writeFd, stderr.writeFd],
          detached: true,
        });
        this.#group = child.pid;
        child.once('error', error => resolve(notStarted(error)));
        child.once('exit', (code, name) => resolve(name === null ? { code: code ?? 0 } : { signal: name }));
      } catch (error) {
        // Node throws some errors, such as arguments that are too long, instead of emitting them.
        resolve(notStarted(error));
      } finally {
        if (input !== undefined) closeSync(input);
      }
    });
    handOver(this.#pipes);
    return { stdout: stdout.reader, stderr: stderr.reader, ended: ended.then(end => this.#alone(end)) };
  }

  running(): undefined {
    return undefined;
  }

  terminate(): void {
    this.#signal('SIGTERM');
  }

  kill(): void {
    this.#signal('SIGKILL');
  }

  async counters(): Promise<{ oomKills: number }> {
    return { oomKills: 0 };
  }

  async exceeded(): Promise<undefined> {
    return undefined;
  }

  async close(first?: () => Promise<void>): Promise<void> {
    await this.#alone(undefined);
    await first?.();
    for (const { reader } of this.#pipes) reader.destroy();
  }

  #signal(name: NodeJS.Signals): void {
    // Signalling the group also reaches processes that are just being created.
    if (this.#group !== undefined) signal(-this.#group, name);
    for (const pid of processesMarked(this.#marker)) signal(pid, name);
  }

  async #alone<End>(end: End): Promise<End> {
    for (let round = 0; round < ROUNDS_MAX; round++) {
      if (!this.#isAnybodyLeft()) break;
      this.#signal('SIGKILL');
      await wait(10);
    }
    this.#group = undefined;
    return end;
  }

  #isAnybodyLeft(): boolean {
    const inGroup = this.#group === undefined ? [] : processesInGroup(this.#group);
    return [...inGroup, ...processesMarked(this.#marker)].some(isAlive);
  }
}

/** A missing program is the task's error, not Proctor's, so it is recorded as an ending. */
function notStarted(error: unknown): RawEnd {
  const { code } = error as { code?: string };
  return { notStarted: code === 'ENOENT' || code === 'ENOTDIR' ? 127 : 126 };
}

/** About two seconds. */
const ROUNDS_MAX = 200;
