/**
 * The keeper: a small process that starts one program for Proctor, reads its output and stops it.
 *
 *   Proctor
 *     keeper       its own session; ignores terminal signals
 *       program    its own session, and its own control group where the machine allows one
 *
 * - The keeper reads, masks and cuts the output, so a program that floods it does not slow Proctor down.
 * - If Proctor dies, even by SIGKILL, its channel closes. The keeper then stops the program and exits.
 * - If the keeper dies, the program gets SIGKILL (`setpriv --pdeathsig`), and Proctor kills what else it started.
 * - If both die at once, the program still gets SIGKILL, and a later cleanup empties its control group: see
 *   launcher/abandoned.ts.
 */
import { execFile, spawn } from 'node:child_process';
import { closeSync } from 'node:fs';
import { setTimeout as wait } from 'node:timers/promises';
import { finished } from 'node:stream/promises';
import { promisify } from 'node:util';
import { monotonicMs } from '../../base/clock.ts';
import { causeText, codeOf, Fault } from '../../base/fault.ts';
import { newCorrelationId } from '../../base/ids.ts';
import { startTicksOf } from '../host/processes.ts';
import { closeInherited } from '../job/inherited.ts';
import { handOver, makePipes, type Pipe } from '../job/pipes.ts';
import { type KeeperReply, type KeeperRequest, type KeptOrder, type ProgramExit, TALK_FDS } from './keeper-messages.ts';
import { KeptOutput } from './kept-output.ts';
import { ProcessTree } from './process-tree.ts';
import { startInGroup } from './start-in-group.ts';

closeInherited();

let running: Promise<Running> | undefined;

process.on('message', (request: KeeperRequest) => {
  if (request.ask === 'stop') return stop();
  running = start(request.order);
  running.then(
    // Proctor may have died before this process listened. Then there is no further event.
    program => process.connected || program.stop(),
    (error: unknown) => {
      const { code, message, cause } = error instanceof Fault ? error : notStarted(error);
      say({ say: 'fault', code, message, cause: causeText(cause) });
    },
  );
});

// Proctor has exited or died. Without a channel and a program, nothing keeps this process alive.
process.on('disconnect', stop);

// Proctor handles terminal signals and tells the keeper to stop.
for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(name, () => undefined);

function stop(): void {
  running?.then(
    program => program.stop(),
    () => undefined,
  );
}

function say(reply: KeeperReply): void {
  // Proctor may be gone. Then the reply is not needed.
  process.send?.(reply, undefined, undefined, () => undefined);
}

interface Running {
  stop(): void;
}

async function start(order: KeptOrder): Promise<Running> {
  const [pipe] = (await makePipes(1)) as [Pipe];
  const marker = newCorrelationId();
  const words = [...(await tiedToParent()), ...order.run];
  const { program, cgroup } = await startInGroup(() => spawned(words, order, pipe, marker));
  handOver([pipe]);
  // Otherwise, Proctor would not see that the program has closed its output.
  if (order.talks) for (const fd of TALK_FDS) closeSync(fd);
  const { pid } = program;
  if (pid === undefined) {
    pipe.reader.destroy();
    await cgroup?.close();
    throw notStarted(await program.failed);
  }
  const id = {
    pid,
    startTicks: startTicksOf(pid) ?? 0,
    marker: `${MARKER}=${marker}`,
    cgroups: cgroup?.folders ?? [],
  };
  const tree = new ProcessTree(id);
  const output = new KeptOutput(order, () => say({ say: 'seen' }));
  readInto(output, pipe);
  say({ say: 'started', tree: id });
  let stopping: Promise<void> | undefined;
  const reportEnd = async (): Promise<void> => {
    say({ say: 'ended', ...(await program.exited) });
    // The other processes of its group have the rest of the time to end.
    await stopping;
    const survivors = await tree.kill();
    await drained(pipe);
    say({ say: 'over', output: output.end(), lines: output.lastLines(), survivors });
  };
  void reportEnd();
  return { stop: () => void (stopping ??= askToEnd(tree, order)) };
}

const MARKER = 'PROCTOR_SERVED';

interface Spawned {
  /** Undefined if the program did not start. */
  readonly pid: number | undefined;
  readonly exited: Promise<ProgramExit>;
  readonly failed: Promise<unknown>;
}

function spawned([program = '', ...args]: string[], order: KeptOrder, { writeFd }: Pipe, marker: string): Spawned {
  try {
    const child = spawn(program, args, {
      cwd: order.cwd,
      env: { ...order.env, [MARKER]: marker },
      stdio: [
        order.talks ? TALK_FDS[0] : 'ignore',
        // One pipe for both streams keeps their order.
        order.talks ? TALK_FDS[1] : writeFd,
        order.stderr === 'merged' ? writeFd : 'ignore',
      ],
      detached: true,
    });
    return {
      pid: child.pid,
      exited: new Promise(resolve => child.once('exit', (code, signal) => resolve({ code, signal }))),
      failed: new Promise(resolve => child.once('error', resolve)),
    };
  } catch (error) {
    // Node throws some errors, such as a zero byte in an argument, instead of emitting them.
    return { pid: undefined, exited: new Promise(() => undefined), failed: Promise.resolve(error) };
  }
}

function notStarted(cause: unknown): Fault {
  const code = codeOf(cause);
  return new Fault('agent_not_ready', `The program could not be started${code === '' ? '' : ` (${code})`}.`, { cause });
}

/** The prefix that makes a command die with this process; empty if `setpriv` is missing or lacks the option. */
async function tiedToParent(): Promise<readonly string[]> {
  try {
    // Other implementations of setpriv lack the option.
    await promisify(execFile)(TIE[0], [...TIE.slice(1), '/bin/true'], { env: {}, timeout: TIE_MS });
    return TIE;
  } catch {
    return [];
  }
}

const TIE = ['/usr/bin/setpriv', '--pdeathsig', 'KILL', '--'] as const;
const TIE_MS = 5_000;

function readInto(output: KeptOutput, { reader }: Pipe): void {
  let isNoted = false;
  reader.on('data', (chunk: Buffer) => {
    output.take(chunk);
    if (isNoted) return;
    isNoted = true;
    setTimeout(() => {
      isNoted = false;
      say({ say: 'lines', lines: output.lastLines() });
    }, LINES_EVERY_MS).unref();
  });
}

const LINES_EVERY_MS = 200;

/** Asks the process group to end, and kills the program if it has not ended in time. Resolves when the group is empty. */
async function askToEnd(tree: ProcessTree, { stop: { signal, withinMs } }: KeptOrder): Promise<void> {
  tree.remember();
  tree.signalGroup(signal);
  const deadlineMs = monotonicMs() + withinMs;
  while (tree.isGroupAlive() && monotonicMs() < deadlineMs) await wait(LOOK_MS);
  await tree.kill();
}

const LOOK_MS = 20;

/** Reads what is left in the pipe. A process that escaped may hold it open forever. */
async function drained({ reader }: Pipe): Promise<void> {
  const late = setTimeout(() => reader.destroy(), DRAIN_MS);
  await finished(reader).catch(() => undefined);
  clearTimeout(late);
}

const DRAIN_MS = 1_000;
