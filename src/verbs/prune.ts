import { readdirSync, rmSync, statSync } from 'node:fs';
import path from 'node:path';
import { systemClock } from '../base/clock.ts';
import { Fault } from '../base/fault.ts';
import { attemptsIn, homeFrom, RUN_ID, runsIn as placesIn } from '../evidence/run-folder/runs.ts';
import { sweepBare } from '../execute/launcher/sweep.ts';
import { lifeOf, openSuiteIn } from './recover.ts';

/** The ids of what was removed. Reports have the ids of their runs. */
export interface Pruned {
  readonly runs: readonly string[];
  readonly comparisons: readonly string[];
  readonly reports: readonly string[];
}

/**
 * Removes runs, comparisons and reports older than the given age. Keeps running runs and interrupted suites that can be
 * resumed. Does not complete or seal runs first.
 */
export async function prune(cwd: string, olderThanMs: number, isTrial: boolean): Promise<Pruned> {
  const home = homeFrom(cwd);
  const runs = await pruneHome(home, olderThanMs, isTrial);
  // Attempts are as old as their suites, and are not reported by name.
  await pruneHome(attemptsIn(home), olderThanMs, isTrial);
  const before = systemClock.now() - olderThanMs;
  const removedIn = (lane: string, isOld: (id: string, folder: string) => boolean): string[] => {
    const old = foldersIn(path.join(home, lane)).filter(id => isOld(id, path.join(home, lane, id)));
    if (!isTrial) for (const id of old) removeFolder(id, path.join(home, lane, id));
    return old;
  };
  return {
    runs,
    comparisons: removedIn('comparisons', id => COMPARISON_ID.test(id) && beganAt(id) < before),
    // An old run can have a new report.
    reports: removedIn('reports', (id, folder) => RUN_ID.test(id) && statSync(folder).mtimeMs < before),
  };
}

const COMPARISON_ID = /^comparison_\d{8}_\d{6}_[0-9a-f]{12}$/;

function foldersIn(folder: string): string[] {
  try {
    const entries = readdirSync(folder, { withFileTypes: true });
    return entries.filter(entry => entry.isDirectory()).map(({ name }) => name);
  } catch {
    return [];
  }
}

async function pruneHome(home: string, olderThanMs: number, isTrial: boolean): Promise<string[]> {
  const before = systemClock.now() - olderThanMs;
  const removed: string[] = [];
  for (const place of placesIn(home)) {
    // Skip folders that are not named like a run, even if their names contain a date.
    if (!RUN_ID.test(place.id) || beganAt(place.id) >= before) continue;
    const life = lifeOf(place);
    if (life === 'alive' || life === 'unknown') continue;
    if (life === 'dead' && openSuiteIn(place.folder)?.plan) continue;
    if (!isTrial) {
      if (life === 'dead') await endLeftovers(place.id);
      removeFolder(place.id, place.folder);
    }
    removed.push(place.id);
  }
  return removed;
}

/** Programs that ran without a sandbox may have outlived their run. */
async function endLeftovers(id: string): Promise<void> {
  await sweepBare(id);
}

function removeFolder(id: string, folder: string): void {
  try {
    rmSync(folder, { recursive: true, force: true });
  } catch (cause) {
    throw new Fault('not_removed', `Cannot remove ${id}. It may belong to another user.`, { cause });
  }
}

/** The start time in an id. An id without one is never old. */
function beganAt(id: string): number {
  const [, date = '', time = ''] = /(\d{8})_(\d{6})_/.exec(id) ?? [];
  const text = `${date.replace(/(....)(..)(..)/, '$1-$2-$3')}T${time.replace(/(..)(..)(..)/, '$1:$2:$3')}.000Z`;
  const atMs = Date.parse(text);
  return Number.isNaN(atMs) ? Number.POSITIVE_INFINITY : atMs;
}
