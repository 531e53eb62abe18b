import { existsSync } from 'node:fs';
import path from 'node:path';
import { setImmediate as others } from 'node:timers/promises';
import { instantText, parseInstant, systemClock } from '../../base/clock.ts';
import { Fault } from '../../base/fault.ts';
import { durationMs } from '../../base/units.ts';
import { isExpirableLog, isExpirableOutput } from '../../contracts/expiry/index.ts';
import { hasJournal, isSealed } from '../../evidence/recovery/recover.ts';
import { expireFiles } from '../../evidence/run-folder/expired.ts';
import { homeFrom } from '../../evidence/run-folder/runs.ts';
import { readScriptFolder } from '../../evidence/script/script-folder.ts';
import { dropStaged, noteRun, readRecord, recordedRuns, type ScriptRunRecord } from '../../publish/script-runs.ts';
import { readVersion } from '../../publish/versions.ts';
import { signerAt } from '../keys.ts';
import { scriptSettingsIn, type ScriptSettings } from '../settings.ts';
import { scanOutputs } from './scan-outputs.ts';

export interface TendOptions {
  readonly nowMs?: number;
  /** The key that signed the runs; the key in `.proctor` by default. */
  readonly signingKey?: string;
  readonly onWarning?: (sentence: string) => void;
}

export interface Tended {
  /** The runs whose outputs or logs expired now. */
  readonly expired: readonly { readonly runId: string; readonly what: 'outputs' | 'logs' }[];
}

/**
 * Removes outputs and logs of published scripts that are kept no longer. Also completes what a server that died left:
 * files that were not scanned, and inputs of runs that have ended. One run that cannot be tended does not stop the others.
 */
export async function tendScriptRuns(
  cwd: string,
  { nowMs = systemClock.now(), signingKey, onWarning }: TendOptions = {},
): Promise<Tended> {
  const home = homeFrom(cwd);
  const settings = scriptSettingsIn(home);
  const expired: { runId: string; what: 'outputs' | 'logs' }[] = [];
  for (const runId of recordedRuns(home)) {
    // A server answers others between two runs.
    await others();
    const record = readRecord(home, runId);
    const folder = path.join(home, 'runs', 'script', runId);
    if (!record || !existsSync(folder) || !isSealed(folder) || hasJournal(folder)) continue;
    // The server is still taking it from a worker.
    if (record.sent && !record.taken) continue;
    try {
      dropStaged(home, runId);
      for (const what of expiredNow(home, record, folder, settings, nowMs)) {
        const isWanted = what === 'outputs' ? isExpirableOutput : isExpirableLog;
        expireFiles(folder, { isWanted, nowMs, signer: signerAt(cwd, signingKey) });
        noteRun(home, runId, { is: 'expired', at: instantText(nowMs), what });
        expired.push({ runId, what });
      }
      if (settings.scan && !record.scanned && !readRecord(home, runId)?.expired.outputs)
        await scanOutputs(home, folder, runId, onWarning);
    } catch (error) {
      onWarning?.(`${runId}: ${error instanceof Fault ? error.message : 'A file cannot be read or removed.'}`);
    }
  }
  return { expired };
}

/** What of an ended run is kept no longer. The shorter of the server's time and the script's counts. */
function expiredNow(
  home: string,
  { ordered: { published }, expired, taken }: ScriptRunRecord,
  folder: string,
  { keepOutputsMs, keepLogsMs }: ScriptSettings,
  nowMs: number,
): ('outputs' | 'logs')[] {
  // The clock of a worker does not decide how long the server keeps its run.
  const endedMs = parseInstant(taken?.at ?? readScriptFolder(folder).metadata?.ended_at ?? '');
  if (endedMs === undefined) return [];
  const { keep = {} } = readVersion(home, published.name, published.version)?.script ?? {};
  const isOver = (ours: number | undefined, theirs: string | undefined): boolean => {
    const keptMs = Math.min(ours ?? Infinity, theirs === undefined ? Infinity : durationMs(theirs));
    return nowMs - endedMs >= keptMs;
  };
  return [
    ...(expired.outputs === undefined && isOver(keepOutputsMs, keep.outputs) ? (['outputs'] as const) : []),
    ...(expired.logs === undefined && isOver(keepLogsMs, keep.logs) ? (['logs'] as const) : []),
  ];
}
