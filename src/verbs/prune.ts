import { readdirSync, rmSync, statSync } from 'node:fs';
import path from 'node:path';
import { systemClock } from '../base/clock.ts';
import { Fault } from '../base/fault.ts';
import { attemptsOf } from '../evidence/agent/agent-attempt.ts';
import { attemptsIn, homeFrom, RUN_ID, type RunFolder, runsIn as placesIn } from '../evidence/run-folder/runs.ts';
import { sweepBare } from '../execute/launcher/sweep.ts';
import { lifeOf, openSuiteIn } from './recover.ts';
import { TAKEN } from './taken-note.ts';

/** The ids of what was removed. Reports have the ids of their runs. */
export interface Pruned {
  readonly runs: readonly string[];
  readonly comparisons: readonly string[];
  readonly reports: readonly string[];
  /** Groups of attempts with old runs that stay, because other runs of the group stay. */
  readonly kept: readonly { readonly group: string; readonly runs: number }[];
}

/**
 * Removes runs, comparisons and reports older than the given age. Keeps running runs and interrupted suites that can be
 * resumed. Removes a group of attempts only as a whole. Does not complete or seal runs first.
 */
export async function prune(cwd: string, olderThanMs: number, isTrial: boolean): Promise<Pruned> {
  const home = homeFrom(cwd);
  const { removed: runs, kept } = await pruneHome(home, olderThanMs, isTrial);
  // Attempts are as old as their suites, and are not reported by name.
  await pruneHome(attemptsIn(home), olderThanMs, isTrial);
  const before = systemClock.now() - olderThanMs;
  if (!isTrial) removeNotes(path.join(attemptsIn(home), TAKEN), before);
  const removedIn = (lane: string, isOld: (id: string, folder: string) => boolean): string[] => {
    const old = foldersIn(path.join(home, lane)).filter(id => isOld(id, path.join(home, lane, id)));
    if (!isTrial) for (const id of old) removeFolder(id, path.join(home, lane, id));
    return old;
  };
  return {
    runs,
    kept,
    comparisons: removedIn('comparisons', id => COMPARISON_ID.test(id) && beganAt(id) < before),
    // An old run can have a new report.
    reports: removedIn('reports', (id, folder) => RUN_ID.test(id) && statSync(folder).mtimeMs < before),
  };
}

/** A note outlives its run by at most one call, and an id is never made again. */
function removeNotes(folder: string, before: number): void {
  let names: string[] = [];
  try {
    names = readdirSync(folder);
  } catch {
    // No worker sent a run to this project.
  }
  for (const name of names) if (RUN_ID.test(name) && beganAt(name) < before) rmSync(path.join(folder, name));
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

async function pruneHome(
  home: string,
  olderThanMs: number,
  isTrial: boolean,
): Promise<{ readonly removed: string[]; readonly kept: Pruned['kept'] }> {
  const before = systemClock.now() - olderThanMs;
  const removed: string[] = [];
  const places = placesIn(home);
  const old = places.filter(place => isOld(place, before));
  const { whole, kept } = withoutParts(old, places);
  for (const place of whole) {
    const life = lifeOf(place);
    if (!isTrial) {
      if (life === 'dead') await endLeftovers(place.id);
      removeFolder(place.id, place.folder);
    }
    removed.push(place.id);
  }
  return { removed, kept };
}

/** Whether a run is old enough to remove, and neither runs nor can be resumed. */
function isOld(place: RunFolder, before: number): boolean {
  // Skip folders that are not named like a run, even if their names contain a date.
  if (!RUN_ID.test(place.id) || beganAt(place.id) >= before) return false;
  const life = lifeOf(place);
  if (life === 'alive' || life === 'unknown') return false;
  return !(life === 'dead' && openSuiteIn(place.folder)?.plan);
}

/** Leaves out runs whose group would remain in part, because the rest would be ranked without them. */
function withoutParts(old: readonly RunFolder[], places: readonly RunFolder[]) {
  const removable = new Set(old);
  const groupOf = new Map(attemptsOf(places).map(({ place, attempt }) => [place, attempt.group]));
  const staying = new Set(places.filter(place => !removable.has(place)).flatMap(place => groupOf.get(place) ?? []));
  const kept = new Map<string, number>();
  const whole = old.filter(place => {
    const group = groupOf.get(place);
    if (group === undefined || !staying.has(group)) return true;
    kept.set(group, (kept.get(group) ?? 0) + 1);
    return false;
  });
  return { whole, kept: [...kept].map(([group, runs]) => ({ group, runs })) };
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
