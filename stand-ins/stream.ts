import { writeSync } from 'node:fs';

const PAUSE_MS = 1;
const pauses = new Int32Array(new SharedArrayBuffer(4));

/** Writes everything, even to a full pipe: a signal must not lose buffered output. */
export function print(text: string | Uint8Array, fd: 1 | 2 = 1): void {
  let rest = Buffer.from(text as string);
  while (rest.length > 0) {
    try {
      rest = rest.subarray(writeSync(fd, rest));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') throw error;
      pause(PAUSE_MS);
    }
  }
}

export function printLine(line: object): void {
  print(`${JSON.stringify(line)}\n`);
}

/** Blocks the event loop. */
export function pause(ms: number): void {
  Atomics.wait(pauses, 0, 0, ms);
}
