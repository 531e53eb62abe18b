import { writeSync } from 'node:fs';
import { Fault } from '../base/fault.ts';

/**
 * Standard output, written in order and without a growing queue: a reader that is slow slows us down. One that has gone
 * away (`| head`) is written to no more, but the work goes on: the exit code must still be true.
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
        else throw new Fault('write_failed', 'The answer could not be written.', { cause });
      }
    }
  };
}

const PAUSE = new Int32Array(new SharedArrayBuffer(4));
