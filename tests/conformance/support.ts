import { readdirSync, readFileSync } from 'node:fs';
import { expect, vi } from 'vitest';
import { isAlive } from '../../src/execute/host/processes.ts';

/** The longest time that a busy machine may need for an expected event. */
export const PATIENT = { timeout: 20_000, interval: 10 };

/** Live processes with this word among their arguments. */
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

/** Resolves when no process with this word among its arguments is left. */
export async function allGone(word: string): Promise<void> {
  await vi.waitFor(() => expect(processesWith(word)).toEqual([]), PATIENT);
}
