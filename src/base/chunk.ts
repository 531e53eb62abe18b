import { readSync } from 'node:fs';
import { codeOf } from './fault.ts';

/** Reads what there is. A pipe whose writer is not ready yet answers EAGAIN when it was made non-blocking by someone else. */
export function readChunk(fd: number, chunk: Buffer, position?: number): number {
  for (;;) {
    try {
      return readSync(fd, chunk, 0, chunk.length, position ?? null);
    } catch (error) {
      const code = codeOf(error);
      if (code === 'EOF') return 0;
      if (code !== 'EAGAIN') throw error;
      Atomics.wait(PAUSE, 0, 0, 5);
    }
  }
}

const PAUSE = new Int32Array(new SharedArrayBuffer(4));
