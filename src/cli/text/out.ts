import { writeSync } from 'node:fs';
import { Fault } from '../../base/fault.ts';

/**
 * Standard output, written synchronously, so that a slow reader slows Proctor down and no queue grows. If the reader goes
 * away (`| head`), the work continues: the exit code must still be correct.
 */
export const stdout = { write: writer(1) };

export const stderr = { write: writer(2) };

function writer(fd: number): (text: string) => void {
  let isGone = false;
  return text => {
    let rest = Buffer.from(text);
    while (rest.length > 0 && !isGone) {
      try {
        rest = rest.subarray(writeSync(fd, rest));
      } catch (cause) {
        const code = cause instanceof Error && 'code' in cause ? cause.code : undefined;
        if (code === 'EPIPE') isGone = true;
        else if (code === 'EAGAIN') Atomics.wait(PAUSE, 0, 0, 2);
        else throw new Fault('write_failed', 'Cannot write to standard output or standard error.', { cause });
      }
    }
  };
}

const PAUSE = new Int32Array(new SharedArrayBuffer(4));
