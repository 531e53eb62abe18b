import { type ChildProcess, fork } from 'node:child_process';
import { tmpdir } from 'node:os';
import type { Duplex, Readable, Writable } from 'node:stream';
import { Fault } from '../../base/fault.ts';
import type { KeptStream } from '../../contracts/capture.ts';
import { builtProgram } from '../host/package-files.ts';
import { type KeeperReply, type KeeperRequest, type KeptOrder, type ProgramExit, TALK_FDS } from './keeper-messages.ts';
import { ProcessTree, type TreeId } from './process-tree.ts';

/** A program that runs under a keeper process: see keeper.ts. */
export interface KeptProgram {
  readonly pid: number;
  /** Resolves when the program has ended and left nothing behind. Never rejects. */
  readonly over: Promise<ProgramEnd>;
  hasEnded(): boolean;
  /** Whether the output has contained the awaited text. */
  hasSeen(): boolean;
  /** Up to 20 masked lines, at most 0.2 s old while the program runs. */
  lastLines(): readonly string[];
  /** Resolves with `over`. */
  stop(): Promise<ProgramEnd>;
  /** Standard input and output of a program that talks. */
  readonly streams?: { readonly input: Writable; readonly output: Readable };
}

export interface ProgramEnd extends ProgramExit {
  /** Undefined if the keeper died, and the output with it. */
  readonly output: KeptStream | undefined;
  /** The number of processes that could not be killed. */
  readonly survivors: number;
}

/** Throws a Fault if the program does not start. */
export async function startKept(order: KeptOrder): Promise<KeptProgram> {
  const keeper = fork(builtProgram('served-keeper.js'), [], {
    detached: true,
    serialization: 'advanced',
    env: { PATH: '/usr/bin:/bin', TMPDIR: tmpdir() },
    execArgv: [],
    // The descriptors after the channel are TALK_FDS.
    stdio: ['ignore', 'ignore', 'ignore', 'ipc', ...(order.talks ? (['pipe', 'pipe'] as const) : [])],
  });
  const [input, output] = TALK_FDS.map(fd => (keeper.stdio as readonly unknown[])[fd] as Duplex | undefined);
  const line = new KeeperLine(keeper, order.stop.withinMs);
  const late = setTimeout(() => keeper.kill('SIGKILL'), START_MS);
  try {
    line.tell({ ask: 'start', order });
    const { pid } = await line.started;
    return {
      pid,
      over: line.over,
      hasEnded: () => line.exit !== undefined,
      hasSeen: () => line.hasSeen,
      lastLines: () => line.lines,
      stop: () => line.stop(),
      ...(input && output && { streams: { input, output } }),
    };
  } catch (error) {
    line.hangUp();
    throw error;
  } finally {
    clearTimeout(late);
  }
}

/** Starting takes less than a second on an idle machine. */
const START_MS = 60_000;

/** Proctor's end of the channel to one keeper. */
class KeeperLine {
  readonly started: Promise<TreeId>;
  readonly over: Promise<ProgramEnd>;
  exit: ProgramExit | undefined;
  hasSeen = false;
  lines: readonly string[] = [];
  readonly #keeper: ChildProcess;
  readonly #withinMs: number;
  #tree: TreeId | undefined;
  #isOver = false;
  #onStarted: (tree: TreeId) => void = () => undefined;
  #onFault: (fault: Fault) => void = () => undefined;
  #onOver: (end: ProgramEnd) => void = () => undefined;

  constructor(keeper: ChildProcess, withinMs: number) {
    this.#keeper = keeper;
    this.#withinMs = withinMs;
    this.started = new Promise((resolve, reject) => {
      this.#onStarted = resolve;
      this.#onFault = reject;
    });
    this.over = new Promise(resolve => (this.#onOver = resolve));
    keeper.on('message', (reply: KeeperReply) => this.#take(reply));
    keeper.once('exit', () => void this.#lose());
    // An unreferenced child might never emit `exit`.
    keeper.once('disconnect', () => void this.#lose());
    keeper.once('error', cause => void this.#lose(cause));
  }

  tell(request: KeeperRequest): void {
    if (this.#keeper.connected) this.#keeper.send(request, () => undefined);
  }

  async stop(): Promise<ProgramEnd> {
    this.tell({ ask: 'stop' });
    // A keeper that hangs is killed. Then `#lose` kills the program.
    const late = setTimeout(() => this.#keeper.kill('SIGKILL'), Math.min(this.#withinMs + STOP_MS, TIMER_MS_MAX));
    try {
      return await this.over;
    } finally {
      clearTimeout(late);
    }
  }

  /** Ends the keeper, which has nothing more to do. */
  hangUp(): void {
    this.#isOver = true;
    if (this.#keeper.connected) this.#keeper.disconnect();
  }

  #take(reply: KeeperReply): void {
    if (reply.say === 'started') {
      this.#tree = reply.tree;
      // If Proctor forgets the program and exits, the keeper stops it.
      this.#keeper.unref();
      this.#keeper.channel?.unref();
      this.#onStarted(reply.tree);
    } else if (reply.say === 'fault') {
      this.#onFault(new Fault(reply.code, reply.message, { cause: reply.cause }));
    } else if (reply.say === 'seen') {
      this.hasSeen = true;
    } else if (reply.say === 'lines') {
      this.lines = reply.lines;
    } else if (reply.say === 'ended') {
      this.exit = { code: reply.code, signal: reply.signal };
    } else {
      const { output, survivors, lines } = reply;
      this.lines = lines;
      this.hangUp();
      this.#onOver({ ...(this.exit ?? UNSEEN), output, survivors });
    }
  }

  async #lose(cause?: Error): Promise<void> {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#onFault(new Fault('keeper_lost', 'The process that starts the agent died. Try again.', { cause }));
    const survivors = this.#tree ? await new ProcessTree(this.#tree).kill() : 0;
    this.exit ??= UNSEEN;
    this.#onOver({ ...this.exit, output: undefined, survivors });
  }
}

const UNSEEN: ProgramExit = { code: null, signal: null };
/** Killing and reading the rest of the output takes at most five seconds on an idle machine. */
const STOP_MS = 30_000;
/** Node fires a longer timer at once. */
const TIMER_MS_MAX = 2 ** 31 - 1;
