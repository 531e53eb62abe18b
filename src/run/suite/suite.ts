import { setMaxListeners } from 'node:events';
import { existsSync, mkdirSync, rmdirSync, rmSync } from 'node:fs';
import path from 'node:path';
import { systemClock } from '../../base/clock.ts';
import { Fault } from '../../base/fault.ts';
import { OWN_FOLDER } from '../../base/private.ts';
import type { CaseArtifact } from '../../contracts/artifacts/index.ts';
import { askedAt, type SuiteCase } from '../../contracts/suite/index.ts';
import { type Sealing, sealingOf } from '../../evidence/run-folder/finish.ts';
import { Journal } from '../../evidence/run-folder/journal.ts';
import { makeFolderIn, type RunFolder } from '../../evidence/run-folder/runs.ts';
import { CASES } from '../../evidence/suite/suite-folder.ts';
import { type OpenSuite, openSuite } from '../../evidence/suite/suite-resume.ts';
import type { SuiteLine, SuitePlan } from '../../evidence/suite/suite-run.ts';
import { type Asset, SuiteStore } from '../../evidence/suite/suite-store.ts';
import { FileThread } from '../../execute/host/file-thread.ts';
import { flushFolder } from '../../execute/host/sync.ts';
import { ownerHere } from '../pipeline/runner-plan.ts';
import type { ArtifactIdentity } from './artifact.ts';
import { Breaker } from './breaker.ts';
import { runCase } from './case.ts';
import { CaseList, type WrittenCases } from './case-list.ts';
import { CaseSlots } from './case-slots.ts';
import type { LaidOut } from './layout.ts';
import { settingsFrom } from './settings.ts';
import type { Target } from './target.ts';
import { Failures } from './failures.ts';

/** The result of a suite run, or its progress so far. */
export interface SuiteAnswer {
  readonly place: RunFolder;
  readonly plan: SuitePlan;
  readonly total: number;
  readonly ok: number;
  readonly failed: number;
  readonly gaveUp: boolean;
  /** Why cases failed in this session, most frequent first. */
  readonly troubles: ReturnType<Failures['list']>;
  /** The run was cancelled and can be resumed. */
  readonly isOpen: boolean;
  readonly durationMs: number;
}

/** The environment of a run; tests shorten the waits. */
export interface SuiteContext extends Sealing {
  readonly signal: AbortSignal;
  readonly onProgress?: (progress: Progress) => void;
  /** Called with every artifact of this session and its stored text, before its progress. */
  readonly onArtifact?: (asked: SuiteCase, artifact: CaseArtifact, text: string) => void;
  readonly backoffMs?: number;
  readonly breakerPausesMs?: readonly number[];
}

interface Progress {
  readonly done: number;
  readonly failed: number;
  readonly total: number;
}

export interface Layout {
  readonly place: RunFolder;
  /** Writes the cases and the files they name into the folder. */
  readonly write: (folder: string) => LaidOut;
  readonly planOf: (cases: WrittenCases, all: WrittenCases) => SuitePlan;
  /** Leaves the run to another process. */
  readonly isReleased?: boolean;
}

/** Prepares the run folder. When it returns, the journal contains everything that a resume needs. */
export function layOutSuite({ place, write, planOf, isReleased = false }: Layout): SuitePlan {
  makeFolderIn(path.dirname(place.folder), place.id);
  try {
    const journal = Journal.open<SuiteLine>(place.folder);
    try {
      // Other processes must be able to tell whether the owner is still alive.
      journal.append({ is: 'laying', owner: ownerHere() });
      mkdirSync(path.join(place.folder, 'assets'), { mode: OWN_FOLDER });
      const { cases, all, assets } = write(place.folder);
      const plan = planOf(cases, all);
      new SuiteStore(place.folder, journal, openThread).plan(plan, [
        { href: CASES, kind: 'other', caseId: null, bytes: cases.bytes, sha256: cases.sha256 },
        ...assets,
      ]);
      if (isReleased) journal.append({ is: 'left' });
      journal.sync();
      return plan;
    } finally {
      journal.close();
    }
  } catch (error) {
    rmSync(place.folder, { recursive: true, force: true });
    removeIfEmpty(path.dirname(place.folder));
    throw error;
  }
}

function removeIfEmpty(folder: string): void {
  try {
    rmdirSync(folder);
  } catch {
    // The folder contains other runs.
  }
}

