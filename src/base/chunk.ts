import { readSync } from 'node:fs';
import { codeOf } from './fault.ts';

/** Reads the available bytes. Waits on EAGAIN, which a pipe returns if another process made it non-blocking. */
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
