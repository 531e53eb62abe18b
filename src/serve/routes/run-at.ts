import { Fault } from '../../base/fault.ts';
import { matching, record } from '../../contracts/shape.ts';
import { attemptRun } from '../../verbs/runs.ts';
import type { Server } from '../http/server.ts';
import type { ReadablePlace, RunPlace } from '../runs/run-index.ts';

/** A name that cannot be a path. */
export const runId = () => matching(/^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/, 'a run id');

export const runParams = record({ run_id: runId() });

/** The run with exactly this id. An id from outside is compared with the folders that exist; it never becomes a path. */
export function runAt(id: string, { runs }: Pick<Server, 'runs'>): RunPlace {
  const place = runs.find(id);
  if (!place) throw noSuchRun(id);
  return place;
}

/** The same, also for the run of a script or an agent that answered an attempt of a suite. Such a run can only be read. */
export function readableRunAt(id: string, { runs, home }: Pick<Server, 'runs' | 'home'>): ReadablePlace {
  const place = runs.find(id);
  if (place) return { ...place, isAttempt: false };
  const attempt = attemptRun(home, id);
  if (!attempt) throw noSuchRun(id);
  return { ...attempt, isAttempt: true };
}

export function noSuchRun(id: string): Fault {
  return new Fault('no_run', `There is no run ${id}.`);
}
