import { readFileSync } from 'node:fs';
import { Readable } from 'node:stream';
import { setTimeout as wait } from 'node:timers/promises';
import { Fault } from '../../base/fault.ts';
import { firstLine, lines, saidBy } from '../lines.ts';
import type { Cell, Counters, RawEnd, Sandbox, Started } from '../cell.ts';
import type { Cgroups } from '../cgroup.ts';
import type { Job, Leftovers } from '../job.ts';
import { cpuMsOf, descendantsOf, isAlive, lineOf, ownName, signal } from '../processes.ts';
import { giveStage, RUN_UIDS } from '../workspace.ts';
import { allRemoved, DISK, type Disk, Holder } from './holder.ts';
import { rootFor } from './root.ts';
import { seccompFilter } from './seccomp.ts';
import { whyNotStartable } from './startable.ts';

export interface ProcessSandbox extends Sandbox {
  /** Makes a holder ready for the next run. */
  warm(): void;
  close(): Promise<void>;
}

/** Bubblewrap around the program, with control groups and a system call filter. */
export function processSandbox(cgroups: Cgroups): ProcessSandbox {
  let spare: Promise<Holder> | undefined;
  let count = 0;
  let disk: Disk | undefined;
  const make = (): Promise<Holder> => {
    const holder = Holder.open(`${ownName()}-${++count}`, cgroups, uidFor(count), disk);
    // It may never be used; whoever uses it sees its failure.
    holder.catch(() => undefined);
    return holder;
  };
  return {
    warm() {
      spare ??= make();
    },
    async open(job) {
      const next = spare ?? make();
      // Before the wait: whoever opens meanwhile must not get the same one.
      spare = undefined;
      const holder = await next;
      disk = { bytes: job.limits.workBytes, entries: job.limits.workEntries };
      try {
        return await BoundCell.open(job, holder);
      } catch (error) {
        await holder.close();
        throw error;
      }
    },
    async close() {
      const holder = spare;
      spare = undefined;
      await (await holder?.catch(() => undefined))?.close();
      await allRemoved();
    },
  };
}

/**
 * As root, every run is another user, one that the machine has not given to anybody: real uid 0 owns files and switches
 * of the kernel that no namespace takes from it.
 */
function uidFor(count: number): number | undefined {
  return isRoot() ? RUN_UIDS.first + ((process.pid * 61 + count) % RUN_UIDS.count) : undefined;
}

/** Root of the machine: who is root only in a namespace of users has no others to become, and need not. */
function isRoot(): boolean {
  if (process.getuid?.() !== 0) return false;
  const maps = readFileSync('/proc/self/uid_map', 'utf8').split('\n');
  return maps.some(map => {
    const [first = 1, , count = 0] = map.trim().split(/ +/).map(Number);
    return first <= RUN_UIDS.first && RUN_UIDS.first + RUN_UIDS.count <= first + count;
  });
}

class BoundCell implements Cell {
  readonly workFolder: string;
  readonly leftovers: Leftovers;
  readonly #job: Job;
  readonly #holder: Holder;
  /** The first process of the program's pid namespace, as this machine numbers it. With it dies the namespace. */
  #init: number | undefined;
  #hasEnded = false;
  /** bubblewrap has started the program. */
  #isMet = false;
  /** What should have been sent to the program before it was there. */
  #wish: 'SIGTERM' | 'SIGKILL' | undefined;
  #running: Promise<unknown> | undefined;

  private constructor(job: Job, holder: Holder) {
    this.#job = job;
    this.#holder = holder;
    this.workFolder = holder.pathOf(DISK);
    this.leftovers = {
      stage: job.stage,
      cgroups: holder.cgroup?.folders ?? [],
      processes: [{ pid: holder.pid, startTicks: holder.startTicks }],
    };
  }

  static async open(job: Job, holder: Holder): Promise<BoundCell> {
    if (holder.uid !== undefined) giveStage(job.stage, holder.uid);
    const { memoryBytes, pids } = job.limits;
    await holder.joined;
    await holder.cgroup?.limit({
      ...(memoryBytes !== undefined && { memoryBytes }),
      ...(pids !== undefined && { pids: pids + OURS_WITHIN }),
    });
    await holder.mount({ bytes: job.limits.workBytes, entries: job.limits.workEntries });
    return new BoundCell(job, holder);
  }

