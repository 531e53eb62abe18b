import { instantText } from '../base/clock.ts';
import { Fault } from '../base/fault.ts';
import type { Evaluation } from '../contracts/evaluation/index.ts';
import type { RecoveredNote } from '../contracts/script-outcome/shape.ts';
import { targetName } from '../contracts/suite/index.ts';
import { openAgentIn, readAgentFolder } from '../evidence/agent-folder.ts';
import type { EvaluationSums } from '../evidence/evaluation-sums.ts';
import { readIntentFolder } from '../evidence/intent-folder.ts';
import { type LogLine, readLog, readScriptFolder, type ScriptFolder } from '../evidence/read.ts';
import { findRun, homeFrom, type RunPlace } from '../evidence/runs.ts';
import * as room from '../evidence/runs.ts';
import { type Life, lifeOf, openSuiteIn } from './recover.ts';
import { foreignResume } from './suite-words.ts';
import { wholeness } from './whole.ts';

/** A run as a list shows it. */
export interface Listed {
  /** As the run itself has it; its folder may have been given another name. */
  readonly id: string;
  readonly kind: string;
  readonly folder: string;
  readonly startedAt: string | undefined;
  /** What it ended with, or that it has not. */
  readonly status: string;
  readonly subject: string | undefined;
  readonly durationMs: number | undefined;
  /** How many cases of a suite passed and failed, where it was judged. */
  readonly judged?: Evaluation['summary'];
  /** Cases of a suite that is not finished. */
  readonly progress?: { readonly done: number; readonly total: number };
  /** It was interrupted, and completed later; and what is not known of it. */
  readonly recovered?: RecoveredNote;
  /** False for a run that was interrupted and not started here. */
  readonly startedHere?: false;
  /** The command that goes on with it, or completes it. */
  readonly resume?: string;
  /** The folder has the name of another run, or of none. */
  readonly renamed?: true;
}

/** All runs, the newest first. */
export async function listRuns(
  cwd: string,
  limit: number,
): Promise<{ readonly runs: Listed[]; readonly total: number }> {
  const places = room.listRuns(room.homeFrom(cwd)).reverse();
  const runs: Listed[] = [];
  for (const place of places.slice(0, limit)) {
    const life = lifeOf(place);
    const one = await listed(place, life);
    const isDead = life === 'dead' && one.resume === undefined;
    runs.push({
      ...one,
      ...(life === 'foreign' && { startedHere: false }),
      ...(isDead && { resume: 'proctor recover' }),
    });
  }
  return { runs, total: places.length };
}

async function listed(place: RunPlace, life: Life): Promise<Listed> {
  const { id, lane, folder } = place;
  if (lane === 'baseline' || lane === 'new') return listedSuite(place, life);
  if (lane === 'intent') return listedIntent(place, life);
  if (lane === 'agent') return listedAgent(place, life);
  const { request, outcome, metadata } = readScriptFolder(folder);
  const { started_at: startedAt, ended_at: endedAt } = metadata ?? {};
  return {
    id: request?.run_id ?? id,
    kind: lane,
    folder,
    startedAt,
    status: statusOf(life, outcome?.status),
    subject: request?.script.name,
    durationMs: startedAt && endedAt ? Date.parse(endedAt) - Date.parse(startedAt) : undefined,
    ...(outcome?.recovered && { recovered: outcome.recovered }),
    ...(request && request.run_id !== id && { renamed: true }),
  };
}

/** Documents of a run that is not finished may be anything: only a seal closes them. */
function statusOf(life: Life, status: string | undefined): string {
  if (life === 'finished') return status ?? 'unreadable';
  return life === 'alive' ? 'running' : 'unfinished';
}

function listedIntent({ id, lane, folder }: RunPlace, life: Life): Listed {
  const { request, result, outcome } = readIntentFolder(folder);
  const planned = request?.mode === 'plan-only' && result?.kernel_result_kind === 'BUNDLE' ? ', only planned' : '';
  const took = result && Date.parse(result.completed_at) - Date.parse(result.started_at);
  return {
    id: request?.run_id ?? id,
    kind: lane,
    folder,
    startedAt: result?.started_at,
    status: statusOf(life, result && (result.decision.accepted ? 'accepted' : 'rejected')),
    subject: result && `${result.intent.path}, ${result.kernel_result_kind}${planned}`,
    durationMs: took,
    ...(outcome?.recovered && { recovered: outcome.recovered }),
    ...(request && request.run_id !== id && { renamed: true }),
  };
}

