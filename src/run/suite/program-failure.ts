import { clip } from '../../base/clip.ts';
import { readJson } from '../../base/json.ts';
import type { Masker } from '../../base/masker.ts';
import { printable } from '../../base/printable.ts';
import { Fault } from '../../base/fault.ts';
import { isObject } from '../../contracts/kind.ts';
import type { Ending } from '../../contracts/ending.ts';
import type { Effective } from '../../policy/effective-limits.ts';
import type { FailedAttempt } from './target.ts';

export type ProgramFailure = Omit<FailedAttempt, 'ok' | 'body' | 'masked'>;

/** The failure that follows from how a program ended; undefined if it exited with 0. */
export function endingFailure(
  ending: Ending,
  { timeoutMs, idleMs = 0, memoryBytes = 0, cpuSeconds = 0 }: Effective,
): ProgramFailure | undefined {
  switch (ending.how) {
    case 'killed':
      if (ending.by === 'timeout')
        return { class: 'timeout', message: `The program did not end within ${timeoutMs} ms.`, mayRetry: true };
      if (ending.by === 'idle') {
        const message = `The program printed nothing for ${idleMs} ms.`;
        return { class: 'timeout', message, errorName: 'IDLE', mayRetry: true };
      }
      return agentFailed(`The program used more than its limit of ${cpuSeconds} s of CPU time.`, 'CPU_LIMIT');
    case 'out_of_memory':
      return agentFailed(`The program used more than its limit of ${memoryBytes} bytes of memory.`, 'MEMORY_LIMIT');
    case 'signalled':
      return agentFailed(`${ending.signal} ended the program.`, 'AGENT_FAILED');
    case 'exited':
      return ending.code === 0
        ? undefined
        : agentFailed(`The program exited with code ${ending.code}.`, 'AGENT_FAILED');
    default:
      throw new Fault('program_failed', 'The program of the target could not be started.');
  }
}

export function agentFailed(message: string, errorName: string): ProgramFailure {
  return { class: 'schema_mismatch', message, errorName, mayRetry: false };
}

/** The failure of a function, without the paths of this machine. */
export function functionFailure(failed: Buffer, masker: Masker, folders: readonly string[]): ProgramFailure {
  const reading = readJson(failed, { bytesMax: failed.length });
  const message = reading.ok && isObject(reading.value) ? reading.value['message'] : undefined;
  const text = folders.reduce(
    (left, folder) => left.replaceAll(`${folder}/`, ''),
    typeof message === 'string' ? message : '',
  );
  return agentFailed(
    `The function failed: ${printable(clip(masker.text(text), MESSAGE_BYTES_MAX).text)}`,
    'AGENT_FAILED',
  );
}

const MESSAGE_BYTES_MAX = 1_000;
