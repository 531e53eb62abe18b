import { chownSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { Readable } from 'node:stream';
import { setTimeout as wait } from 'node:timers/promises';
import { Fault } from '../../base/fault.ts';
import { shellQuoted } from '../../base/shell.ts';
import { firstLine, lines, textSoFar } from '../job/lines.ts';
import type { SandboxInstance, Counters, RawEnd, Started } from '../job/sandbox-instance.ts';
import type { Job, Leftovers, Mount } from '../job/job.ts';
import { programsOf, startedIn } from './left-running.ts';
import { childrenOf, descendantsOf, isAlive, signal } from '../host/processes.ts';
import { checkExtras } from './mounts.ts';
import { NetworkReach } from './network-reach.ts';
import type { RunWatch } from './run-watch.ts';
import { giveStage } from '../host/workspace.ts';
import { closing, FD } from './descriptors.ts';
import { hereDocuments, etcFor } from './etc.ts';
import { DISK, type Holder } from './holder.ts';
import { bounded, type Bounded, perProcess } from './bounded.ts';
import { rootFor } from './root.ts';
import { runtimeMounts } from './runtimes.ts';
import { filterFor } from './seccomp.ts';
import { whyNotStartable } from './startable.ts';
import { layOutInput, layOutRoots, makeMountPoints, removeUnstaged } from './write-roots.ts';

/** One job inside bubblewrap. */
export class ProcessInstance implements SandboxInstance {
  readonly workFolder: string;
  readonly homeFolder?: string;
  readonly leftovers: Leftovers;
  readonly #job: Job;
  readonly #runtimes: readonly Mount[];
  readonly #holder: Holder;
  readonly #watch: RunWatch;
  /** System calls that are refused because the memory they create cannot be counted. */
  readonly #uncounted: Bounded['uncounted'];
  /** The first process in the program's pid namespace, as a pid on this machine. Killing it kills the namespace. */
  #init: number | undefined;
  #hasEnded = false;
  #isMet = false;
  /** The signal sent to the program, or pending until it has started. No further program starts after it. */
  #wish: 'SIGTERM' | 'SIGKILL' | undefined;
  #running: Promise<unknown> | undefined;
  #status: AsyncGenerator<string> | undefined;
  readonly #reach = new NetworkReach();

  private constructor(job: Job, holder: Holder, { watch, uncounted }: Bounded, runtimes: readonly Mount[]) {
    this.#job = job;
    this.#runtimes = runtimes;
    this.#holder = holder;
    this.#watch = watch;
    this.#uncounted = uncounted;
    this.workFolder = holder.pathOf(DISK);
    if (job.home) this.homeFolder = path.join(this.workFolder, 'home');
    this.leftovers = {
      stage: job.stage,
      cgroups: holder.cgroup?.folders ?? [],
      processes: [{ pid: holder.pid, startTicks: holder.startTicks }],
    };
  }

  static async open(job: Job, holder: Holder): Promise<ProcessInstance> {
    checkExtras(job, holder.uid !== undefined);
    makeMountPoints(job);
    removeUnstaged(job);
    const runtimes = await runtimeMounts(job);
    if (holder.uid !== undefined) giveStage(job.stage, holder.uid);
    await holder.joined();
    const bounds = await bounded(job, holder);
    await layOutRoots(job, holder);
    await layOutInput(job, holder);
    return new ProcessInstance(job, holder, bounds, runtimes);
  }

  start(): Started {
    const { argv } = this.#job;
    const notStarted = whyNotStartable(this.#job, argv);
    if (notStarted)
      return {
        stdout: Readable.from([]),
        stderr: Readable.from([]),
        ended: Promise.resolve({ notStarted, survivors: 0 }),
      };
    const { stdout, stderr } = this.#holder;
    const ended = this.#sequence();
    this.#running = ended.catch(() => undefined);
    return { stdout, stderr, ended };
  }

  /** Runs one program after another until one fails or the run is stopped. */
  async #sequence(): Promise<RawEnd> {
    const holder = this.#holder;
    const { argv, then = [], limits, stdin } = this.#job;
    try {
      const from = this.#handOver();
      // The program must not depend on the umask of the process that started Proctor.
      holder.say(`umask 022; ulimit -c 0; ulimit -n ${limits.openFiles}\n`);
      let end = await this.#one(
        argv,
        from,
        stdin === undefined ? '</dev/null' : `<&${FD.stdin} ${closing([FD.stdin])}`,
      );
      if (stdin !== undefined) holder.say(`exec ${closing([FD.stdin])}\n`);
      for (const [index, next] of then.entries()) {
        // If the kernel killed only a child for lack of memory, the program still did not finish its work.
        const isWell = 'code' in end && end.code === 0 && (await this.counters()).oomKills === 0;
        if (!isWell || this.#wish) break;
        const notStarted = whyNotStartable(this.#job, next);
        end = { ...(notStarted ? { notStarted } : await this.#one(next, from, '</dev/null')), command: index + 1 };
      }
      return end;
    } finally {
      this.#hasEnded = true;
      holder.say(`exec ${closing([FD.filter, FD.status, FD.stdout, FD.stderr, FD.args])}; read -r rest\n`);
    }
  }

  /**
   * Passes arguments and filter to bubblewrap through descriptors, because every user can read a command line, and the
   * arguments contain secrets and host paths. A pipe can be read only once, so several programs get files. Returns the
   * shell redirections for them.
   */
  #handOver(): string {
    const { then, stage } = this.#job;
    const filter = filterFor(this.#job, this.#uncounted);
    const filtered = filter ? ['--seccomp', String(FD.filter)] : [];
    const root = [...rootFor(this.#job, DISK, this.#runtimes), ...filtered, '--json-status-fd', String(FD.status)];
    const args = Buffer.from(root.map(word => `${word}\0`).join(''));
    const inputs = [[FD.args, args] as const, ...(filter ? [[FD.filter, filter] as const] : [])];
    if (!then) {
      for (const [fd, bytes] of inputs) this.#holder.input(fd).end(bytes);
      return '';
    }
    const { uid } = this.#holder;
    return inputs
      .map(([fd, bytes]) => `${fd}<${shellQuoted(kept(path.join(stage, `fd-${fd}`), bytes, uid))}`)
      .join(' ');
  }

  async #one(argv: readonly string[], from: string, input: string): Promise<RawEnd> {
    const holder = this.#holder;
    const { limits } = this.#job;
    const words = [
      ...(holder.cgroup ? [] : perProcess(limits)),
      '/usr/bin/bwrap',
      '--args',
      String(FD.args),
      '--',
      ...argv,
    ];
    this.#isMet = false;
    const status = this.#listen();
    // Bubblewrap gets the program's streams only as 1 and 2, because it reads files in /etc from the original
    // descriptors.
    const streams = `>&${FD.stdout} 2>&${FD.stderr} ${closing([FD.stdout, FD.stderr])}`;
    const { redirections, documents } = hereDocuments(etcFor(this.#job));
    holder.say(
      [
        `${words.map(shellQuoted).join(' ')} ${from} ${input} ${streams} ${redirections}`,
        `${documents}code=$?; echo '{"over":true}' >&${FD.status}; echo "ended $code"`,
        '',
      ].join('\n'),
    );
    return this.#ended(status);
  }

  running(): ReturnType<SandboxInstance['running']> {
    const { guarded, door } = this.#job;
    return guarded && this.#init !== undefined ? startedIn(this.#init, door === true) : undefined;
  }

  terminate(): void {
    this.#wish ??= 'SIGTERM';
    if (this.#init !== undefined) for (const pid of descendantsOf(this.#init)) signal(pid, 'SIGTERM');
  }

  kill(): void {
    if (this.#hasEnded) return;
    // Killing the first process in the namespace kills all others. Until its pid is known, the signal stays pending.
    this.#wish = 'SIGKILL';
    if (this.#init !== undefined) signal(this.#init, 'SIGKILL');
  }

  async counters(): Promise<Counters> {
    const networkAttempts = this.#reach.attempts();
    return { ...(await this.#watch.counters()), ...(networkAttempts !== undefined && { networkAttempts }) };
  }

  exceeded(): Promise<'cpu' | 'memory' | undefined> {
    return this.#watch.exceeded(this.#init);
  }

  async close(first?: () => Promise<void>): Promise<void> {
    this.kill();
    await Promise.race([this.#running, wait(END_MS_MAX, undefined, { ref: false })]);
    await first?.();
    this.#reach.close();
    await this.#holder.close();
  }

  /** Reads what bubblewrap reports about its child. The shell marks the end of the reports. */
  async #listen(): Promise<number | undefined> {
    this.#status ??= lines(this.#holder.output(FD.status));
    let code: number | undefined;
    for (let next = await this.#status.next(); !next.done; next = await this.#status.next()) {
      const said = JSON.parse(next.value) as { 'child-pid'?: number; 'exit-code'?: number; over?: true };
      if (said['child-pid'] !== undefined) this.#meet();
      code ??= said['exit-code'];
      if (said.over) break;
    }
    return code;
  }

  /** Looks up the program's first process. Bubblewrap reports a pid in the holder's namespace. */
  #meet(): void {
    const { shell = 0 } = this.#holder;
    // A dead process of an earlier program may still be waiting to be reaped.
    const bubblewrap = childrenOf(shell).find(isAlive);
    this.#isMet = true;
    if (bubblewrap !== undefined) [this.#init] = childrenOf(bubblewrap);
    const { home, network } = this.#job;
    if (home && network === 'blocked' && this.#init !== undefined) this.#reach.open(this.#init);
    if (this.#wish === 'SIGKILL') this.kill();
    else if (this.#wish === 'SIGTERM') this.terminate();
  }

  /**
   * Kills remaining processes after bubblewrap has reported the program's end. The program can force this report by
   * killing bubblewrap's process inside the sandbox.
   */
  async #alone(): Promise<Pick<RawEnd, 'survivors' | 'left'>> {
    const { shell } = this.#holder;
    if (shell === undefined) return { survivors: 0 };
    let left: number[] = [];
    let told: Pick<RawEnd, 'left'> = {};
    for (let round = 0; round < ROUNDS_MAX; round++) {
      left = descendantsOf(shell).filter(isAlive);
      if (round === 0 && this.#job.guarded) told = { left: programsOf(left.filter(pid => pid !== this.#init)) };
      if (left.length === 0) return { survivors: 0, ...told };
      for (const pid of left) signal(pid, 'SIGKILL');
      await wait(5);
    }
    if (this.#job.then)
      throw new Fault('sandbox_unavailable', 'A program left processes running that could not be killed.');
    return { survivors: left.length, ...told };
  }

  async #ended(status: Promise<number | undefined>): Promise<RawEnd> {
    const said = await firstLine(this.#holder.output(FD.answers));
    const shell = said?.startsWith('ended ') ? Number(said.slice('ended '.length)) : undefined;
    const alone = await this.#alone();
    const code = await status;
    this.#init = undefined;
    if (code !== undefined) return { code, ...alone };
    // A program that was killed together with bubblewrap has no exit code. If bubblewrap failed to start it, there is
    // no report and bubblewrap exits with 1.
    if (this.#isMet && shell !== 1) return { code: shell ?? 137, ...alone };
    throw new Fault('sandbox_unavailable', 'The sandbox did not start.', {
      cause: textSoFar(this.#holder.output(FD.errors)),
    });
  }
}

/** About five seconds. */
const ROUNDS_MAX = 1_000;

/** Longer than the kernel needs to end the largest program. */
const END_MS_MAX = 5_000;

function kept(file: string, bytes: Uint8Array, uid: number | undefined): string {
  try {
    writeFileSync(file, bytes, { mode: 0o600, flag: 'wx' });
    if (uid !== undefined) chownSync(file, uid, uid);
    return file;
  } catch (cause) {
    throw new Fault('stage_failed', 'The folder for temporary files is not writable.', { cause });
  }
}
