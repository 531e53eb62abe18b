import { existsSync } from 'node:fs';
import { Fault } from '../../base/fault.ts';
import type { Capture } from '../../contracts/capture.ts';
import type { CaptureNote, StoredStreams } from '../../evidence/step/capture-note.ts';
import { storedStream } from '../../evidence/step/stored-stream.ts';
import type { RunContext, StartedRun } from './journaled-run.ts';

/** Runs the program to completion, or until the caller aborts it. */
export async function runToEnd(
  { prepared, context: { signal } }: StartedRun,
  show: RunContext['onOutput'],
): Promise<Capture> {
  const cancel = (): void => prepared.stop('cancel');
  const capturing = prepared.start(show);
  if (signal?.aborted) cancel();
  signal?.addEventListener('abort', cancel, { once: true });
  try {
    return await capturing;
  } finally {
    signal?.removeEventListener('abort', cancel);
  }
}

/** How a program ended, and what it printed. */
export interface WatchedStreams {
  readonly capture: CaptureNote;
  readonly streams: StoredStreams;
}

/** The `watch` step of a kind that only stores what the program prints. */
export async function watchStreams(run: StartedRun, show: RunContext['onOutput']): Promise<WatchedStreams> {
  const { stdout, stderr, ...rest } = await runToEnd(run, show);
  const [out, err] = [storedStream(stdout), storedStream(stderr)];
  return {
    capture: { ...rest, stdout: out.note, stderr: err.note },
    streams: { stdout: out.bytes, stderr: err.bytes },
  };
}

/**
 * Throws if the sandbox died, because missing files then say nothing about the program. If memory ran out, the kernel
 * may have killed the sandbox as well; in that case, the verdict is clear without the files.
 */
export function refuseLostSandbox({ prepared }: StartedRun, { ending }: CaptureNote): void {
  if (ending.how !== 'out_of_memory' && !existsSync(prepared.workFolder))
    throw new Fault('sandbox_lost', 'The sandbox died before its files could be read.');
}

/** Calls a callback until it fails. The run continues, and its caller gets the failure at the end. */
export class OutputObserver<Args extends readonly unknown[]> {
  readonly notify: ((...args: Args) => void | Promise<void>) | undefined;
  failure: { readonly error: unknown } | undefined;

  constructor(callback: ((...args: Args) => void | Promise<void>) | undefined) {
    const fail = (error: unknown): void => {
      this.failure ??= { error };
    };
    this.notify =
      callback &&
      ((...args) => {
        if (this.failure) return undefined;
        try {
          return callback(...args)?.catch(fail);
        } catch (error) {
          return fail(error);
        }
      });
  }
}
