import { lstatSync } from 'node:fs';
import path from 'node:path';
import { JOURNAL } from './journal.ts';

/** What limits the time at which an interrupted run can have been seen last. */
interface Life {
  readonly startedAtMs: number;
  /** The time limit of the run. */
  readonly timeoutMs: number;
  /** Files that grew while the run was alive. */
  readonly files: readonly string[];
  /** Times that the journal states. */
  readonly stated: readonly number[];
  readonly nowMs: number;
}

/**
 * When a run was seen last: the latest time in its journal, or the latest write to a file of it. A copied folder has
 * new file times, so one that the run cannot have lived to see is ignored.
 */
export function lastSeenMs(folder: string, { startedAtMs, timeoutMs, files, stated, nowMs }: Life): number {
  const latestMs = Math.min(nowMs, startedAtMs + timeoutMs + AROUND_MS);
  const written = [JOURNAL, ...files].flatMap(file => {
    const stat = lstatSync(path.join(folder, file), { throwIfNoEntry: false });
    const atMs = Math.floor(stat?.mtimeMs ?? 0);
    // An empty file may have been made by a recovery that was interrupted itself.
    return stat?.isFile() && stat.size > 0 && atMs >= startedAtMs && atMs <= latestMs ? [atMs] : [];
  });
  return Math.max(startedAtMs, ...stated, ...written);
}

/** Preparing the sandbox and taking the files of a run do not count against its time limit. */
const AROUND_MS = 10 * 60_000;
