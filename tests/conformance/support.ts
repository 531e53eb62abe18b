import { readdirSync, readFileSync } from 'node:fs';
import { expect, vi } from 'vitest';
import { isAlive } from '../../src/execute/processes.ts';

/** As long as a busy machine may take for something that is about to happen. */
export const PATIENT = { timeout: 20_000, interval: 10 };

/** Living processes of this machine that have a word among their arguments. */
export function processesWith(word: string): number[] {
  return readdirSync('/proc')
    .filter(name => /^\d+$/.test(name))
    .map(Number)
    .filter(pid => {
      try {
        return readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(word) && isAlive(pid);
      } catch {
        return false;
      }
    });
}

/** Comes back when no process with a word among its arguments is left. */
export async function allGone(word: string): Promise<void> {
  await vi.waitFor(() => expect(processesWith(word)).toEqual([]), PATIENT);
}
