import { lstatSync } from 'node:fs';
import { monotonicMs } from '../../base/clock.ts';
import { type Listed, listedNow, projectRuns } from '../../verbs/runs.ts';

/** A run as the viewer lists it. */
export interface RunRow {
  /** The name of the run folder. The documents of a copied run may name another. */
  readonly run_id: string;
  /** The kind of run, or its side in a comparison. */
  readonly kind: string;
  readonly state: RunState;
  readonly status: string;
  readonly subject: string | null;
  readonly started_at: string | null;
  readonly duration_ms: number | null;
  readonly progress: { readonly done: number; readonly total: number } | null;
  /** Its position among the waiting runs, from 1; null if it does not wait. */
  readonly position: number | null;
  readonly verdicts: { readonly passed: number; readonly failed: number; readonly total: number } | null;
}

type RunState = 'waiting' | 'running' | 'finished' | 'interrupted' | 'foreign' | 'unreadable';

export type RunPlace = ReturnType<typeof projectRuns>['places'][number];

/**
 * The runs of a project, newest first. The row of a finished run is read once. Rows are read when a page or a filter
 * needs them, so the first page of 10,000 runs reads only its own rows.
 */
export class RunIndex {
  readonly #home: string;
  readonly #orders: OrderStates;
  readonly #rows = new Map<string, KnownRow>();
  #places: RunPlace[] = [];
  #folders: readonly string[] = [];
  #stamp = '';
  #lookedAtMs = Number.NEGATIVE_INFINITY;

  constructor(home: string, orders: OrderStates = { find: () => undefined }) {
    this.#home = home;
    this.#orders = orders;
  }

  /** All runs, newest first. It looks at the disk at most four times a second. */
  places(): readonly RunPlace[] {
    const nowMs = monotonicMs();
    if (nowMs - this.#lookedAtMs < LOOK_AFTER_MS) return this.#places;
    this.#lookedAtMs = nowMs;
    const stamp = this.#folders.map(stampOf).join(' ');
    if (stamp !== '' && stamp === this.#stamp) return this.#places;
    const { places, folders } = projectRuns(this.#home);
    this.#folders = folders;
    this.#stamp = folders.map(stampOf).join(' ');
    this.#places = places;
    const there = new Set(places.map(({ folder }) => folder));
    for (const folder of this.#rows.keys()) if (!there.has(folder)) this.#rows.delete(folder);
    return places;
  }

  async row(place: RunPlace): Promise<RunRow> {
    const known = this.#rows.get(place.folder);
    // An evaluation may be added to a finished run, which changes its folder.
    const stamp = stampOf(place.folder);
    if (known?.isFinal && known.stamp === stamp) return known.row;
    const { run, life } = await listedNow(place);
    const row = this.#ordered(rowOf(place.id, run, STATES[life]));
    this.#rows.set(place.folder, { row, stamp, isFinal: row.state === 'finished' });
    return row;
  }

  /** No process owns a run that waits or that is about to start, so its journal alone says that it is interrupted. */
  #ordered(row: RunRow): RunRow {
    const order = ['interrupted', 'finished'].includes(row.state) ? this.#orders.find(row.run_id) : undefined;
    // Its process is still judging the answers.
    if (row.state === 'finished')
      return order?.state === 'running' ? { ...row, state: 'running', status: 'running' } : row;
    if (order?.state === 'waiting') return { ...row, state: 'waiting', status: 'waiting', position: order.position };
    return order?.state === 'running' ? { ...row, state: 'running', status: 'running' } : row;
  }
}

/** What the server knows about the runs that its clients ordered. */
interface OrderStates {
  find(id: string): { readonly state: string; readonly position: number | null } | undefined;
}

interface KnownRow {
  readonly row: RunRow;
  readonly stamp: string;
  readonly isFinal: boolean;
}

const LOOK_AFTER_MS = 250;

function stampOf(folder: string): string {
  const stat = lstatSync(folder, { bigint: true, throwIfNoEntry: false });
  return stat ? `${stat.ino}.${stat.mtimeNs}` : '-';
}

const STATES = {
  finished: 'finished',
  alive: 'running',
  dead: 'interrupted',
  foreign: 'foreign',
  unknown: 'unreadable',
} as const;

function rowOf(id: string, run: Listed, state: RunState): RunRow {
  const { judged } = run;
  return {
    run_id: id,
    kind: run.kind,
    state,
    status: run.status,
    subject: run.subject ?? null,
    started_at: run.startedAt ?? null,
    duration_ms: run.durationMs ?? null,
    progress: run.progress ?? null,
    position: null,
    verdicts: judged ? { passed: judged.passed, failed: judged.failed, total: judged.total } : null,
  };
}
