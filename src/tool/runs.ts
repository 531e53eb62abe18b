import { instantText } from '../base/clock.ts';
import { Fault } from '../base/fault.ts';
import type { LogLine, ScriptFolder } from '../evidence/read.ts';
import type { RunPlace } from '../evidence/runs.ts';
import { signerAt } from './keys.ts';
import { lifeOf, openSuiteIn, type Recovered, recoverIfDead } from './recover.ts';

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
  /** Cases of a suite that is not finished. */
  readonly progress?: { readonly done: number; readonly total: number };
  /** The command that goes on with it. */
  readonly resume?: string;
  /** The folder has the name of another run, or of none. */
  readonly renamed?: true;
}

/** All runs, the newest first. A dead one that is met is completed, and none is removed. */
export async function listRuns(
  cwd: string,
  limit: number,
  signingKey?: string,
): Promise<{ readonly runs: Listed[]; readonly total: number }> {
  const room = await import('../evidence/runs.ts');
  const home = room.homeFrom(cwd);
  const places = room.listRuns(home).reverse();
  const runs: Listed[] = [];
  const signer = () => signerAt(cwd, signingKey);
  for (const place of places.slice(0, limit)) runs.push(await listed(place, await recoverIfDead(home, place, signer)));
  return { runs, total: places.length };
}

async function listed(place: RunPlace, recovered: Recovered | undefined): Promise<Listed> {
  const { id, lane, folder } = place;
  if (lane === 'baseline' || lane === 'new') return listedSuite(place, recovered);
  if (lane === 'intent') return listedIntent(place, recovered);
  if (lane === 'agent') return listedAgent(place, recovered);
  const { readScriptFolder } = await import('../evidence/read.ts');
  const { isOpen, request, runner, outcome } = readScriptFolder(folder);
  const open = recovered?.became === 'alive' ? 'running' : 'unfinished';
  return {
    id: request?.run_id ?? id,
    kind: lane,
    folder,
    startedAt: runner?.timing.started_at,
    status: outcome?.status ?? (isOpen ? open : 'unreadable'),
    subject: request?.script.name,
    durationMs: runner?.timing.duration_ms,
    ...(request && request.run_id !== id && { renamed: true }),
  };
}

async function listedIntent({ id, lane, folder }: RunPlace, recovered: Recovered | undefined): Promise<Listed> {
  const { readIntentFolder } = await import('../evidence/intent-folder.ts');
  const { request, result } = readIntentFolder(folder);
  const open = recovered?.became === 'alive' ? 'running' : 'unfinished';
  const planned = request?.mode === 'plan-only' && result?.kernel_result_kind === 'BUNDLE' ? ', only planned' : '';
  const took = result && Date.parse(result.completed_at) - Date.parse(result.started_at);
  return {
    id: request?.run_id ?? id,
    kind: lane,
    folder,
    startedAt: result?.started_at,
    status: result ? (result.decision.accepted ? 'accepted' : 'rejected') : recovered ? open : 'unreadable',
    subject: result && `${result.intent.path}, ${result.kernel_result_kind}${planned}`,
    durationMs: took,
    ...(request && request.run_id !== id && { renamed: true }),
  };
}

async function listedAgent({ id, lane, folder }: RunPlace, recovered: Recovered | undefined): Promise<Listed> {
  const { openAgentIn, readAgentFolder } = await import('../evidence/agent-folder.ts');
  const { request, outcome, metadata } = readAgentFolder(folder);
  const plan = outcome ? undefined : openAgentIn(folder);
  const family = outcome?.agent.family ?? plan?.agent.family;
  const task = request?.rendered_task_text ?? plan?.asked.rendered_task_text;
  const open = recovered?.became === 'alive' ? 'running' : 'unfinished';
  const { started_at: startedAt, ended_at: endedAt } = metadata ?? {};
  return {
    id: outcome?.run_id ?? id,
    kind: lane,
    folder,
    startedAt: startedAt ?? (plan && instantText(plan.startedAtMs)),
    status: outcome?.termination ?? (recovered ? open : 'unreadable'),
    subject: family && `${family.replace(/_cli$/, '')}: ${firstWords(task ?? '')}`,
    durationMs: outcome && startedAt && endedAt ? Date.parse(endedAt) - Date.parse(startedAt) : undefined,
    ...(outcome && outcome.run_id !== id && { renamed: true }),
  };
}

