import path from 'node:path';
import * as z from 'zod/mini';
import { Fault } from '../base/fault.ts';
import { readBelow } from '../base/regular.ts';
import { intentRequest, type IntentRequest } from '../contracts/intent/index.ts';
import type { Contract } from '../contracts/contract.ts';
import { type ScriptRequest, scriptRequest } from '../contracts/script-request/index.ts';
import { runnerShape } from '../contracts/runner/shape.ts';
import { enforcementShape, furtherLimitsShape, observedShape } from '../contracts/script-outcome/shape.ts';
import { record } from '../contracts/shape.ts';
import type { Checker } from '../contracts/seal/index.ts';
import { hasShape, keepsContract } from '../evidence/document.ts';
import type { JournaledPlan } from '../evidence/recovery/kind.ts';
import { openRun } from '../evidence/recovery/recover.ts';
import type { RunFolder } from '../evidence/run-folder/runs.ts';
import { readScriptFolder } from '../evidence/script/script-folder.ts';
import type { RunStanding } from '../reports/pages/evidence-part.ts';
import { intentPage } from '../reports/pages/intent-page.ts';
import { type OpenScriptPlan, scriptPage } from '../reports/pages/script-page.ts';
import type { PageReader } from './run-pages.ts';
import { type Shown, showRun } from './runs.ts';
import { showIntent } from './show-intent.ts';

/** The page of a script run; undefined for another kind of run. */
export const scriptPageReader: PageReader = async (place, key) => {
  const plan = openPlan(place);
  const planned = requestOf(plan, scriptRequest) as ScriptRequest | undefined;
  const { request: stored, outcome } = readScriptFolder(place.folder);
  if (!stored && !outcome && !planned && place.lane !== 'script') return undefined;
  const shown = await showRun(place, false);
  return scriptPage({
    ...shown,
    request: shown.request ?? planned,
    plan: scriptPlanOf(plan),
    ...standing(shown, key),
    ...streams(place, 'script'),
  });
};

/** The page of an intent run; undefined for another kind of run. */
export const intentPageReader: PageReader = async (place, key) => {
  const shown = await showIntent(place, false);
  if (!shown) return undefined;
  if (shown.life === 'finished' && !shown.result)
    throw new Fault('unreadable_run', 'The result of this intent cannot be read. Run proctor verify for details.');
  const request = shown.request ?? (requestOf(openPlan(place), intentRequest) as IntentRequest | undefined);
  return intentPage({ ...shown, request, ...standing(shown, key), ...streams(place, 'intent') });
};

/** The plan in the journal of an unfinished run. Only a journal from this user and machine is trusted. */
function openPlan({ folder }: RunFolder): JournaledPlan | undefined {
  try {
    const { plan, isOurs } = openRun(folder);
    return isOurs ? plan : undefined;
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    return undefined;
  }
}

function requestOf(plan: JournaledPlan | undefined, contract: Contract): unknown {
  return plan && keepsContract(plan.request, contract) ? plan.request : undefined;
}

/** Another version of Proctor may have written the journal, so its form is checked. */
function scriptPlanOf(plan: JournaledPlan | undefined): OpenScriptPlan | undefined {
  return plan && hasShape(plan, scriptPlanShape) ? (plan as unknown as OpenScriptPlan) : undefined;
}

const scriptPlanShape = record({
  runner: z.omit(runnerShape, { timing: true, exit: true }),
  enforcement: enforcementShape,
  limits: furtherLimitsShape,
  observed: observedShape,
});

function standing(
  { place, life, isWhole, keyIds }: Pick<Shown, 'place' | 'life' | 'isWhole' | 'keyIds'>,
  key: Checker | undefined,
): RunStanding & { readonly id: string } {
  return { id: place.id, folder: place.folder, life, isWhole, keyIds, key, word: runWord(place.folder) };
}

/** How commands name a run: by its folder's name in a project, elsewhere by a path that reveals nothing about the machine. */
function runWord(folder: string): string {
  const name = path.basename(folder);
  const isInProject = path.basename(path.resolve(folder, '../../..')) === '.proctor';
  const relative = path.relative(process.cwd(), folder);
  return isInProject || relative === '' || relative.startsWith('..') || path.isAbsolute(relative) ? name : relative;
}

function streams(
  { folder }: RunFolder,
  step: 'script' | 'intent',
): { readonly streamBytes: (name: 'stdout' | 'stderr') => Uint8Array | undefined } {
  return { streamBytes: name => readBelow(folder, `evidence/steps/${step}/${name}.txt`, STREAM_BYTES_MAX) };
}

/** Proctor keeps at most 64 MiB of a stream, and a line about missing bytes. */
const STREAM_BYTES_MAX = 65 * 1024 ** 2;
