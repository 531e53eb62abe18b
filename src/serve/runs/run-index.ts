import { lstatSync } from 'node:fs';
import path from 'node:path';
import { monotonicMs } from '../../base/clock.ts';
import { JOURNAL } from '../../evidence/run-folder/journal.ts';
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

/** A run, or the run of a script or an agent that answers an attempt of a suite. */
export interface ReadableRun extends RunRow {
  /** Such a run can be read, but not cancelled by itself. */
  readonly is_attempt: boolean;
}

type RunState = 'waiting' | 'running' | 'finished' | 'interrupted' | 'foreign' | 'unreadable';

export type RunPlace = ReturnType<typeof projectRuns>['places'][number];

export interface ReadablePlace extends RunPlace {
  /** Whether it answers an attempt of a suite. */
  readonly isAttempt: boolean;
}

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

  constructor(home: string, orders: OrderStates = NO_ORDERS) {
    this.#home = home;
    this.#orders = orders;
  }

  /** All runs that have a folder, newest first. It looks at the disk at most four times a second. */
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

  /** Ordered intents that have no folder yet, then all runs, newest first. */
  all(): readonly RunPlace[] {
    const places = this.places();
    const ordered = this.#orders.openIntents();
    if (ordered.length === 0) return places;
    const written = new Set(places.map(({ id }) => id));
    const open = ordered.filter(id => !written.has(id)).map(unwritten);
    return [...open.reverse(), ...places];
  }

  /** The newest run with exactly this id; undefined if it has no folder. */
  find(id: string): RunPlace | undefined {
    return this.findAll(id)[0];
  }

  /** The runs with exactly this id, newest first. Each side of a comparison may have one. */
  findAll(id: string): readonly RunPlace[] {
    const found = this.places().filter(one => one.id === id);
    if (found.length > 0) return found;
    // It may have begun since the last look.
    this.#lookedAtMs = Number.NEGATIVE_INFINITY;
    return this.places().filter(one => one.id === id);
  }

  /** The row of an intent whose order waits, begins, or ended without a run; undefined if there is no such order. */
  orderedRow(id: string): RunRow | undefined {
    const order = INTENT_ID.test(id) ? this.#orders.find(id) : undefined;
    if (!order) return undefined;
    const { state, position, how, message } = order;
    return {
      ...NO_ROW,
      run_id: id,
      state: state === 'ended' ? 'finished' : state,
      status: how ?? state,
      subject: message,
      position,
    };
  }

  async row(place: RunPlace): Promise<RunRow> {
    if (place.folder === '') return this.orderedRow(place.id) ?? { ...NO_ROW, run_id: place.id };
    const known = this.#rows.get(place.folder);
    const nowMs = monotonicMs();
    if (known && nowMs < known.freshUntilMs) return known.row;
    // An evaluation may be added to a finished run, which changes its folder.
    const stamp = stampOf(place.folder);
    if (known?.isFinal && known.stamp === stamp) {
      known.freshUntilMs = nowMs + LOOK_AFTER_MS;
      return known.row;
    }
    const row = this.#ordered(await rowNow(place));
    const isFinal = row.state === 'finished';
    // The row of a large running suite needs its whole journal, so the server reads it less often.
    const freshMs = isFinal ? LOOK_AFTER_MS : isLarge(place) ? READ_SHARE * (monotonicMs() - nowMs) : 0;
    this.#rows.set(place.folder, { row, stamp, isFinal, freshUntilMs: nowMs + freshMs });
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
  find(id: string):
    | {
        readonly state: 'waiting' | 'running' | 'ended';
        readonly position: number | null;
        readonly how: string | null;
        readonly message: string | null;
      }
    | undefined;
  openIntents(): readonly string[];
}

const NO_ORDERS: OrderStates = { find: () => undefined, openIntents: () => [] };
const INTENT_ID = /^intent_\d{8}_\d{6}_[0-9a-f]{12}$/;

/** A run without a folder. */
const unwritten = (id: string): RunPlace => ({ id, lane: 'intent', folder: '' });

const NO_ROW: Omit<RunRow, 'run_id'> = {
  kind: 'intent',
  state: 'unreadable',
  status: 'unknown',
  subject: null,
  started_at: null,
  duration_ms: null,
  progress: null,
  position: null,
  verdicts: null,
};

interface KnownRow {
  readonly row: RunRow;
  readonly stamp: string;
  readonly isFinal: boolean;
  /** The server reads the folder again after this time. */
  freshUntilMs: number;
}

const LOOK_AFTER_MS = 250;
const LARGE_BYTES = 1024 ** 2;
/** Reading one large running run takes at most one part in this many of the server's time. */
const READ_SHARE = 20;

function isLarge({ folder }: RunPlace): boolean {
  return (lstatSync(path.join(folder, JOURNAL), { throwIfNoEntry: false })?.size ?? 0) > LARGE_BYTES;
}

function stampOf(folder: string): string {
  const stat = statOf(folder);
  return stat ? `${stat.ino}.${stat.mtimeNs}` : '-';
}

function statOf(folder: string) {
  try {
    return lstatSync(folder, { bigint: true, throwIfNoEntry: false });
  } catch {
    return undefined;
  }
}

const STATES = {
  finished: 'finished',
  alive: 'running',
  dead: 'interrupted',
  foreign: 'foreign',
  unknown: 'unreadable',
} as const;

/** One run that cannot be read must not hide the others. */
async function rowNow(place: RunPlace): Promise<RunRow> {
  try {
    const { run, life } = await listedNow(place);
    return rowOf(place.id, run, STATES[life]);
  } catch {
    return { ...UNREADABLE_ROW, run_id: place.id, kind: place.lane };
  }
}

const UNREADABLE_ROW = {
  state: 'unreadable',
  status: 'unreadable',
  subject: null,
  started_at: null,
  duration_ms: null,
  progress: null,
  position: null,
  verdicts: null,
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
    // A case without expectations has no verdict, although its evaluation counts it as passed.
    verdicts: judged ? { passed: judged.passed - judged.unjudged, failed: judged.failed, total: judged.total } : null,
  };
}