function listedAgent({ id, lane, folder }: RunPlace, life: Life): Listed {
  const { request, outcome, metadata } = readAgentFolder(folder);
  const plan = outcome ? undefined : openAgentIn(folder);
  const family = outcome?.agent.family ?? plan?.agent.family;
  const task = request?.rendered_task_text ?? plan?.asked.rendered_task_text;
  const { started_at: startedAt, ended_at: endedAt } = metadata ?? {};
  return {
    id: outcome?.run_id ?? id,
    kind: lane,
    folder,
    startedAt: startedAt ?? (plan && instantText(plan.startedAtMs)),
    status: statusOf(life, outcome?.termination),
    subject: family && `${family.replace(/_cli$/, '')}: ${firstWords(task ?? '')}`,
    durationMs: outcome && startedAt && endedAt ? Date.parse(endedAt) - Date.parse(startedAt) : undefined,
    ...(outcome?.recovered && { recovered: outcome.recovered }),
    ...(outcome && outcome.run_id !== id && { renamed: true }),
  };
}

/** As much of a task as stands on one line of a list. */
function firstWords(task: string): string {
  const [line = ''] = task.trim().split('\n', 1);
  return line.length > WORDS_UNITS_MAX ? `${line.slice(0, WORDS_UNITS_MAX).trimEnd()}…` : line;
}

const WORDS_UNITS_MAX = 60;

async function listedSuite(place: RunPlace, life: Life): Promise<Listed> {
  const { id, lane, folder } = place;
  if (life !== 'finished') return openSuite(place, life);
  const [{ readRun }, { evaluationSumsIn }] = await Promise.all([
    import('../evidence/suite-folder.ts'),
    import('../evidence/evaluation-sums.ts'),
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
    status: !run ? 'unreadable' : ok < total ? 'in part' : judgedStatus(sums),
    subject: run && `${lane}, ${ok} of ${total} cases${counts ?? ''}, ${run.base_url}`,
    ...(sums && { judged: sums.summary }),
    durationMs,
    ...(run && run.run_id !== id && { renamed: true }),
  };
}

/** That every case was answered is good news only where they passed. */
function judgedStatus(sums: EvaluationSums | undefined): string {
  if (!sums) return 'answered';
  const { total, passed, failed, unjudged } = sums.summary;
  if (sums.gate?.checks.some(({ is_met }) => !is_met)) return 'limit not met';
  if (failed > 0 && passed === unjudged) return 'none passed';
  if (passed < total) return 'not all passed';
  return unjudged === total ? 'answered' : 'passed';
}

/** A suite that is running, or was interrupted: how far it has come, by its journal. */
function openSuite({ id, lane, folder }: RunPlace, life: Life): Listed {
  const { plan, done = 0, startedAtMs } = openSuiteIn(folder) ?? {};
  const { cases, target } = plan?.request ?? {};
  const whom = target && targetName(target);
  return {
    id,
    kind: lane,
    folder,
    startedAt: startedAtMs === undefined ? undefined : instantText(startedAtMs),
    status: statusOf(life, undefined),
    subject: cases ? `${lane}, ${done} of ${cases.count} cases so far, ${whom}` : `${lane}, not begun yet`,
    durationMs: undefined,
    ...(cases && { progress: { done, total: cases.count } }),
    ...(target && life === 'dead' && { resume: `proctor run suite --resume ${id}` }),
    ...(target && life === 'foreign' && { resume: foreignResume(id, target.kind) }),
  };
}

export interface Shown extends ScriptFolder {
  readonly place: RunPlace;
  readonly life: Life;
  /** The folder verifies: it is as it was sealed. */
  readonly isWhole: boolean;
  /** The keys that the seal says it is signed with; null if it is not. */
  readonly keyIds: readonly string[] | null;
  /** What only those who run Proctor should read. */
  readonly log?: readonly LogLine[];
}

/** One run. */
export async function showRun(place: RunPlace, withLog: boolean): Promise<Shown> {
  const whole = await wholeness(place.folder);
  const read = readScriptFolder(place.folder);
  const id = read.request?.run_id ?? place.id;
  const life = lifeOf(place);
  const log = withLog ? { log: readLog(place.folder) } : {};
  const shown = { place: { ...place, id }, life, ...whole, ...read, ...log };
  if (!shown.outcome && life === 'finished') {
    throw new Fault(
      'unreadable_run',
      'This folder does not hold the run of a script that can be believed. proctor verify says why.',
    );
  }
  return shown;
}

/** Where the run lies that a word means. Nothing is completed, sealed or removed on the way. */
export function placeOf(cwd: string, word: string): RunPlace {
  return findRun(homeFrom(cwd), word);
}
