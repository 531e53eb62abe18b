import { lstatSync } from 'node:fs';
import path from 'node:path';
import { instantText } from '../base/clock.ts';
import { counted } from '../base/counted.ts';
import { Fault } from '../base/fault.ts';
import type { TaskAttempt } from '../contracts/agent-step/attempt.ts';
import type { Evaluation } from '../contracts/evaluation/index.ts';
import type { RecoveredNote } from '../contracts/script-outcome/shape.ts';
import { targetName } from '../contracts/suite/index.ts';
import type { EvaluationSums } from '../evidence/judgement/evaluation-sums.ts';
import { type Kinds, kindNamed } from '../evidence/recovery/kind.ts';
import { openRun } from '../evidence/recovery/recover.ts';
import { type LogLine, readLog } from '../evidence/step/log.ts';
import { readScriptFolder, type ScriptFolder } from '../evidence/script/script-folder.ts';
import { findRun, homeFrom, type RunFolder } from '../evidence/run-folder/runs.ts';
import * as room from '../evidence/run-folder/runs.ts';
import { KINDS } from '../run/kinds.ts';
import { type Life, lifeOf, openSuiteIn } from './recover.ts';
import { foreignResume } from './suite-words.ts';
import { wholeness } from './whole.ts';

export interface Listed {
  /** The id in the run's documents. Its folder may have another name. */
  readonly id: string;
  readonly kind: string;
  readonly folder: string;
  readonly startedAt: string | undefined;
  readonly status: string;
  readonly subject: string | undefined;
  readonly durationMs: number | undefined;
  /** The verdicts of a judged suite. */
  readonly judged?: Evaluation['summary'];
  /** The progress of an unfinished suite. */
  readonly progress?: { readonly done: number; readonly total: number };
  /** Set if the run was interrupted and completed later. */
  readonly recovered?: RecoveredNote;
  /** Which of several attempts at one task the run is. */
  readonly attempt?: TaskAttempt;
  /** False for an interrupted run that was not started here. */
  readonly startedHere?: false;
  /** The command that resumes or completes it. */
  readonly resume?: string;
  /** True if the folder's name differs from the run id. */
  readonly renamed?: true;
}

export async function listRuns(
  cwd: string,
  limit: number,
): Promise<{ readonly runs: Listed[]; readonly total: number }> {
  const places = room.runsIn(room.homeFrom(cwd)).reverse();
  const runs: Listed[] = [];
  for (const place of places.slice(0, limit)) runs.push((await listedNow(place)).run);
  return { runs, total: places.length };
}

/** A run and its life now. */
export async function listedNow(place: RunFolder): Promise<{ readonly run: Listed; readonly life: Life }> {
  const life = lifeOf(place);
  const one = await listedRun(place, life);
  const isDead = life === 'dead' && one.resume === undefined;
  const run = {
    ...one,
    ...(life === 'foreign' && { startedHere: false as const }),
    ...(isDead && { resume: 'proctor recover' }),
  };
  return { run, life };
}

/** A run of any kind, as `proctor list` shows it. */
export async function listedRun(place: RunFolder, life: Life, kinds: Kinds = KINDS): Promise<Listed> {
  const { id, lane, folder } = place;
  if (lane === 'baseline' || lane === 'new') return listedSuite(place, life);
  const kind = (await kindNamed(kinds, lane)) ?? (await KINDS.script());
  const { runId, startedAt, status, subject, durationMs, recovered, attempt } = kind.summarize(folder);
  return {
    id: runId ?? id,
    kind: lane,
    folder,
    startedAt: startedAt ?? plannedAt(folder, life),
    status: statusOf(life, status),
    subject,
    durationMs,
    ...(recovered && { recovered }),
    ...(attempt && { attempt }),
    ...(runId !== undefined && runId !== id && { renamed: true }),
  };
}

/** When an unfinished run began, as its journal proves; undefined if it does not. */
function plannedAt(folder: string, life: Life): string | undefined {
  if (life !== 'alive' && life !== 'dead') return undefined;
  try {
    const { plan, isOurs } = openRun(folder);
    return plan && isOurs ? instantText(plan.startedAtMs) : undefined;
  } catch (error) {
    // The run may have ended meanwhile.
    if (!(error instanceof Fault)) throw error;
    return undefined;
  }
}

/** Only a sealed run has a trusted status. */
function statusOf(life: Life, status: string | undefined): string {
  if (life === 'finished') return status ?? 'unreadable';
  return life === 'alive' ? 'running' : 'unfinished';
}

