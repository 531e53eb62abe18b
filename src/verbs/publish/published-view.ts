import { existsSync } from 'node:fs';
import path from 'node:path';
import { instantText, parseInstant, systemClock } from '../../base/clock.ts';
import { openRun } from '../../evidence/recovery/recover.ts';
import { printable } from '../../base/printable.ts';
import { homeFrom } from '../../evidence/run-folder/runs.ts';
import { readScriptFolder, type ScriptFolder } from '../../evidence/script/script-folder.ts';
import type { ScriptPlan } from '../../evidence/script/script-run.ts';
import { outputViews } from '../../publish/outputs.ts';
import type { Progress } from '../../publish/progress.ts';
import { noRun, readRecord, recordedRuns, type ScriptRunRecord } from '../../publish/script-runs.ts';
import type { ScriptRunRow, ScriptRunView } from '../../publish/views.ts';
import { scriptSettingsIn } from '../settings.ts';

/** What only the server process knows about a run that has not ended. */
export interface LiveRun {
  /** 1 for the run that starts next; null if unknown. */
  readonly position?: number | null;
  readonly progress?: Progress | null;
  /** When a worker began it. */
  readonly begunAtMs?: number | undefined;
  readonly waitsFor?: string | null;
}

/** A run of a published script as its user sees it: never logs, streams or paths. `isOperator` adds the note for operators. */
export function publishedRunView(cwd: string, runId: string, live: LiveRun = {}, isOperator = false): ScriptRunView {
  const home = homeFrom(cwd);
  const record = readRecord(home, runId);
  if (!record) throw noRun();
  const view = viewOf(home, record, live);
  return isOperator ? { ...view, operator_note: operatorNote(record) } : view;
}

function viewOf(home: string, record: ScriptRunRecord, live: LiveRun): ScriptRunView {
  const folder = runFolder(home, record.runId);
  if (record.refused)
    return { ...unstarted(record), state: refusedState(record), error_summary: record.refused.message };
  if (!existsSync(folder) || isUntaken(record)) return unstartedHere(record, live);
  const documents = readScriptFolder(folder);
  return documents.isOpen || !documents.outcome
    ? running(record, folder, live)
    : ended(record, folder, documents, scriptSettingsIn(home).scan !== undefined);
}

/** The run of a worker counts only once the server has accepted all of it. */
function isUntaken({ sent, taken }: ScriptRunRecord): boolean {
  return sent !== undefined && !taken;
}

/** A run without a folder waits, or a worker runs it. */
function unstartedHere(
  record: ScriptRunRecord,
  { position = null, waitsFor = null, begunAtMs }: LiveRun,
): ScriptRunView {
  if (begunAtMs === undefined) return { ...unstarted(record), position, waits_for: waitsFor };
  return {
    ...unstarted(record),
    state: 'running',
    started_at: instantText(begunAtMs),
    elapsed_ms: Math.max(0, systemClock.now() - begunAtMs),
  };
}

function operatorNote({ refused, taken }: ScriptRunRecord): string | null {
  return (
    refused?.why ?? (taken ? `Worker ${printable(taken.worker)} made this run. Its key is ${taken.key_id}.` : null)
  );
}

function refusedState({ refused }: ScriptRunRecord): 'failed' | 'stopped' | 'lost' {
  if (refused?.code === 'cancelled') return 'stopped';
  return LOST_CODES.has(refused?.code ?? '') ? 'lost' : 'failed';
}

/** A worker had begun the run, and there is no result that counts. */
const LOST_CODES: ReadonlySet<string> = new Set(['worker_lost', 'worker_failed', 'result_refused']);

function runFolder(home: string, runId: string): string {
  return path.join(home, 'runs', 'script', runId);
}

function unstarted({ runId, ordered }: ScriptRunRecord): ScriptRunView {
  const { published, title, at } = ordered;
  return {
    run_id: runId,
    script: { name: published.name, version: published.version, title },
    state: 'waiting',
    position: null,
    waits_for: null,
    ordered_at: at,
    started_at: null,
    ended_at: null,
    elapsed_ms: null,
    progress: null,
    html_output: null,
    error_summary: null,
    operator_note: null,
    correlation_id: null,
    files: [],
    files_omitted: 0,
    outputs_expired_at: null,
  };
}

function running(record: ScriptRunRecord, folder: string, { progress = null }: LiveRun): ScriptRunView {
  const { startedAtMs, correlationId } = planIn(folder) ?? {};
  return {
    ...unstarted(record),
    state: 'running',
    started_at: startedAtMs === undefined ? null : instantText(startedAtMs),
    elapsed_ms: startedAtMs === undefined ? null : Math.max(0, systemClock.now() - startedAtMs),
    progress,
    correlation_id: correlationId ?? null,
  };
}

