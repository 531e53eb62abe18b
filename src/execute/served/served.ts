import { Fault } from '../../base/fault.ts';
import type { MaskedKinds } from '../../base/masker.ts';
import { ends } from '../../policy/caps.ts';
import { type CommandContext, commandOrder, type DeclaredCommand } from './command.ts';
import type { ProgramExit } from './keeper-messages.ts';
import { type KeptProgram, type ProgramEnd, startKept } from './kept-program.ts';
import { type Address, isListening } from './ports.ts';
import { probesOf, type ReadyDeclaration, untilReady } from './readiness.ts';

/** How to start the agent under test. Validated, with all placeholders filled. */
export interface StartDeclaration extends DeclaredCommand {
  readonly ready?: ReadyDeclaration;
  /** How to ask the process group of the agent to end, and how many milliseconds to wait before SIGKILL. */
  readonly stop?: { readonly signal?: NodeJS.Signals; readonly within?: number };
  /** Whether to use an agent that already listens on the port. Defaults to `never`. */
  readonly reuse?: 'never' | 'if-running';
}

export interface ServedOptions extends CommandContext {
  readonly port: number;
  readonly url: string;
  /** Called once, when the agent and everything it started has ended. Not called for a reused agent. */
  readonly log: (log: ServedLog) => void | Promise<void>;
}

/** The masked output of an agent. Standard output and standard error are in the order in which they were written. */
export interface ServedLog {
  /** At most 8 MiB and a mark where the middle was cut. */
  readonly bytes: Buffer;
  /** The length of the whole masked output. Null if it is unknown, because the keeper died. */
  readonly bytesTotal: number | null;
  readonly isCut: boolean;
  /** The number of masked ranges; `kinds` counts them by kind. */
  readonly masked: number;
  readonly kinds: MaskedKinds;
}

/** An agent that is ready. */
export interface Served {
  /** Undefined for a reused agent. */
  readonly pid: number | undefined;
  readonly port: number;
  readonly reused: boolean;
  /** Resolves when the agent and everything it started has ended. Never resolves for a reused agent. */
  readonly exited: Promise<ProgramExit>;
  /** Turns true some milliseconds before `exited` resolves, and some after the agent has closed its connections. */
  hasEnded(): boolean;
  /** Up to 20 masked lines that are safe for a terminal. Complete once `exited` has resolved. */
  lastLines(): readonly string[];
  /** Ends the agent and everything it started. Leaves a reused agent alone. */
  stop(): Promise<void>;
}

/** Starts an agent and waits until it is ready. If that fails, it leaves nothing behind. */
export async function startServed(declaration: StartDeclaration, options: ServedOptions): Promise<Served> {
  const { port, url, signal } = options;
  const address = { host: hostOf(url), port };
  if (signal?.aborted) throw cancelled();
  if (await isListening(address, AbortSignal.timeout(CONNECT_MS))) {
    if (declaration.reuse === 'if-running') return reusedAgent(declaration, options, address);
    throw new Fault(
      'agent_port_in_use',
      `Port ${port} is already in use, so Proctor did not start the agent. Stop what listens there, or set \`reuse: if-running\`.`,
    );
  }
  const program = await startKept(orderOf(declaration, options));
  const delivered = program.over.then(end => options.log(servedLogOf(end, program.lastLines())));
  // `stop` reports it.
  delivered.catch(() => undefined);
  try {
    await expectReady(declaration, options, address, program);
  } catch (error) {
    await program.stop();
    await delivered.catch(() => undefined);
    throw error;
  }
  return servedBy(program, port, delivered);
}

const CONNECT_MS = 10_000;

const hostOf = (url: string): string => new URL(url).hostname.replace(/^\[|\]$/g, '');

function orderOf(declaration: StartDeclaration, options: ServedOptions): Parameters<typeof startKept>[0] {
  const { ready, stop = {} } = declaration;
  return {
    ...commandOrder(declaration, options),
    stderr: 'merged',
    ...(ready?.line !== undefined && { awaited: ready.line }),
    stop: { signal: stop.signal ?? 'SIGTERM', withinMs: stop.within ?? STOP_MS },
    keep: ends(LOG_BYTES_MAX),
  };
}

