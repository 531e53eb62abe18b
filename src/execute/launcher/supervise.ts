import { finished } from 'node:stream/promises';
import type { Readable } from 'node:stream';
import path from 'node:path';
import { monotonicMs, systemClock } from '../../base/clock.ts';
import type { Capture, KeptStream, LeftRunning, Phase } from '../../contracts/capture.ts';
import type { Ending, StoppedBy } from '../../contracts/ending.ts';
import type { SandboxInstance, Counters, RawEnd, Started } from '../job/sandbox-instance.ts';
import type { Job, StreamName } from '../job/job.ts';
import { StreamKeeper } from '../job/kept-stream.ts';

/** Forwards a piece of output. The stream pauses until the promise resolves. */
export type Show = (stream: StreamName, bytes: Buffer) => Promise<void>;

export interface Watched {
  stop(by: StoppedBy): void;
  readonly captured: Promise<Capture>;
}

/** Runs the program of a sandbox within its limits, until the program and everything it started have ended. */
export function supervise(cell: SandboxInstance, job: Job, openedAtMs: number, show?: Show): Watched {
  const supervision = new Supervision(cell, job, show);
  return { stop: by => supervision.stop(by), captured: supervision.capture(openedAtMs) };
}

interface Stopped {
  readonly by: StoppedBy;
  readonly signal: 'SIGTERM' | 'SIGKILL';
}

class Supervision {
  readonly #cell: SandboxInstance;
  readonly #job: Job;
  readonly #startedAtMs = systemClock.now();
  readonly #startedMs = monotonicMs();
  readonly #started: Started;
  readonly #streams: readonly [Promise<KeptStream>, Promise<KeptStream>];
  readonly #timers = new Set<NodeJS.Timeout>();
  #lastOutputMs = this.#startedMs;
  /** Pieces of output that the reader has not consumed yet. */
  #unread = 0;
  #stopped: Stopped | undefined;
  /** The processes that were running when Proctor stopped the program. */
  #left: LeftRunning | undefined;
  /** Proctor killed the program because it used too much memory. */
  #isOverMemory = false;
  #hasEnded = false;

  constructor(cell: SandboxInstance, job: Job, show?: Show) {
    this.#cell = cell;
    this.#job = job;
    this.#started = cell.start();
    const { timeoutMs, idleMs } = job.limits;
    this.#after(timeoutMs, () => this.stop('timeout'));
    if (idleMs !== undefined) this.#watchIdle(idleMs, idleMs);
    this.#watchUsage();
    const showing = show && this.#counting(show);
    const keep = (name: StreamName): Promise<KeptStream> =>
      keepStream(name, this.#started[name], job, showing, () => this.#noteOutput());
    this.#streams = [keep('stdout'), keep('stderr')];
  }

  /** Asks the program to end, and kills it after the grace period. */
  stop(by: StoppedBy): void {
    if (this.#stopped || this.#isOverMemory || this.#hasEnded) return;
    this.#stopped = { by, signal: 'SIGTERM' };
    this.#left = this.#cell.running();
    this.#cell.terminate();
    this.#after(this.#job.limits.graceMs, () => {
      if (this.#hasEnded) return;
      this.#stopped = { by, signal: 'SIGKILL' };
      this.#cell.kill();
    });
  }

  async capture(openedAtMs: number): Promise<Capture> {
    try {
      const end = await this.#started.ended;
      this.#hasEnded = true;
      const durationMs = Math.round(monotonicMs() - this.#startedMs);
      this.#closeStreams(DRAIN_ROUNDS_MAX);
      const [stdout, stderr] = await Promise.all(this.#streams);
      const counters = await this.#cell.counters();
      const phases: Phase[] = [
        { name: 'setup', startedAtMs: openedAtMs, durationMs: this.#startedAtMs - openedAtMs },
        { name: 'execute', startedAtMs: this.#startedAtMs, durationMs },
      ];
      const leftRunning = this.#left ?? end.left;
      return {
        ending: this.#isOverMemory ? OUT_OF_MEMORY : endingOf(end, this.#stopped, counters),
        ...(this.#job.then && { command: end.command ?? 0 }),
        phases,
        stdout,
        stderr,
        ...measured(counters),
        ...(end.survivors !== undefined && { survivors: end.survivors }),
        ...(leftRunning !== undefined && { leftRunning }),
      };
    } finally {
      for (const timer of this.#timers) clearTimeout(timer);
    }
  }

  #after(ms: number, act: () => void): void {
    this.#timers.add(setTimeout(act, Math.max(0, ms)));
  }

  #noteOutput(): void {
    this.#lastOutputMs = monotonicMs();
  }

  #counting(show: Show): Show {
    return async (name, bytes) => {
      this.#unread++;
      await show(name, bytes);
      this.#unread--;
      this.#noteOutput();
    };
  }

  #watchIdle(idleMs: number, waitMs: number): void {
    this.#after(waitMs, () => {
      // The program cannot write more until the reader consumes its output.
      const leftMs = this.#unread > 0 ? idleMs : idleMs - (monotonicMs() - this.#lastOutputMs);
      if (leftMs <= 0) this.stop('idle');
      else this.#watchIdle(idleMs, leftMs);
    });
  }

  #watchUsage(): void {
    const { cpuSeconds, memoryBytes } = this.#job.limits;
    if (cpuSeconds === undefined && memoryBytes === undefined) return;
    const everyMs = cpuSeconds === undefined ? MEMORY_LOOK_MS : CPU_LOOK_MS;
    const look = async (): Promise<void> => {
      const fromMs = monotonicMs();
      // The sandbox may close in the meantime. Then the limits no longer apply.
      this.#enforce(await this.#cell.exceeded().catch(() => undefined));
      if (this.#hasEnded || this.#isOverMemory) return;
      // Sampling a run with many processes is slow. It must not use much of a CPU.
      const restMs = Math.min(LOOK_REST * (monotonicMs() - fromMs), LOOK_MS_MAX);
      this.#after(Math.max(everyMs, restMs), () => void look());
    };
    this.#after(everyMs, () => void look());
  }

  #enforce(exceeded: 'cpu' | 'memory' | undefined): void {
    if (exceeded === 'cpu') this.stop('cpu');
    if (exceeded !== 'memory' || this.#stopped || this.#hasEnded) return;
    this.#isOverMemory = true;
    this.#cell.kill();
  }

  /**
   * Closes the streams a second after the program has ended. An escaped process may hold a pipe open, and its output
   * does not belong to this run. Waits longer for a slow reader, because the pipe may still contain output.
   */
  #closeStreams(rounds: number): void {
    // Between a timer and setImmediate, the event loop reads the output that has arrived.
    this.#after(DRAIN_MS, () =>
      setImmediate(() => {
        if (this.#unread > 0 && rounds > 0) return this.#closeStreams(rounds - 1);
        this.#started.stdout.destroy();
        this.#started.stderr.destroy();
      }),
    );
  }
}

