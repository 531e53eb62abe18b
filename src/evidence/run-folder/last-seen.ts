import { lstatSync } from 'node:fs';
import path from 'node:path';
import { JOURNAL } from './journal.ts';

/** The facts that show when an interrupted run was last alive. */
interface Life {
  readonly startedAtMs: number;
  readonly timeoutMs: number;
  /** Files that grew while the run was alive. */
  readonly files: readonly string[];
  /** Times that the journal states. */
  readonly stated: readonly number[];
  readonly nowMs: number;
}

/**
 * When a run was last alive: the latest time in its journal or the latest write to one of its files. A copied folder
 * has new file times, so times after the latest possible end are ignored.
 */
export function lastSeenMs(folder: string, { startedAtMs, timeoutMs, files, stated, nowMs }: Life): number {
  const latestMs = Math.min(nowMs, startedAtMs + timeoutMs + AROUND_MS);
  const written = [JOURNAL, ...files].flatMap(file => {
    const stat = lstatSync(path.join(folder, file), { throwIfNoEntry: false });
    const atMs = Math.floor(stat?.mtimeMs ?? 0);
    // An interrupted recovery may have created an empty file.
    return stat?.isFile() && stat.size > 0 && atMs >= startedAtMs && atMs <= latestMs ? [atMs] : [];
  });
  return Math.max(startedAtMs, ...stated, ...written);
}

/** Sandbox setup and output collection do not count against the time limit. */
const AROUND_MS = 10 * 60_000;