/** As much of a task as stands on one line of a list. */
function firstWords(task: string): string {
  const [line = ''] = task.trim().split('\n', 1);
  return line.length > WORDS_UNITS_MAX ? `${line.slice(0, WORDS_UNITS_MAX).trimEnd()}…` : line;
}

const WORDS_UNITS_MAX = 60;

async function listedSuite(place: RunPlace, recovered: Recovered | undefined): Promise<Listed> {
  const { id, lane, folder } = place;
  const { readRun } = await import('../evidence/suite-folder.ts');
  const run = readRun(folder);
  if (!run && recovered) return openSuite(place, recovered);
  const { cases_completed: ok = 0, cases_total: total = 0, duration_ms: durationMs } = run?.stats ?? {};
  return {
    id: run?.run_id ?? id,
    kind: lane,
    folder,
    startedAt: run && instantText(Date.parse(run.generated_at) - (durationMs ?? 0)),
    status: run ? (ok === total ? 'answered' : 'in part') : 'unreadable',
    subject: run && `${lane}, ${ok} of ${total} cases, ${run.base_url}`,
    durationMs,
    ...(run && run.run_id !== id && { renamed: true }),
  };
}

/** A suite that is running, or was interrupted: how far it has come, by its journal. */
async function openSuite({ id, lane, folder }: RunPlace, { became }: Recovered): Promise<Listed> {
  const { plan, done = 0, startedAtMs } = (await openSuiteIn(folder)) ?? {};
  const { targetName } = await import('../contracts/suite/index.ts');
  const isRunning = became === 'alive';
  const { cases, target } = plan?.request ?? {};
  const whom = target && targetName(target);
  return {
    id,
    kind: lane,
    folder,
    startedAt: startedAtMs === undefined ? undefined : instantText(startedAtMs),
    status: isRunning ? 'running' : 'unfinished',
    subject: cases ? `${lane}, ${done} of ${cases.count} cases so far, ${whom}` : `${lane}, not begun yet`,
    durationMs: undefined,
    ...(cases && { progress: { done, total: cases.count } }),
    ...(became === 'resumable' && { resume: `proctor run suite --resume ${id}` }),
  };
}

export interface Shown extends ScriptFolder {
  readonly place: RunPlace;
  /** It is under way on this machine. */
  readonly isRunning: boolean;
  /** The folder verifies: it is as it was sealed. */
  readonly isWhole: boolean;
  /** The keys that the seal says it is signed with; null if it is not. */
  readonly keyIds: readonly string[] | null;
  /** What only those who run Proctor should read. */
  readonly log?: readonly LogLine[];
}

/** One run. */
export async function showRun(place: RunPlace, withLog: boolean): Promise<Shown> {
  const { readLog, readScriptFolder } = await import('../evidence/read.ts');
  const { wholeness } = await import('./whole.ts');
  const whole = await wholeness(place.folder);
  const read = readScriptFolder(place.folder);
  const id = read.request?.run_id ?? place.id;
  const isRunning = read.isOpen && (await lifeOf(place)) === 'alive';
  const log = withLog ? { log: readLog(place.folder) } : {};
  const shown = { place: { ...place, id }, isRunning, ...whole, ...read, ...log };
  if (!shown.outcome && !shown.isOpen) {
    throw new Fault(
      'unreadable_run',
      'This folder does not hold the run of a script that can be believed. proctor verify says why.',
    );
  }
  return shown;
}

/** Where a run lies, completed if it was dead and is one of this place. */
export async function placeOf(cwd: string, word: string, signingKey?: string): Promise<RunPlace> {
  const { findRun, homeFrom } = await import('../evidence/runs.ts');
  const home = homeFrom(cwd);
  const place = findRun(home, word);
  await recoverIfDead(home, place, () => signerAt(cwd, signingKey));
  return place;
}
