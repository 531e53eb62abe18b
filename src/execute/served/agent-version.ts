import { setTimeout as wait } from 'node:timers/promises';
import { Fault } from '../../base/fault.ts';
import { printable } from '../../base/printable.ts';
import { type CommandContext, commandOrder, type DeclaredCommand } from './command.ts';
import { type KeptProgram, type ProgramEnd, startKept } from './kept-program.ts';

/** What the version command says about the agent, or why that is unknown. */
export type AgentVersion = { readonly version: string } | { readonly version: null; readonly reason: string };

/** Runs the version command and returns the first line of its standard output, masked, with at most 200 characters. */
export async function agentVersion(command: DeclaredCommand, context: CommandContext): Promise<AgentVersion> {
  const { signal } = context;
  if (signal?.aborted) throw cancelled();
  try {
    const program = await startKept({
      ...commandOrder(command, context),
      stderr: 'dropped',
      stop: { signal: 'SIGKILL', withinMs: 0 },
      keep: { headBytes: OUTPUT_BYTES_MAX, tailBytes: 0 },
    });
    const end = await endWithin(program, signal);
    if (signal?.aborted) throw cancelled();
    return end === undefined ? unknown(`did not end within ${TIME_MS_MAX / 1_000} s`) : versionIn(end);
  } catch (error) {
    if (!(error instanceof Fault) || error.code === 'cancelled') throw error;
    return { version: null, reason: error.message };
  }
}

const TIME_MS_MAX = 10_000;
const OUTPUT_BYTES_MAX = 64 * 1024;
const CHARACTERS_MAX = 200;

/** Undefined if the program had to be stopped. */
async function endWithin(program: KeptProgram, signal: AbortSignal | undefined): Promise<ProgramEnd | undefined> {
  const over = new AbortController();
  const isTooLong = wait(TIME_MS_MAX, undefined, {
    signal: AbortSignal.any([over.signal, ...(signal ? [signal] : [])]),
  });
  const end = await Promise.race([program.over, isTooLong.catch(() => undefined)]);
  over.abort();
  if (end === undefined) await program.stop();
  return end ?? undefined;
}

function versionIn({ code, signal, output }: ProgramEnd): AgentVersion {
  if (output === undefined) return unknown('was lost');
  if (signal !== null) return unknown(`was ended by ${signal}`);
  if (code !== 0) return unknown(`exited with code ${code}`);
  if (output.bytesTotal > OUTPUT_BYTES_MAX) return unknown('printed more than 64 KiB');
  const [line = ''] = Buffer.from(output.head).toString().split('\n', 1);
  const version = Array.from(printable(line.trim())).slice(0, CHARACTERS_MAX).join('');
  return version === '' ? unknown('printed no version in its first line') : { version };
}

function unknown(what: string): AgentVersion {
  return { version: null, reason: `The version command ${what}.` };
}

function cancelled(): Fault {
  return new Fault('cancelled', 'The run was cancelled.');
}