/** Proctor's own action takes precedence over the kernel's, which takes precedence over the program's exit. */
function endingOf(end: RawEnd, stopped: Stopped | undefined, { oomKills }: Counters): Ending {
  if (stopped) return { how: 'killed', ...stopped };
  if (oomKills > 0) return { how: 'out_of_memory', code: 'code' in end ? end.code : 128 + 9 };
  if ('notStarted' in end) return { how: 'not_started', code: end.notStarted };
  if ('signal' in end) return { how: 'signalled', signal: end.signal };
  return { how: 'exited', code: end.code };
}

function measured({ cpuMs, memoryPeakBytes, forksDenied, networkAttempts, isSampled }: Counters): Partial<Capture> {
  return {
    ...(cpuMs !== undefined && { cpuMs }),
    ...(memoryPeakBytes !== undefined && { memoryPeakBytes }),
    ...(forksDenied !== undefined && { forksDenied }),
    ...(networkAttempts !== undefined && { networkAttempts }),
    ...(isSampled && { isSampled }),
  };
}

async function keepStream(
  name: StreamName,
  stream: Readable,
  { limits, secrets, keepCredentials, keepIn }: Job,
  show: Show | undefined,
  noteOutput: () => void,
): Promise<KeptStream> {
  const file = keepIn === undefined ? undefined : path.join(keepIn, name);
  const keeper = new StreamKeeper({
    ...limits.keep[name],
    secrets,
    keepCredentials: keepCredentials === true,
    ...(file !== undefined && { file: `${file}.part`, more: `${file}.more` }),
  });
  let shown = Promise.resolve();
  stream.on('data', (chunk: Buffer) => {
    noteOutput();
    const bytes = keeper.take(chunk);
    if (!show || bytes.length === 0) return;
    stream.pause();
    shown = show(name, bytes).then(() => void stream.resume());
  });
  // Proctor may have closed the stream itself.
  await finished(stream).catch(() => undefined);
  // The reader may not have consumed the last piece yet.
  await shown;
  const { rest, kept } = keeper.end();
  if (show && rest.length > 0) await show(name, rest);
  return kept;
}

/** The same ending as if the kernel had killed the program. */
const OUT_OF_MEMORY: Ending = { how: 'out_of_memory', code: 128 + 9 };

const CPU_LOOK_MS = 100;
const MEMORY_LOOK_MS = 200;
/** Sampling uses at most a twentieth of a CPU, unless that means fewer than about two samples per second. */
const LOOK_MS_MAX = 450;
const LOOK_REST = 20;
const DRAIN_MS = 1_000;
/** Ten minutes, the longest timeout of a script. */
const DRAIN_ROUNDS_MAX = 600;
