import { lstatSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { canonicalize } from '../../base/canonical.ts';
import { Fault } from '../../base/fault.ts';
import type { RunContext } from '../../run/pipeline/journaled-run.ts';
import { executeScript, type ScriptAnswer } from '../../run/script/script.ts';
import type { Check, CheckAnswer, RunCheck } from './check.ts';

/** Where checks run, and the signal that stops them. */
export interface CheckContext extends Pick<RunContext, 'home' | 'signal'> {
  /** Called for the first check, because most suites have none. */
  readonly launcher: () => Promise<RunContext['launcher']>;
  /**
   * What to do if this machine cannot run a check. `tell` records it in the evaluation. `throw` is for
   * judging again, so that a failed check never turns into one that could not run.
   */
  readonly onMachineFault?: 'tell' | 'throw';
}

/**
 * Runs checks as scripts in the process sandbox, without network. A check finds `case.json` and `artifact.json` in
 * `input/`. It passes if it exits with 0 and its result.json, if any, does not report a failure. Check runs are stored
 * in `home` and removed when they end.
 */
export function checkByScript({ launcher, onMachineFault = 'tell', ...around }: CheckContext): RunCheck {
  return async check => {
    const folder = mkdtempSync(path.join(tmpdir(), `proctor-check-${process.pid}-`));
    let place: string | undefined;
    try {
      const lastWords = new LastLine();
      const answer = await executeScript(orderOf(check, folder), {
        ...around,
        // The run folder is removed after the check, so it needs no signature.
        signer: undefined,
        launcher: await launcher(),
        onOutput: (stream, bytes) => (stream === 'stderr' ? lastWords.take(bytes) : undefined),
        onFolder: run => {
          place = run.folder;
        },
      });
      return answerOf(answer, lastWords.text);
    } catch (error) {
      // A cancelled check reports the same result whether or not it had started.
      if (around.signal?.aborted) return { trouble: CANCELLED };
      if (!(error instanceof Fault)) throw error;
      if (onMachineFault === 'tell' || OF_THE_CHECK.has(error.code)) return { trouble: error.message };
      const message = `This machine cannot run a check, so the run cannot be judged again. ${error.message}`;
      throw new Fault('cannot_judge', message, { cause: error });
    } finally {
      rmSync(folder, { recursive: true, force: true });
      if (place !== undefined) rmSync(place, { recursive: true, force: true });
    }
  };
}

/** Faults that occur on every machine. */
const OF_THE_CHECK: ReadonlySet<string> = new Set(['usage', 'check_missing']);

function orderOf({ script, input, timeoutMs }: Check, folder: string) {
  // A run follows symlinks, but a check must be a file in the run folder itself.
  if (!lstatSync(script, { throwIfNoEntry: false })?.isFile()) {
    throw new Fault('check_missing', 'The check is not among the files of the run.');
  }
  const inputs = Object.entries(input).map(([name, document]) => {
    const file = path.join(folder, `${name}.json`);
    writeFileSync(file, canonicalize(document));
    return file;
  });
  return { script, inputs, bounds: { sandbox: 'process', ...(timeoutMs !== undefined && { timeoutMs }) } } as const;
}

/**
 * Uses only fixed sentences and the check's output: run faults contain the run id, and equal checks must give equal
 * answers.
 */
function answerOf({ ending, reading: { reason, errorSummary } }: ScriptAnswer, lastWords: string): CheckAnswer {
  if (ending.how === 'killed') {
    return { trouble: ending.by === 'cancel' ? CANCELLED : 'The check exceeded its time limit.' };
  }
  if (ending.how !== 'exited') return { trouble: TROUBLES[ending.how] };
  if (reason === 'script_timed_out') return { trouble: 'The check reported that it ran out of time.' };
  if (reason === 'script_failed') return { ok: false, message: errorSummary ?? '' };
  if (ending.code !== 0) return { ok: false, message: lastWords || `The check ended with exit code ${ending.code}.` };
  if (reason === null || reason === 'result_missing') return { ok: true, message: '' };
  return { trouble: 'The check left an invalid result or output.' };
}

const CANCELLED = 'The check was cancelled.';

const TROUBLES = {
  out_of_memory: 'The check exceeded its memory limit.',
  signalled: 'The check crashed.',
  not_started: 'The check could not be started.',
  lost: 'The check was interrupted from outside.',
} as const;

/** The last line of a program's output, from a bounded tail. */
class LastLine {
  #tail = Buffer.alloc(0);

  take(bytes: Uint8Array): void {
    this.#tail = Buffer.concat([this.#tail, bytes]).subarray(-TAIL_BYTES);
  }

  get text(): string {
    return this.#tail.toString().trimEnd().split('\n').at(-1)?.trim() ?? '';
  }
}

const TAIL_BYTES = 4_096;
