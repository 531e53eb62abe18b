import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import type { Readable, Writable } from 'node:stream';
import { Fault } from '../../base/fault.ts';
import { NOT_STARTING } from '../cell.ts';
import type { Cgroup, Cgroups } from '../cgroup.ts';
import { firstLine, saidBy } from '../lines.ts';
import { handOver, makePipes } from '../pipes.ts';
import { childrenOf, signal, startTicksOf } from '../processes.ts';
import { closing, FD, PIPED } from './descriptors.ts';
import { boundShares } from './shares.ts';

/**
 * A shell that holds a user and a mount namespace of its own, already inside its control groups, and waits for
 * commands. It is what makes a work folder of a bounded size possible without being root, and it is there before the run
 * needs it: making it costs more than the rest of the launch.
 *
 * It dies with this process, and so does everything in it.
 */
export class Holder {
  readonly #child: ChildProcess;
  readonly cgroup: Cgroup | undefined;
  readonly uid: number | undefined;
  readonly #joined: Promise<void>;

  /** What the program says. */
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

  /** Resolves when it is in its control groups. */
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
      // Its own group: a signal from a terminal is for us to answer.
      detached: true,
    });
    handOver(pipes);
    for (const stream of child.stdio) stream?.on('error', () => undefined);
    // Of a process that has ended, Node throws away what nobody waits for, and with it why it has ended.
    child.stderr?.on('readable', () => undefined);
    await new Promise<void>((resolve, reject) => {
      child.once('spawn', resolve);
      child.once('error', cause => reject(new Fault('sandbox_unavailable', NOT_STARTED, { cause })));
    });
    const cgroup = cgroups.version === 'none' ? undefined : await cgroups.open(name);
    const joined = cgroup ? joinWhole(cgroup, child.pid as number) : Promise.resolve();
    // Whoever uses it waits for it; if nobody does, its failure is nobody's.
    joined.catch(() => undefined);
    const stdio: readonly unknown[] = child.stdio;
    const [out, err] = streams === 'pipes' ? pipes.map(({ reader }) => reader) : [stdio[FD.stdout], stdio[FD.stderr]];
    const holder = new Holder(child, [out as Readable, err as Readable], uid, cgroup, joined);
    // bubblewrap looks itself up by its pid in here, where /proc is still that of the machine.
    holder.say(`mount -t proc proc /proc\n${boundShares(uid === undefined).join('\n')}\n`);
    // In its groups first, so that the memory of its disk counts there.
    if (disk) void joined.then(() => holder.mount(disk)).catch(() => undefined);
    return holder;
  }

  get pid(): number {
    return this.#child.pid as number;
  }

  /** The shell itself: the first process of a pid namespace, with which everything in it dies. */
  get shell(): number | undefined {
    return childrenOf(this.pid)[0];
  }

  get startTicks(): number {
    return startTicksOf(this.pid) ?? 0;
  }

  /** Its namespaces, as this machine sees them. */
  pathOf(file: string): string {
    return `/proc/${this.pid}/root${file}`;
  }

  say(script: string): void {
    (this.#child.stdin as Writable).write(script);
  }

  /** A pipe into it or out of it, by the number that the shell knows it by. */
  input(fd: number): Writable {
    return this.#child.stdio[fd] as Writable;
  }

  output(fd: number): Readable {
    return this.#child.stdio[fd] as Readable;
  }

  /**
   * Mounts the file system that becomes the work folder, so large and for so many entries. A holder that waits has one
   * of the size that was needed last, which is mostly the one that is needed next.
   */
  async mount(disk: Disk): Promise<void> {
    const said = await this.#mountsAs(disk, 'defaults');
    if (said === 'ready') return;
    if (said === undefined) throw await this.#dead();
    throw new Fault('sandbox_unavailable', 'The sandbox could not make a work folder of its own.', {
      cause: saidBy(this.output(FD.errors)),
    });
  }

  /**
   * Bounds what a run can keep in shared memory, messages and semaphores of System V, which belong to no process. Whether
   * the kernel takes it: older ones leave that to the root of the machine.
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

  /** Where the machine lets nobody make namespaces, it dies at once, and says so. */
  async #dead(): Promise<Fault> {
    // Whoever asks first takes the line; others ask as well.
    this.#lastWords ??= firstLine(this.output(FD.errors));
    return new Fault('sandbox_unavailable', NOT_STARTING, { cause: await this.#lastWords });
  }

  #lastWords: Promise<string | undefined> | undefined;

  #mounted: { disk: Disk; done: Promise<string | undefined> } | undefined;

  /** What it answers; undefined if it is dead. */
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

  /** Whoever is still in its groups was started while it died, and does not die with it. */
  async #leave(cgroup: Cgroup): Promise<void> {
    await this.#joined.catch(() => undefined);
    await cgroup.kill();
    await cgroup.close();
  }

  /** Leaves no process and no mount. What the kernel still has to clear of its groups goes on behind. */
  async close(): Promise<void> {
    const { exitCode, signalCode } = this.#child;
    if (exitCode === null && signalCode === null) {
      const gone = new Promise<void>(resolve => this.#child.once('exit', () => resolve()));
      // The shell first: who waits for it ends when everything in its namespace has.
      signal(this.shell ?? this.pid, 'SIGKILL');
      await gone;
    }
    for (const stream of [...this.#child.stdio, this.stdout, this.stderr]) stream?.destroy();
    const { cgroup } = this;
    if (cgroup) remember(this.#leave(cgroup));
  }
}

/** All that is there of it by now; what it starts later is born inside. */
async function joinWhole(cgroup: Cgroup, pid: number): Promise<void> {
  await cgroup.join(pid);
  for (const child of childrenOf(pid)) await cgroup.join(child);
}

/**
 * A user, to be root in; mounts, to have a disk of its own; processes, so that nothing in it can outlive it, not even what
 * bubblewrap is just about to start; and System V memory, so that it can be bounded.
 */
const NAMESPACES = ['--user', '--map-root-user', '--mount', '--pid', '--ipc'];

const DIES_WITH_PARENT = ['/usr/bin/setpriv', '--pdeathsig', 'KILL'];

/** A shell lets whoever it starts behind itself ignore what a terminal sends; a program must not inherit that. */
const AS_USUAL = '/usr/bin/env --default-signal=INT,QUIT';

/** Starts the shell, which is the first in the new namespace of processes, and keeps none of its pipes open. */
const KEEPER = [
  // A shell gives /dev/null as input to what it starts with `&`, so the commands take another number meanwhile.
  `exec ${FD.stdin}<&${FD.commands}`,
  `${AS_USUAL} ${DIES_WITH_PARENT.join(' ')} /bin/sh <&${FD.stdin} ${closing([FD.stdin])} &`,
  `exec ${closing([...PIPED, FD.stdin])}`,
  'wait',
].join('\n');

/** Programs can open pipes again, as /dev/stdout and by /proc/PID/fd. Sockets they cannot. */
export type StreamKind = 'pipes' | 'sockets';

export interface HolderOptions {
  readonly uid: number | undefined;
  readonly disk: Disk | undefined;
  readonly streams: StreamKind;
}

/** The size of a work folder. */
export interface Disk {
  readonly bytes: number;
  readonly entries: number;
}

/** The smallest page of the machines that we know. */
const PAGE_BYTES = 4_096;

/** Control groups that are being taken away: it takes the kernel some milliseconds after the last process is gone. */
const removals = new Set<Promise<void>>();

function remember(removal: Promise<void>): void {
  const safe = removal.catch(() => undefined);
  removals.add(safe);
  void safe.then(() => removals.delete(safe));
}

/** Resolves when nothing of a closed holder is left anywhere. */
export async function allRemoved(): Promise<void> {
  await Promise.all(removals);
}

/** A folder that every system has and no run needs, to mount the work folder on. */
export const DISK = ['/mnt', '/media', '/srv'].find(existsSync) ?? '/mnt';

const NOT_STARTED = 'The sandbox could not be started: unshare, of util-linux, was not found.';