const STOP_MS = 5_000;
const READY_MS = 60_000;
export const LOG_BYTES_MAX = 8 * 1024 * 1024;

async function expectReady(
  { ready = {} }: StartDeclaration,
  { url, signal }: ServedOptions,
  address: Address,
  program: KeptProgram | undefined,
): Promise<void> {
  const over = new AbortController();
  const abort = (): void => over.abort();
  signal?.addEventListener('abort', abort);
  // The signal may have been aborted while the agent started.
  if (signal?.aborted) abort();
  void program?.over.then(abort);
  try {
    // Proctor cannot read the output of a reused agent.
    const probes = probesOf(ready, url, address, () => program?.hasSeen() ?? true);
    const withinMs = ready.within ?? READY_MS;
    const readiness = await untilReady(probes, withinMs, over.signal);
    if (signal?.aborted) throw cancelled();
    if (program?.hasEnded()) throw notReady(`${endText(await program.over)} before it was ready.`, program);
    if (readiness.is === 'late') {
      await program?.stop();
      throw notReady(`The agent was not ready within ${withinMs / 1_000} s: ${readiness.reason}.`, program);
    }
  } finally {
    signal?.removeEventListener('abort', abort);
  }
}

function endText({ code, signal }: ProgramExit): string {
  if (code !== null) return `The agent exited with code ${code}`;
  return signal === null ? 'Proctor lost the agent' : `${signal} ended the agent`;
}

function notReady(sentence: string, program: KeptProgram | undefined): Fault {
  if (program === undefined) return new Fault('agent_not_ready', sentence);
  const lines = program.lastLines();
  const output =
    lines.length === 0 ? ' It printed nothing.' : ` Its last lines:\n${lines.map(line => `  ${line}`).join('\n')}`;
  return new Fault('agent_not_ready', `${sentence}${output}`);
}

function cancelled(): Fault {
  return new Fault('cancelled', 'The run was cancelled before the agent was ready.');
}

function servedBy(program: KeptProgram, port: number, delivered: Promise<void>): Served {
  let stopping: Promise<void> | undefined;
  const stop = async (): Promise<void> => {
    const { survivors } = await program.stop();
    await delivered;
    if (survivors === 0) return;
    throw new Fault('processes_left', 'Some processes of the agent could not be killed.');
  };
  return {
    pid: program.pid,
    port,
    reused: false,
    exited: program.over.then(({ code, signal }) => ({ code, signal })),
    hasEnded: () => program.hasEnded(),
    lastLines: () => program.lastLines(),
    stop: () => (stopping ??= stop()),
  };
}

async function reusedAgent(declaration: StartDeclaration, options: ServedOptions, address: Address): Promise<Served> {
  await expectReady(declaration, options, address, undefined);
  return {
    pid: undefined,
    port: options.port,
    reused: true,
    exited: new Promise(() => undefined),
    hasEnded: () => false,
    lastLines: () => [],
    stop: () => Promise.resolve(),
  };
}

/** The log of a program that has ended. */
export function servedLogOf({ output }: ProgramEnd, lastLines: readonly string[]): ServedLog {
  if (output === undefined) {
    const known = lastLines.map(line => `${line}\n`).join('');
    return { bytes: Buffer.from(`${LOST}${known}`), bytesTotal: null, isCut: true, masked: 0, kinds: {} };
  }
  const { head, tail, bytesTotal, masked, kinds = {} } = output;
  const cut = bytesTotal - head.length - tail.length;
  const mark = cut === 0 ? '' : `\n[Proctor cut ${cut} bytes here]\n`;
  return { bytes: Buffer.concat([head, Buffer.from(mark), tail]), bytesTotal, isCut: cut > 0, masked, kinds };
}

const LOST = '[Proctor lost the output of the agent, except for its last lines]\n';