async function listedSuite(place: RunFolder, life: Life): Promise<Listed> {
  const { id, lane, folder } = place;
  if (life !== 'finished') return openSuite(place, life);
  const [{ readRun }, { evaluationSumsIn }] = await Promise.all([
    import('../evidence/suite/suite-folder.ts'),
    import('../evidence/judgement/evaluation-sums.ts'),
  ]);
  const run = readRun(folder);
  const { cases_completed: ok = 0, cases_total: total = 0, duration_ms: durationMs } = run?.stats ?? {};
  const sums = evaluationSumsIn(folder);
  const counts = sums && `, ${sums.summary.passed - sums.summary.unjudged} passed, ${sums.summary.failed} failed`;
  return {
    id: run?.run_id ?? id,
    kind: lane,
    folder,
    startedAt: run && instantText(Date.parse(run.generated_at) - (durationMs ?? 0)),
    status: !run ? 'unreadable' : ok === total ? judgedStatus(sums) : ok === 0 ? 'no answers' : 'in part',
    subject: run && `${lane}, ${ok} of ${counted(total, 'case')}${counts ?? ''}, ${run.base_url}`,
    ...(sums && { judged: sums.summary }),
    durationMs,
    ...(run && run.run_id !== id && { renamed: true }),
  };
}

function judgedStatus(sums: EvaluationSums | undefined): string {
  if (!sums) return 'answered';
  const { total, passed, failed, unjudged } = sums.summary;
  if (sums.gate?.checks.some(({ is_met }) => !is_met)) return 'limit not met';
  if (failed > 0 && passed === unjudged) return 'none passed';
  if (passed < total) return 'not all passed';
  return unjudged === total ? 'answered' : 'passed';
}

/** A running or interrupted suite, with the progress in its journal. */
function openSuite({ id, lane, folder }: RunFolder, life: Life): Listed {
  const { plan, done = 0, startedAtMs } = openSuiteIn(folder) ?? {};
  const { cases, target } = plan?.request ?? {};
  const whom = target && targetName(target);
  return {
    id,
    kind: lane,
    folder,
    startedAt: startedAtMs === undefined ? undefined : instantText(startedAtMs),
    status: statusOf(life, undefined),
    subject: cases ? `${lane}, ${done} of ${cases.count} cases so far, ${whom}` : `${lane}, not started yet`,
    durationMs: undefined,
    ...(cases && { progress: { done, total: cases.count } }),
    ...(target && life === 'dead' && { resume: `proctor run suite --resume ${id}` }),
    ...(target && life === 'foreign' && { resume: foreignResume(id, target.kind) }),
  };
}

export interface Shown extends ScriptFolder {
  readonly place: RunFolder;
  readonly life: Life;
  /** Whether the run folder verifies. */
  readonly isWhole: boolean;
  /** The signing keys that the seal names; null if it is not signed. */
  readonly keyIds: readonly string[] | null;
  /** The internal log, for operators only. */
  readonly log?: readonly LogLine[];
}

export async function showRun(place: RunFolder, withLog: boolean): Promise<Shown> {
  const whole = await wholeness(place.folder);
  const read = readScriptFolder(place.folder);
  const id = read.request?.run_id ?? place.id;
  const life = lifeOf(place);
  const log = withLog ? { log: readLog(place.folder) } : {};
  const shown = { place: { ...place, id }, life, ...whole, ...read, ...log };
  if (!shown.outcome && life === 'finished') {
    throw new Fault(
      'unreadable_run',
      "This is not a script's run folder, or it does not verify. Run proctor verify for details.",
    );
  }
  return shown;
}

/** The run that answers or answered an attempt of a suite; undefined if there is none with this id. */
export function attemptRun(home: string, id: string): RunFolder | undefined {
  if (!room.RUN_ID.test(id)) return undefined;
  const lane = id.slice(0, id.indexOf('_'));
  const folder = path.join(room.attemptsIn(home), 'runs', lane, id);
  return lstatSync(folder, { throwIfNoEntry: false })?.isDirectory() ? { id, lane, folder } : undefined;
}

/** Finds a run by path, id, id prefix, or `latest`. Changes nothing. */
export function runFolderOf(cwd: string, word: string): RunFolder {
  return findRun(homeFrom(cwd), word);
}

/** All runs of a project, newest first, and its folders of runs. */
export function projectRuns(home: string): { readonly places: RunFolder[]; readonly folders: readonly string[] } {
  return { places: room.runsIn(home).reverse(), folders: room.laneFolders(home) };
}