  start(): Started {
    const holder = this.#holder;
    const { limits, argv } = this.#job;
    const notStarted = whyNotStartable(this.#job);
    if (notStarted)
      return { stdout: Readable.from([]), stderr: Readable.from([]), ended: Promise.resolve({ notStarted }) };
    const filter = seccompFilter(process.arch, { unixSockets: false, network: this.#job.network === 'open' });
    const args = [...prefix(limits, holder.cgroup === undefined), '/usr/bin/bwrap', '--args', '7', '--', ...argv];
    const root = [...rootFor(this.#job, DISK), ...(filter ? ['--seccomp', '3'] : []), '--json-status-fd', '4'];
    // Anybody can read the arguments of a process, and among these are paths of this machine and secrets.
    holder.input(7).end(root.map(word => `${word}\0`).join(''));
    if (filter) holder.input(3).end(filter);
    const status = this.#watch();
    holder.say(
      [
        `ulimit -c 0; ulimit -n ${limits.openFiles}`,
        `${args.map(quoted).join(' ')} </dev/null >&5 2>&6 5>&- 6>&-`,
        'code=$?; exec 3<&- 4>&- 5>&- 6>&- 7<&-; echo "ended $code"; read -r rest',
        '',
      ].join('\n'),
    );
    const ended = this.#ended(status);
    this.#running = ended.catch(() => undefined);
    return { stdout: holder.stdout, stderr: holder.stderr, ended };
  }

  terminate(): void {
    if (this.#init === undefined) this.#wish ??= 'SIGTERM';
    else for (const pid of descendantsOf(this.#init)) signal(pid, 'SIGTERM');
  }

  kill(): void {
    if (this.#hasEnded) return;
    // The kernel ends every process of the namespace with its first. As long as that is not known, the wish must wait.
    this.#wish = 'SIGKILL';
    if (this.#init !== undefined) signal(this.#init, 'SIGKILL');
  }

  async counters(): Promise<Counters> {
    const { cgroup } = this.#holder;
    if (cgroup) return cgroup.counters();
    return { oomKills: 0, cpuMs: this.#init === undefined ? 0 : cpuMsOf(this.#init) };
  }

  async close(): Promise<void> {
    this.kill();
    await Promise.race([this.#running, wait(END_MS_MAX, undefined, { ref: false })]);
    await this.#holder.close();
  }

  /** What bubblewrap says of its child: who it is, and how it ended. */
  async #watch(): Promise<number | undefined> {
    for await (const line of lines(this.#holder.output(4))) {
      const said = JSON.parse(line) as { 'child-pid'?: number; 'exit-code'?: number };
      if (said['child-pid'] !== undefined) this.#meet();
      if (said['exit-code'] !== undefined) return said['exit-code'];
    }
    return undefined;
  }

  /** The pid that bubblewrap names is one of the holder's namespace; here it has another. */
  #meet(): void {
    const [shell, bubblewrap, init] = lineOf(this.#holder.pid, 3);
    this.#isMet = true;
    if (shell !== undefined && bubblewrap !== undefined) this.#init = init;
    if (this.#wish === 'SIGKILL') this.kill();
    else if (this.#wish === 'SIGTERM') this.terminate();
  }

  /**
   * bubblewrap says that the program has ended. A program can make it say so, since its first process inside is nobody
   * else's; so whoever is still there dies now.
   */
  async #alone(): Promise<void> {
    const { shell } = this.#holder;
    if (shell === undefined) return;
    for (let round = 0; round < ROUNDS_MAX; round++) {
      const left = descendantsOf(shell).filter(isAlive);
      if (left.length === 0) return;
      for (const pid of left) signal(pid, 'SIGKILL');
      await wait(5);
    }
  }

  async #ended(status: Promise<number | undefined>): Promise<RawEnd> {
    const said = await firstLine(this.#holder.output(1));
    const shell = said?.startsWith('ended ') ? Number(said.slice('ended '.length)) : undefined;
    await this.#alone();
    this.#hasEnded = true;
    const code = await status;
    if (code !== undefined) return { code };
    // Killed together with its wrapper, it has no code of its own. A wrapper that failed before it could start the
    // program says nothing of one, and ends with 1.
    if (this.#isMet && shell !== 1) return { code: shell ?? 137 };
    throw new Fault('sandbox_unavailable', 'The sandbox did not start.', { cause: saidBy(this.#holder.output(2)) });
  }
}

/** About five seconds. */
const ROUNDS_MAX = 1_000;

/** Longer than the kernel needs for the largest of programs. */
const END_MS_MAX = 5_000;

/** The holder, its shell, bubblewrap, and its first process inside. */
const OURS_WITHIN = 4;

/** Where there are no control groups, each process gets bounds of its own; that of time only should we miss it. */
function prefix({ memoryBytes, pids, cpuSeconds }: Job['limits'], isNeeded: boolean): string[] {
  if (!isNeeded) return [];
  return [
    '/usr/bin/prlimit',
    // Less than this, and some interpreters hang instead of failing.
    ...(memoryBytes === undefined ? [] : [`--data=${Math.max(memoryBytes, DATA_BYTES_MIN)}`]),
    ...(pids === undefined ? [] : [`--nproc=${pids + OURS_WITHIN}`]),
    ...(cpuSeconds === undefined ? [] : [`--cpu=${Math.ceil(cpuSeconds) + 2}:${Math.ceil(cpuSeconds) + 3}`]),
  ];
}

const DATA_BYTES_MIN = 128 * 1024 * 1024;

/** One word of a shell, whatever is in it. */
function quoted(word: string): string {
  return /^[\w./:=@%+,-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}
