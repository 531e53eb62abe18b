import { finished } from 'node:stream/promises';
import type { Readable } from 'node:stream';
import path from 'node:path';
import { monotonicMs, systemClock } from '../base/clock.ts';
import type { Capture, KeptStream, LeftRunning, Phase } from '../contracts/capture.ts';
import type { Ending, StoppedBy } from '../contracts/ending.ts';
import type { Cell, Counters, RawEnd } from './cell.ts';
import type { Job, StreamName } from './job.ts';
import { StreamKeeper } from './kept-stream.ts';

/** Sends a piece of a stream on; the stream waits until it is taken. */
export type Show = (stream: StreamName, bytes: Buffer) => Promise<void>;

/** A program under watch: it can be stopped, and will be captured. */
export interface Watched {
  stop(by: StoppedBy): void;
  readonly captured: Promise<Capture>;
}

/** Runs the program of a cell within its bounds, to its end and that of everything it started. */
export function supervise(cell: Cell, job: Job, openedAtMs: number, show?: Show): Watched {
  const { limits } = job;
  const startedAtMs = systemClock.now();
  const began = monotonicMs();
  const started = cell.start();
  let stopped: { by: StoppedBy; signal: 'SIGTERM' | 'SIGKILL' } | undefined;
  /** What ran when we stopped it. */
  let left: LeftRunning | undefined;
  let lastSignOfLife = began;
  let hasEnded = false;
  /** Proctor saw that it took too much memory, and ended it. */
  let isOverMemory = false;
  /** Pieces of its streams that somebody is still looking at. */
  let held = 0;
  const timers = new Set<NodeJS.Timeout>();
  const after = (ms: number, act: () => void): void => {
    timers.add(setTimeout(act, Math.max(0, ms)));
  };

  const stop = (by: StoppedBy): void => {
    if (stopped || isOverMemory || hasEnded) return;
    stopped = { by, signal: 'SIGTERM' };
    left = cell.running();
    cell.terminate();
    after(limits.graceMs, () => {
      if (hasEnded) return;
      stopped = { by, signal: 'SIGKILL' };
      cell.kill();
    });
  };

  const { idleMs, cpuSeconds, memoryBytes } = limits;
  after(limits.timeoutMs, () => stop('timeout'));
  if (idleMs !== undefined) {
    const watch = (): void => {
      // A program whose words nobody takes cannot say more.
      const left = held > 0 ? idleMs : idleMs - (monotonicMs() - lastSignOfLife);
      if (left <= 0) stop('idle');
      else after(left, watch);
    };
    after(idleMs, watch);
  }
  if (cpuSeconds !== undefined || memoryBytes !== undefined) {
    const lookMs = cpuSeconds === undefined ? MEMORY_LOOK_MS : CPU_LOOK_MS;
    const act = (exceeded: 'cpu' | 'memory' | undefined): void => {
      if (exceeded === 'cpu') stop('cpu');
      if (exceeded !== 'memory' || stopped || hasEnded) return;
      isOverMemory = true;
      cell.kill();
    };
    const watch = (): void => {
      const from = monotonicMs();
      const next = (): void => {
        if (hasEnded || isOverMemory) return;
        // Looking at a run of many processes takes a while. It may never take much of a processor.
        const restMs = Math.min(LOOK_REST * (monotonicMs() - from), LOOK_MS_MAX);
        after(Math.max(lookMs, restMs), watch);
      };
      // The cell may be closed while we look; then there is nothing left to bound.
      const look = async (): Promise<void> => {
        act(await cell.exceeded().catch(() => undefined));
        next();
      };
      void look();
    };
    after(lookMs, watch);
  }

  const alive = (): void => {
    lastSignOfLife = monotonicMs();
  };
  const showing: Show | undefined =
    show &&
    (async (name, bytes) => {
      held++;
      await show(name, bytes);
      held--;
      alive();
    });
  const keep = (name: StreamName, stream: Readable): Promise<KeptStream> =>
    keepStream(name, stream, job, showing, alive);
  const streams = [keep('stdout', started.stdout), keep('stderr', started.stderr)] as const;

  const capture = async (): Promise<Capture> => {
    try {
      const end = await started.ended;
      hasEnded = true;
      const diedAt = monotonicMs();
      // A process that escaped may hold a pipe open; nothing that it still says belongs to this run. What the program
      // said before is in the pipe, and waits there for whoever is slow to take it.
      const letGo = (rounds: number): void => {
        if (held > 0 && rounds > 0) {
          drain(rounds - 1);
          return;
        }
        started.stdout.destroy();
        started.stderr.destroy();
      };
      // Not in the turn in which the time is over: what may be read now is read between that and the next.
      const drain = (rounds: number): void => after(DRAIN_MS, () => setImmediate(letGo, rounds));
      drain(DRAIN_ROUNDS_MAX);
      const [stdout, stderr] = await Promise.all(streams);
      const counters = await cell.counters();
      const phases: Phase[] = [
        { name: 'setup', startedAtMs: openedAtMs, durationMs: startedAtMs - openedAtMs },
        { name: 'execute', startedAtMs, durationMs: Math.round(diedAt - began) },
      ];
      const { cpuMs, memoryPeakBytes, forksDenied, networkAttempts, isSampled } = counters;
      return {
        ending: isOverMemory ? OUT_OF_MEMORY : endingOf(end, stopped, counters),
        ...(job.then && { command: end.command ?? 0 }),
        phases,
        stdout,
        stderr,
        ...(cpuMs !== undefined && { cpuMs }),
        ...(memoryPeakBytes !== undefined && { memoryPeakBytes }),
        ...(forksDenied !== undefined && { forksDenied }),
        ...(networkAttempts !== undefined && { networkAttempts }),
        ...(isSampled && { isSampled }),
        ...(end.survivors !== undefined && { survivors: end.survivors }),
        ...leftBy(left ?? end.left),
      };
    } finally {
      for (const timer of timers) clearTimeout(timer);
    }
  };
  return { stop, captured: capture() };
}

