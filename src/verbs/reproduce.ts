import path from 'node:path';
import { canonicalize } from '../base/canonical.ts';
import { placeOf as placeIn } from '../base/place.ts';
import type { RunResult } from '../contracts/run-result/index.ts';
import { readIntentFolder } from '../evidence/intent/intent-folder.ts';
import { IntentFault } from '../run/intent/intent-fault.ts';
import { checkRunWord, refuseUnknown } from './options.ts';
import { recordingIn, runOrder, type RunIntentOptions } from './run-intent.ts';
import { runFolderOf } from './runs.ts';
import { wholeness } from './whole.ts';

export interface Reproduction {
  /** True if identical byte for byte, except for ids and times. */
  readonly same: boolean;
  /** The first difference. */
  readonly first: { readonly path: string; readonly before: string; readonly now: string } | undefined;
  readonly before: RunResult;
  readonly now: RunResult;
  /** The run folder of the new run. */
  readonly folder: string;
}

/** Runs an intent again from its run folder and compares the results. */
export async function reproduce(word: string, options: ReproduceOptions = {}): Promise<Reproduction> {
  checkRunWord('reproduce', word);
  refuseUnknown('reproduce', options, OPTIONS);
  const { cwd = process.cwd(), ...around } = options;
  const { folder } = runFolderOf(cwd, word);
  const { before, request, intent, profile, keptCredentials } = await recordIn(folder);
  const recording = request.recording !== null ? recordingIn(path.join(folder, 'model_io.json')) : { recording: null };
  const { result: now, folder: newFolder } = await runOrder(
    {
      intent,
      given: request.intent,
      // The intent already contains the answers.
      answers: null,
      profile,
      mode: request.mode,
      modelMode: request.model_mode,
      ...recording,
    },
    { cwd, ...around, ...(keptCredentials && { keepCredentials: true }) },
  );
  const first = firstDifference(canonicalSubset(before), canonicalSubset(now), '');
  return { same: first === undefined, first, before, now, folder: newFolder };
}

type ReproduceOptions = Pick<RunIntentOptions, 'cwd' | 'signingKey' | 'signal' | 'onOutput' | 'onWait' | 'onWarning'>;

const OPTIONS: Record<keyof ReproduceOptions, true> = {
  cwd: true,
  signingKey: true,
  signal: true,
  onOutput: true,
  onWait: true,
  onWarning: true,
};

/** The documents needed to run an intent again. The folder must verify, or they could be anything. */
async function recordIn(folder: string) {
  if (!(await wholeness(folder)).isWhole)
    throw new IntentFault('evidence_invalid', 'The run folder does not verify. Run proctor verify for details.');
  const { result: before, request, intent, policy: profile, outcome } = readIntentFolder(folder);
  if (!before || !request || !intent || !profile)
    throw new IntentFault('evidence_invalid', "The folder is not an intent's run folder.");
  return { before, request, intent, profile, keptCredentials: outcome?.masking?.credentials === 'kept' };
}

/** Drops the values that differ between any two runs. */
function canonicalSubset(result: RunResult): object {
  const { run_id: _, started_at: __, completed_at: ___, sandbox_path: ____, model_io_path: _____, ...rest } = result;
  return rest;
}

/** The first difference between two values, in canonical order. */
function firstDifference(before: unknown, now: unknown, at: string): Reproduction['first'] {
  if (canonicalize(before ?? null) === canonicalize(now ?? null)) return undefined;
  if (isTree(before) && isTree(now) && Array.isArray(before) === Array.isArray(now)) {
    for (const key of [...new Set([...Object.keys(before), ...Object.keys(now)])].sort(byOrder(before))) {
      const place = Array.isArray(before) ? `${at}[${key}]` : placeIn(at, key);
      const found = firstDifference(before[key as never], now[key as never], place);
      if (found) return found;
    }
  }
  return { path: at, before: shown(before), now: shown(now) };
}

function isTree(value: unknown): value is Record<string, unknown> | unknown[] {
  return typeof value === 'object' && value !== null;
}

function byOrder(tree: object): (a: string, b: string) => number {
  return Array.isArray(tree) ? (a, b) => Number(a) - Number(b) : (a, b) => (a < b ? -1 : 1);
}

function shown(value: unknown): string {
  const text = value === undefined ? 'nothing' : canonicalize(value);
  return text.length > SHOWN_UNITS ? `${text.slice(0, SHOWN_UNITS)}…` : text;
}

const SHOWN_UNITS = 120;
