import { writeSync } from 'node:fs';

/**
 * Standard output, written in order and without a growing queue: a reader that is slow slows us down, one that has gone
 * away (`| head`) ends us quietly.
 */
export const stdout = { write: (text: string): void => write(1, text) };

export const stderr = { write: (text: string): void => write(2, text) };

function write(fd: number, text: string): void {
  let rest = Buffer.from(text);
  while (rest.length > 0) {
    try {
      rest = rest.subarray(writeSync(fd, rest));
    } catch (error) {
      const code = error instanceof Error && 'code' in error ? error.code : undefined;
      if (code === 'EPIPE') process.exit();
      if (code !== 'EAGAIN') throw error;
      Atomics.wait(PAUSE, 0, 0, 2);
    }
  }
}

const PAUSE = new Int32Array(new SharedArrayBuffer(4));
