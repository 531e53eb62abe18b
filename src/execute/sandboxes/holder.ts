import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import type { Readable, Writable } from 'node:stream';
import { Fault } from '../../base/fault.ts';
import { NOT_STARTING } from '../job/sandbox-instance.ts';
import type { Cgroup, Cgroups } from '../cgroups/cgroups.ts';
import { firstLine, textSoFar } from '../job/lines.ts';
import { handOver, makePipes } from '../job/pipes.ts';
import { childrenOf, signal, startTicksOf } from '../host/processes.ts';
import { closing, FD, PIPED } from './descriptors.ts';
import { boundShares } from './shares.ts';

/**
 * A shell in its own namespaces and control groups that waits for commands. It can mount a work folder of limited size
 * without root. Starting it takes longer than the rest of a launch, so it starts before a run needs it. It dies with
 * this process, and so does everything in it.
 */
export class Holder {
  readonly #child: ChildProcess;
  readonly cgroup: Cgroup | undefined;
  readonly uid: number | undefined;
  readonly #joined: Promise<void>;

  readonly stdout: Readable;
  readonly stderr: Readable;

  private constructor(
    child: ChildProcess,
    [stdout, stderr]: readonly [Readable, Readable],
    uid: number | undefined,
    cgroup: Cgroup | undefined,
    joined: Promise<void>,
  ) {
    this.#child = child;
    this.stdout = stdout;
    this.stderr = stderr;
    this.uid = uid;
    this.cgroup = cgroup;
    this.#joined = joined;
  }

  async joined(): Promise<void> {
    try {
      await this.#joined;
    } catch (error) {
      throw error instanceof Fault && error.code === 'process_gone' ? await this.#dead() : error;
    }
  }

  static async open(name: string, cgroups: Cgroups, { uid, disk, streams }: HolderOptions): Promise<Holder> {
    const pipes = streams === 'pipes' ? await makePipes(2) : [];
    const given = new Map<number, number | undefined>([
      [FD.stdout, pipes[0]?.writeFd],
      [FD.stderr, pipes[1]?.writeFd],
    ]);
    const child = spawn('/usr/bin/unshare', [...NAMESPACES, '--', ...DIES_WITH_PARENT, '/bin/sh', '-c', KEEPER], {
      ...(uid !== undefined && { uid, gid: uid }),
      cwd: '/',
      env: {},
      // Node implements 'pipe' as a pair of sockets.
      stdio: PIPED.map(fd => given.get(fd) ?? 'pipe'),
      // A new process group, because Proctor handles terminal signals itself.
      detached: true,
    });
    handOver(pipes);
    for (const stream of child.stdio) stream?.on('error', () => undefined);
    // Node discards the unread output of an exited process, which contains the error. A listener prevents that.
    child.stderr?.on('readable', () => undefined);
    await new Promise<void>((resolve, reject) => {
      child.once('spawn', resolve);
      child.once('error', cause => reject(new Fault('sandbox_unavailable', NOT_STARTED, { cause })));
    });
    const cgroup = cgroups.version === 'none' ? undefined : await cgroups.open(name);
    const joined = cgroup ? joinWhole(cgroup, child.pid as number) : Promise.resolve();
    // The first user of the holder awaits this and handles the failure.
    joined.catch(() => undefined);
    const stdio: readonly unknown[] = child.stdio;
    const [out, err] = streams === 'pipes' ? pipes.map(({ reader }) => reader) : [stdio[FD.stdout], stdio[FD.stderr]];
    const holder = new Holder(child, [out as Readable, err as Readable], uid, cgroup, joined);
    // Bubblewrap looks up its own pid in /proc, which must therefore match the new pid namespace.
    holder.say(`mount -t proc proc /proc\n${boundShares(uid === undefined).join('\n')}\n`);
    // After joining the groups, so that the memory of the work folder counts there.
    if (disk) void joined.then(() => holder.mount(disk)).catch(() => undefined);
    return holder;
  }

  get pid(): number {
    return this.#child.pid as number;
  }

  /** The shell: pid 1 of its pid namespace. Killing it kills everything in the namespace. */
  get shell(): number | undefined {
    return childrenOf(this.pid)[0];
  }

  get startTicks(): number {
    return startTicksOf(this.pid) ?? 0;
  }

  /** The path of a file in the holder's mount namespace, on this machine. */
  pathOf(file: string): string {
    return `/proc/${this.pid}/root${file}`;
  }