/** Undefined while the journal is being written or removed. */
function planIn(folder: string): ScriptPlan | undefined {
  try {
    const { plan, isOurs } = openRun(folder);
    return isOurs ? (plan as ScriptPlan | undefined) : undefined;
  } catch {
    return undefined;
  }
}

function ended(
  record: ScriptRunRecord,
  folder: string,
  { outcome, result, metadata }: ScriptFolder,
  isScanned: boolean,
): ScriptRunView {
  const { correlation_id = null } = outcome ?? {};
  const files = outputViews(folder, record, isScanned);
  const [startedAt, endedAt] = [metadata?.started_at ?? null, metadata?.ended_at ?? null];
  const isExpired = record.expired.outputs !== undefined;
  return {
    ...unstarted(record),
    state: endedState(outcome),
    started_at: startedAt,
    ended_at: endedAt,
    elapsed_ms: elapsed(startedAt, endedAt),
    html_output: isExpired ? null : (result?.html_output ?? null),
    error_summary: result?.error_summary ?? null,
    correlation_id,
    files: files.slice(0, FILES_MAX),
    files_omitted: Math.max(0, files.length - FILES_MAX),
    outputs_expired_at: record.expired.outputs ?? null,
  };
}

/** Its user stopped the run, or the server did when it died. */
function endedState(outcome: ScriptFolder['outcome']): ScriptRunView['state'] {
  const { status = 'failed', reason } = outcome ?? {};
  return reason === 'cancelled' || (reason === 'interrupted' && status === 'failed') ? 'stopped' : status;
}

/** A page lists this many files. The archive has them all. */
const FILES_MAX = 1_000;

function elapsed(from: string | null, to: string | null): number | null {
  const [fromMs, toMs] = [parseInstant(from ?? ''), parseInstant(to ?? '')];
  return fromMs === undefined || toMs === undefined ? null : toMs - fromMs;
}

/**
 * The runs of published scripts by person. The first line of a record never changes, so each is read once: a person
 * with few runs does not make the server read the records of all others again.
 */
export class ScriptRunList {
  readonly #home: string;
  readonly #orderers = new Map<string, string>();

  constructor(home: string) {
    this.#home = home;
  }

  /** The person who ordered a run; undefined if there is no such run. */
  ordererOf(runId: string): string | undefined {
    const known = this.#orderers.get(runId) ?? readRecord(this.#home, runId)?.ordered.by;
    if (known !== undefined) this.#orderers.set(runId, known);
    return known;
  }

  /** The runs that a person ordered, newest first. */
  page({ by, limit, after, isRunning = () => false }: ScriptRunPage): {
    readonly rows: readonly ScriptRunRow[];
    readonly next: string | null;
  } {
    const runIds = recordedRuns(this.#home);
    this.#forget(runIds);
    const rows: ScriptRunRow[] = [];
    for (const runId of runIds) {
      if ((after !== undefined && runId >= after) || this.ordererOf(runId) !== by) continue;
      if (rows.length === limit) return { rows, next: rows.at(-1)?.run_id ?? null };
      const record = readRecord(this.#home, runId);
      if (record) rows.push(rowOf(this.#home, record, isRunning));
    }
    return { rows, next: null };
  }

  #forget(runIds: readonly string[]): void {
    if (this.#orderers.size <= 2 * runIds.length) return;
    const there = new Set(runIds);
    for (const runId of this.#orderers.keys()) if (!there.has(runId)) this.#orderers.delete(runId);
  }
}

interface ScriptRunPage {
  readonly by: string;
  readonly limit: number;
  readonly after?: string;
  /** Whether a worker runs it. */
  readonly isRunning?: (runId: string) => boolean;
}

function rowOf(home: string, record: ScriptRunRecord, isRunning: (runId: string) => boolean): ScriptRunRow {
  const { runId } = record;
  const folder = runFolder(home, runId);
  const { script, ordered_at } = unstarted(record);
  const common = { run_id: runId, script, ordered_at, ended_at: null };
  if (record.refused) return { ...common, state: refusedState(record) };
  if (!existsSync(folder) || isUntaken(record)) return { ...common, state: isRunning(runId) ? 'running' : 'waiting' };
  const { isOpen, outcome, metadata } = readScriptFolder(folder);
  if (isOpen || !outcome) return { ...common, state: 'running' };
  return { ...common, state: endedState(outcome), ended_at: metadata?.ended_at ?? null };
}
