import { lstatSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { canonicalize } from '../../base/canonical.ts';
import { Fault } from '../../base/fault.ts';
import type { RunContext } from '../../run/pipeline/journaled-run.ts';
import { executeScript, type ScriptAnswer } from '../../run/script/script.ts';
import type { Check, CheckAnswer, RunCheck } from './check.ts';

/** Where checks run, and who stops them. */
export interface CheckContext extends Pick<RunContext, 'home' | 'signal'> {
  /** Asked for when the first check comes: most suites have none. */
  readonly launcher: () => Promise<RunContext['launcher']>;
  /**
   * What a machine that cannot run a check means. The run's own process tells it in the evaluation. A reader that judges
   * again throws: a check that failed must not become one that nobody could make.
   */
  readonly onMachineFault?: 'tell' | 'throw';
}

/**
 * Runs checks as scripts in the process sandbox, without a network. A check finds `case.json` and `artifact.json` in
 * `input/`. It holds if it exits with 0 and does not say otherwise in a result.json, and fails if it exits with anything
 * else. The runs lie in `home` while they last, and are removed when their answer is known.
 */
export function checkByScript({ launcher, onMachineFault = 'tell', ...around }: CheckContext): RunCheck {
  return async check => {
    const folder = mkdtempSync(path.join(tmpdir(), `proctor-check-${process.pid}-`));
    let place: string | undefined;
    try {
      const lastWords = new LastLine();
      const answer = await executeScript(orderOf(check, folder), {
        ...around,
        // It is gone when its answer is known.
        signer: undefined,
        launcher: await launcher(),
        onOutput: (stream, bytes) => (stream === 'stderr' ? lastWords.take(bytes) : undefined),
        onFolder: run => {
          place = run.folder;
        },
      });
      return answerOf(answer, lastWords.text);
    } catch (error) {
      // Whether it had begun when it was cancelled is chance.
      if (around.signal?.aborted) return { trouble: CANCELLED };
      if (!(error instanceof Fault)) throw error;
      if (onMachineFault === 'tell' || OF_THE_CHECK.has(error.code)) return { trouble: error.message };
      const message = `A check cannot be run here, so the run cannot be judged again. ${error.message}`;
      throw new Fault('cannot_judge', message, { cause: error });
    } finally {
      rmSync(folder, { recursive: true, force: true });
      if (place !== undefined) rmSync(place, { recursive: true, force: true });
    }
  };
}

/** Faults that are the same on every machine. */
const OF_THE_CHECK: ReadonlySet<string> = new Set(['usage', 'check_missing']);

function orderOf({ script, input, timeoutMs }: Check, folder: string) {
  // A run follows a link that it is given; a check is a file of the run folder itself.
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

/** Sentences are our own or the check's: those of a run name it by an id, and the same check must give the same answer. */
function answerOf({ ending, reading: { reason, errorSummary } }: ScriptAnswer, lastWords: string): CheckAnswer {
  if (ending.how === 'killed') {
    return { trouble: ending.by === 'cancel' ? CANCELLED : 'The check took longer than it may.' };
  }
  if (ending.how !== 'exited') return { trouble: TROUBLES[ending.how] };
  if (reason === 'script_timed_out') return { trouble: 'The check says that it ran out of time.' };
  if (reason === 'script_failed') return { ok: false, message: errorSummary ?? '' };
  if (ending.code !== 0) return { ok: false, message: lastWords || `The check ended with exit code ${ending.code}.` };
  if (reason === null || reason === 'result_missing') return { ok: true, message: '' };
  return { trouble: 'The check left a result or an output that cannot be taken.' };
}

const CANCELLED = 'The check was cancelled.';

const TROUBLES = {
  out_of_memory: 'The check needed more memory than it may use.',
  signalled: 'The check crashed.',
  not_started: 'The check could not be started.',
  lost: 'The check was interrupted, which was not its own doing.',
} as const;

/** The last line that a program said, out of a bounded part of it. */
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