function leftBy(leftRunning: LeftRunning | undefined): Pick<Capture, 'leftRunning'> {
  return leftRunning === undefined ? {} : { leftRunning };
}

/** Our own act first, then the kernel's, then what the program did. */
function endingOf(
  end: RawEnd,
  stopped: { by: StoppedBy; signal: 'SIGTERM' | 'SIGKILL' } | undefined,
  { oomKills }: Counters,
): Ending {
  if (stopped) return { how: 'killed', ...stopped };
  if (oomKills > 0) return { how: 'out_of_memory', code: 'code' in end ? end.code : 128 + 9 };
  if ('notStarted' in end) return { how: 'not_started', code: end.notStarted };
  if ('signal' in end) return { how: 'signalled', signal: end.signal };
  return { how: 'exited', code: end.code };
}

async function keepStream(
  name: StreamName,
  stream: Readable,
  { limits, secrets, keepCredentials, keepIn }: Job,
  show: Show | undefined,
  alive: () => void,
): Promise<KeptStream> {
  const file = keepIn === undefined ? {} : { file: path.join(keepIn, `${name}.part`) };
  const keeper = new StreamKeeper({
    ...limits.keep[name],
    secrets,
    keepCredentials: keepCredentials === true,
    ...file,
  });
  let shown = Promise.resolve();
  stream.on('data', (chunk: Buffer) => {
    alive();
    const bytes = keeper.take(chunk);
    if (!show || bytes.length === 0) return;
    stream.pause();
    shown = show(name, bytes).then(() => void stream.resume());
  });
  // A stream that we closed ourselves has ended, too.
  await finished(stream).catch(() => undefined);
  // A stream may end with its last piece still being looked at.
  await shown;
  const { rest, kept } = keeper.end();
  if (show && rest.length > 0) await show(name, rest);
  return kept;
}

/** As if the kernel had done it. */
const OUT_OF_MEMORY: Ending = { how: 'out_of_memory', code: 128 + 9 };

const CPU_LOOK_MS = 100;
const MEMORY_LOOK_MS = 200;
/** At least two looks per second, and at most a twentieth of a processor up to there. */
const LOOK_MS_MAX = 450;
const LOOK_REST = 20;
const DRAIN_MS = 1_000;
/** Ten minutes, as long as the longest run. */
const DRAIN_ROUNDS_MAX = 600;
