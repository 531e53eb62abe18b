import { existsSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { isAllFailing } from '../contracts/evaluation/index.ts';
import type { Checker } from '../contracts/seal/index.ts';
import { readAgentFolder } from '../evidence/agent/agent-folder.ts';
import { readIntentFolder } from '../evidence/intent/intent-folder.ts';
import type { JournaledPlan } from '../evidence/recovery/kind.ts';
import type { RunFolder } from '../evidence/run-folder/runs.ts';
import { readScriptFolder } from '../evidence/script/script-folder.ts';
import { readRun } from '../evidence/suite/suite-folder.ts';
import { shownEvaluation } from './judged.ts';
import { isOwnerAlive } from './recover.ts';

/** The exit code that the command of a sealed run returns: 0 if it succeeded, else 1. */
export async function runExitCode(place: RunFolder, key: Checker | undefined): Promise<0 | 1> {
  return (await isFine(place, key)) ? 0 : 1;
}

async function isFine({ id, lane, folder }: RunFolder, key: Checker | undefined): Promise<boolean> {
  const run = readRun(folder);
  if (lane === 'script') return readScriptFolder(folder).outcome?.status === 'succeeded';
  if (lane === 'intent') return readIntentFolder(folder).result?.decision.accepted === true;
  if (lane === 'agent') {
    const { outcome, policy, checks } = readAgentFolder(folder);
    const areChecksFine = checks.every(({ verdict }) => verdict === 'passed');
    return outcome?.termination === 'completed' && policy?.violations.length === 0 && areChecksFine;
  }
  if (!run || run.stats?.cases_failed !== 0) return false;
  const { evaluation } = await shownEvaluation(folder, id, key);
  if (!evaluation) return false;
  const areLimitsMet = evaluation.gate?.checks.every(({ is_met }) => is_met) ?? true;
  return areLimitsMet && !isAllFailing(evaluation.cases);
}

/** Waits until a sealed suite is judged, or its process has ended. Returns after 10 minutes at the latest. */
export async function untilJudged(
  { folder }: RunFolder,
  owner: JournaledPlan['owner'] | undefined,
  signal: AbortSignal,
): Promise<void> {
  const isOpen = (): boolean =>
    !existsSync(path.join(folder, 'evaluation.seal.json')) && isOwnerAlive({ plan: owner && { owner } });
  for (let waitedMs = 0; waitedMs < JUDGED_MS_MAX && !signal.aborted && isOpen(); waitedMs += LOOK_MS)
    await wait(LOOK_MS);
}

const JUDGED_MS_MAX = 10 * 60_000;
const LOOK_MS = 50;