  say(script: string): void {
    (this.#child.stdin as Writable).write(script);
  }

  /** A pipe into the holder or out of it, by its number in `FD`. */
  input(fd: number): Writable {
    return this.#child.stdio[fd] as Writable;
  }

  output(fd: number): Readable {
    return this.#child.stdio[fd] as Readable;
  }

  /** Mounts the work folder. A waiting holder already has one of the size used last, which is usually right. */
  async mount(disk: Disk): Promise<void> {
    const said = await this.#mountsAs(disk, 'defaults');
    if (said === 'ready') return;
    if (said === undefined) throw await this.#dead();
    throw new Fault('sandbox_unavailable', 'The sandbox could not mount a work folder.', {
      cause: textSoFar(this.output(FD.errors)),
    });
  }

  /**
   * Limits System V shared memory, messages and semaphores, which belong to no process. Returns false if the kernel
   * refuses: older kernels allow it only to the machine's root user.
   */
  async limitSystemV(bytes: number): Promise<boolean> {
    const settings = [
      ['shmall', Math.max(1, Math.floor(bytes / PAGE_BYTES))],
      ['msgmni', 32],
      ['sem', '250 4096 32 64'],
    ].map(([name, value]) => `echo ${value} >/proc/sys/kernel/${name}`);
    this.say(`{ ${settings.join(' && ')}; } 2>/dev/null && echo bounded || echo open\n`);
    return (await firstLine(this.output(FD.answers))) === 'bounded';
  }

  /** The fault of a holder that died at once, for example because the machine allows no new namespaces. */
  async #dead(): Promise<Fault> {
    // Only the first reader gets the line, so it is kept.
    this.#lastWords ??= firstLine(this.output(FD.errors));
    return new Fault('sandbox_unavailable', NOT_STARTING, { cause: await this.#lastWords });
  }

  #lastWords: Promise<string | undefined> | undefined;

  #mounted: { disk: Disk; done: Promise<string | undefined> } | undefined;

  /** The shell's answer; undefined if it is dead. */
  #mountsAs(disk: Disk, how: 'defaults' | 'remount'): Promise<string | undefined> {
    const { bytes, entries } = this.#mounted?.disk ?? {};
    if (this.#mounted && bytes === disk.bytes && entries === disk.entries) return this.#mounted.done;
    if (this.#mounted && how === 'defaults') return this.#mounted.done.then(() => this.#mountsAs(disk, 'remount'));
    const options = `${how},size=${disk.bytes},nr_inodes=${disk.entries},mode=0755`;
    this.say(`mount -t tmpfs -o ${options} work ${DISK} && echo ready || echo failed\n`);
    const done = firstLine(this.output(FD.answers));
    this.#mounted = { disk, done };
    return done;
  }

  /** Kills processes that were started while the holder died and so did not die with it. */
  async #leave(cgroup: Cgroup): Promise<void> {
    await this.#joined.catch(() => undefined);
    await cgroup.kill();
    await cgroup.close();
  }

  /** Removes every process and mount. Control groups are removed in the background. */
  async close(): Promise<void> {
    const { exitCode, signalCode } = this.#child;
    if (exitCode === null && signalCode === null) {
      const gone = new Promise<void>(resolve => this.#child.once('exit', () => resolve()));
      // The shell first: the keeper ends after everything in the pid namespace has ended.
      signal(this.shell ?? this.pid, 'SIGKILL');
      await gone;
    }
    for (const stream of [...this.#child.stdio, this.stdout, this.stderr]) stream?.destroy();
    const { cgroup } = this;
    if (cgroup) remember(this.#leave(cgroup));
  }
}

/** Moves the keeper and its shell. Processes that they start later are in the groups from the start. */
async function joinWhole(cgroup: Cgroup, pid: number): Promise<void> {
  await cgroup.join(pid);
  for (const child of childrenOf(pid)) await cgroup.join(child);
}

/**
 * `user`: to be root inside. `mount`: to mount a work folder. `pid`: so that nothing outlives the shell, not even a
 * process that bubblewrap is just starting. `ipc`: to limit System V memory.
 */
const NAMESPACES = ['--user', '--map-root-user', '--mount', '--pid', '--ipc'];

const DIES_WITH_PARENT = ['/usr/bin/setpriv', '--pdeathsig', 'KILL'];

/** A shell makes background processes ignore SIGINT and SIGQUIT. The program must not inherit that. */
const AS_USUAL = '/usr/bin/env --default-signal=INT,QUIT';

/** Starts the shell, which becomes pid 1 of the new pid namespace, then closes all pipes and waits. */
const KEEPER = [
  // A shell redirects the input of a background command from /dev/null, so the commands are duplicated first.
  `exec ${FD.stdin}<&${FD.commands}`,
  `${AS_USUAL} ${DIES_WITH_PARENT.join(' ')} /bin/sh <&${FD.stdin} ${closing([FD.stdin])} &`,
  `exec ${closing([...PIPED, FD.stdin])}`,
  'wait',
].join('\n');

/** Programs can reopen pipes as /dev/stdout or through /proc/PID/fd, but not sockets. */
export type StreamKind = 'pipes' | 'sockets';

export interface HolderOptions {
  readonly uid: number | undefined;
  readonly disk: Disk | undefined;
  readonly streams: StreamKind;
}

export interface Disk {
  readonly bytes: number;
  readonly entries: number;
}

/** The smallest page size of supported machines. */
const PAGE_BYTES = 4_096;

/** Control groups being removed. The kernel needs some milliseconds after the last process has ended. */
const removals = new Set<Promise<void>>();

function remember(removal: Promise<void>): void {
  const safe = removal.catch(() => undefined);
  removals.add(safe);
  void safe.then(() => removals.delete(safe));
}

/** Resolves when all closed holders are completely removed. */
export async function allRemoved(): Promise<void> {
  await Promise.all(removals);
}

/** A folder that every system has and no run needs: the mount point of the work folder. */
export const DISK = ['/mnt', '/media', '/srv'].find(existsSync) ?? '/mnt';

const NOT_STARTED = 'The sandbox could not start: unshare was not found. Install util-linux.';