/** Sends all unanswered cases, then seals the folder. */
export async function executeSuite(place: RunFolder, target: Target, around: SuiteContext): Promise<SuiteAnswer> {
  const open = openSuite(place.folder, ownerHere(), systemClock.now(), openThread);
  const { store, plan, startedAtMs } = open;
  const cases = CaseList.open(path.join(place.folder, CASES));
  try {
    const troubles = new Failures();
    const breaker = await askAll({ ...open, cases, target, around, troubles });
    const { ok, failed } = store.stats;
    const isOpen = ok + failed < cases.ids.length;
    const completedAtMs = Math.max(systemClock.now(), startedAtMs);
    const gaveUp = breaker.isGivenUp;
    if (isOpen) await store.close(await evidenceOf(target));
    else {
      store.add((await target.evidence?.()) ?? []);
      const run = { plan, ids: cases.ids, gaveUp, startedAtMs, completedAtMs };
      await store.finish(run, sealingOf(around), flushFolder);
    }
    const durationMs = completedAtMs - startedAtMs;
    return { place, plan, total: cases.ids.length, ok, failed, gaveUp, troubles: troubles.list(), isOpen, durationMs };
  } catch (error) {
    await store.close(await evidenceOf(target));
    throw error;
  } finally {
    cases.close();
    await target.close();
  }
}

/** The evidence of a session that ends early. A failure to collect it must not hide why the session ended. */
async function evidenceOf(target: Target): Promise<readonly Asset[]> {
  return (await target.evidence?.().catch(() => [])) ?? [];
}

interface Asking extends OpenSuite {
  readonly cases: CaseList;
  readonly target: Target;
  readonly around: SuiteContext;
  readonly troubles: Failures;
}

async function askAll({ cases, plan, target, around, store, done, begun, troubles }: Asking): Promise<Breaker> {
  const { request } = plan;
  const settings = settingsFrom(request.settings);
  const breaker = new Breaker(settings.breakerFailures, around.breakerPausesMs);
  // An internal failure stops all workers and is reported once.
  const stop = new AbortController();
  const signal = AbortSignal.any([around.signal, stop.signal]);
  // Every attempt adds a listener.
  setMaxListeners(0, signal);
  signal.addEventListener('abort', () => target.cancel(), { once: true });
  const named: Omit<ArtifactIdentity, 'id'> = { side: request.version, url: askedAt(request.target), settings };
  const ofCase = {
    target,
    breaker,
    runId: request.run_id,
    signal,
    backoffMs: around.backoffMs ?? BACKOFF_MS,
    onSent: target.isQueued ? store.offered.bind(store) : store.sent.bind(store),
    onRun: store.running.bind(store),
    onFailed: store.failed.bind(store),
  };
  const slots = new CaseSlots(settings.concurrency);
  let next = 0;
  const askOne = async (index: number, id: string): Promise<boolean> => {
    const { onArrived, free } = await slots.take();
    try {
      const asked = cases.at(index);
      const kept = await runCase(asked, { ...named, id }, begun.get(id) ?? [], { ...ofCase, onArrived });
      if (!kept) return false;
      const text = store.keep(kept.artifact, kept.assets, kept.reply, kept.outcome, kept.twice);
      troubles.add(kept.artifact);
      around.onArtifact?.(asked, kept.artifact, text);
      const { ok, failed } = store.stats;
      around.onProgress?.({ done: ok + failed, failed, total: cases.ids.length });
      return true;
    } finally {
      free();
    }
  };
  // A function per case, so that a worker does not keep an artifact in memory while it waits for the next answer.
  const worker = async (): Promise<void> => {
    while (next < cases.ids.length && !signal.aborted) {
      const index = next++;
      const id = cases.ids[index] as string;
      if (!done.has(id) && !(await askOne(index, id))) return;
    }
  };
  // Twice as many workers as slots, so that the target works on the next cases while Proctor reads answers.
  const workers = Array.from({ length: Math.min(2 * settings.concurrency, cases.ids.length) }, () =>
    worker().catch((error: unknown) => {
      stop.abort();
      throw error;
    }),
  );
  const ends = await Promise.allSettled(workers);
  const broken = ends.find(end => end.status === 'rejected');
  if (broken) throw broken.reason;
  return breaker;
}

const BACKOFF_MS = 250;

const openThread = (folder: string): FileThread => new FileThread(folder);

/** Returns the run folder of a new run. Throws if it exists. */
export function placeFor(out: string, side: string, id: string): RunFolder {
  const folder = path.join(out, side, id);
  if (existsSync(folder)) {
    throw new Fault(
      'run_exists',
      `A run called ${id} already exists. Choose another name, or resume that run if it is unfinished.`,
    );
  }
  return { id, lane: side, folder };
}
