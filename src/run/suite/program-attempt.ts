import { existsSync, lstatSync } from 'node:fs';
import path from 'node:path';
import { Fault } from '../../base/fault.ts';
import { newCorrelationId } from '../../base/ids.ts';
import { readRegular } from '../../base/regular.ts';
import type { Capture } from '../../contracts/capture.ts';
import { takeSlot } from '../../execute/host/slots.ts';
import { makeStage, removeStage } from '../../execute/host/workspace.ts';
import type { Job } from '../../execute/job/job.ts';
import { removeAfter } from '../../execute/launcher/abandoned.ts';
import type { Launcher } from '../../execute/launcher/launch.ts';
import { sweep } from '../../execute/launcher/sweep.ts';
import type { FilledProgram } from '../../targets/program-call.ts';
import { runToEnd } from '../pipeline/steps.ts';
import { type DeclaredProgram, outputPath, programJob, replyFileOf } from './program-job.ts';

/** How a program ended, and what it left. Streams are masked; files are not. */
export interface ProgramAnswer {
  readonly filled: FilledProgram;
  readonly capture: Capture;
  /** The file with the reply; undefined if the reply is on standard output. */
  readonly file?: Buffer | 'missing' | 'too large';
  /** What the harness says about a function that failed. */
  readonly failed?: Buffer;
}

export interface ProgramContext {
  readonly launcher: Launcher;
  readonly signal: AbortSignal;
  /** Tests a sandbox like that of the job. */
  readonly observe: (job: Job) => Promise<unknown>;
}

/** Runs a program once, and removes everything that it leaves. `fill` gets the path of its output file. */
export async function attemptProgram(
  program: DeclaredProgram,
  fill: (output: string | undefined) => FilledProgram,
  { launcher, signal, observe }: ProgramContext,
): Promise<ProgramAnswer> {
  const free = await takeSlot({ signal });
  const id = `program-${newCorrelationId()}`;
  let stage: string | undefined;
  try {
    stage = makeStage(id);
    const filled = fill(outputPath(program, stage));
    const job = await programJob(id, program, filled, stage);
    if (job.backend !== 'none') await observe(job);
    const prepared = await launcher.open(job);
    try {
      const capture = await runToEnd({ prepared, context: { signal } });
      return { filled, capture, ...filesIn(prepared.workFolder, program, capture) };
    } finally {
      await prepared.close().catch(() => sweep(prepared.leftovers));
    }
  } finally {
    free();
    if (stage !== undefined) removeStage(stage);
    // A launcher that died leaves files that only its pid identifies.
    if (launcher.isLost()) await removeAfter(launcher.pid);
  }
}

function filesIn(
  folder: string,
  { declaration, effective, bodyBytesMax }: DeclaredProgram,
  { ending }: Capture,
): Pick<ProgramAnswer, 'file' | 'failed'> {
  const name = replyFileOf(declaration);
  if (name === undefined || ending.how !== 'exited') return {};
  if (effective.sandbox !== 'none' && !existsSync(folder))
    throw new Fault('sandbox_lost', 'The sandbox died before its files could be read.');
  const failed =
    declaration.kind === 'function' ? readRegular(path.join(folder, 'failed.json'), FAILED_BYTES_MAX) : undefined;
  return { file: fileIn(path.join(folder, name), bodyBytesMax), ...(failed && { failed }) };
}

const FAILED_BYTES_MAX = 1024 * 1024;

/** Follows no links: the program may have replaced the file with one. */
function fileIn(file: string, bytesMax: number): Buffer | 'missing' | 'too large' {
  const stat = lstatSync(file, { throwIfNoEntry: false });
  if (stat?.isFile() && stat.size > bytesMax) return 'too large';
  return readRegular(file, bytesMax) ?? 'missing';
}
