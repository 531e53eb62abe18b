import { existsSync } from 'node:fs';
import path from 'node:path';
import { setImmediate as others } from 'node:timers/promises';
import { removeTorn, writeAtomic } from '../base/atomic.ts';
import { canonicalize } from '../base/canonical.ts';
import { type Clock, instantText, systemClock } from '../base/clock.ts';
import { Fault } from '../base/fault.ts';
import { fileHash } from '../base/file-hash.ts';
import type { ContentHash } from '../base/hash.ts';
import { VERSION } from '../base/version.ts';
import type { CaseArtifact } from '../contracts/artifacts/index.ts';
import { evaluation as contract, type Evaluation, type JudgedCase, summaryOf } from '../contracts/evaluation/index.ts';
import { documentIn } from '../evidence/read.ts';
import { CASES, readCaseArtifact, readSuite, suiteCases, type SuiteFolder } from '../evidence/suite-folder.ts';
import type { JudgeApart } from './apart.ts';
import type { RunCheck } from './check.ts';
import { Effort, STEPS_HERE_MAX } from './effort.ts';
import { judgeCase } from './judge-case.ts';

/** Who judges, beside the documents. */
export interface Judging {
  /** Runs the scripts that cases are judged by. */
  readonly runCheck: RunCheck;
  /** Judges cases whose patterns take long. Without it, such expectations are not judged. */
  readonly judgeApart?: JudgeApart;
  readonly clock?: Clock;
  /** Stops the evaluation when it is aborted. */
  readonly signal?: AbortSignal;
}

/** Where the evaluation of a run lies in its folder. */
const EVALUATION = 'evaluation.json';

/** The evaluation of a sealed run: the one that lies in its folder, if this judge gave it on this seal, else a new one. */
export async function evaluationOf(
  folder: string,
  { again = false, ...judging }: Judging & { readonly again?: boolean },
): Promise<Evaluation> {
  const known = again ? undefined : knownEvaluation(folder);
  if (known) return known;
  const evaluation = await evaluateSuite(folder, judging);
  writeEvaluation(folder, evaluation);
  return evaluation;
}

function knownEvaluation(folder: string): Evaluation | undefined {
  if (!existsSync(path.join(folder, EVALUATION))) return undefined;
  const { run, sealSha256 } = readSuite(folder);
  const known = documentIn(folder, EVALUATION, contract) as Evaluation | undefined;
  const isOfThisRun = known?.seal_sha256 === sealSha256 && known?.run_id === run.run_id;
  return isOfThisRun && known?.judge_version === VERSION ? known : undefined;
}

/** Judges every case of a sealed run by what lies in its folder, one artifact at a time. Writes nothing. */
export async function evaluateSuite(folder: string, { clock = systemClock, ...judging }: Judging): Promise<Evaluation> {
  const suite = readSuite(folder);
  const { run, sealSha256 } = suite;
  if (sealSha256 === undefined) {
    throw new Fault('not_sealed', 'The run has no seal, so nothing tells whether it is whole. It is not judged.');
  }
  const cases_sha256 = casesHash(suite);
  const cases = await judgeAll(suite, judging);
  return {
    schema_version: 'evaluation.v1',
    run_id: run.run_id,
    version: run.version,
    generated_at: instantText(clock.now()),
    judge_version: VERSION,
    seal_sha256: sealSha256,
    cases_sha256,
    summary: summaryOf(cases),
    cases,
  };
}

/** Writes an evaluation into the folder of its run, whole or not at all; an older one is replaced. */
export function writeEvaluation(folder: string, evaluation: Evaluation): void {
  const text = canonicalize(evaluation);
  if (Buffer.byteLength(text) > contract.bytesMax) throw tooLarge();
  const file = path.join(folder, EVALUATION);
  removeTorn(file, systemClock.now());
  writeAtomic(file, text);
}

async function judgeAll(
  suite: SuiteFolder,
  { runCheck, judgeApart, signal }: Omit<Judging, 'clock'>,
): Promise<JudgedCase[]> {
  const { folder, run } = suite;
  const selected = new Set(run.selected_case_ids);
  const judged: (JudgedCase | Promise<JudgedCase>)[] = [];
  const checks = new Set<Promise<unknown>>();
  let bytes = 0;
  let steps = 0;
  try {
    for (const asked of suiteCases(folder)) {
      // A case that stands there twice was taken out at its first time.
      if (!selected.delete(asked.id)) continue;
      const effort = new Effort({ here: STEPS_HERE_MAX });
      const one = judgeCase(asked, artifactOf(suite, asked.id), { folder, runCheck, effort, judgeApart });
      judged.push(one);
      if (one instanceof Promise) {
        const check: Promise<unknown> = one.then(NOTHING, NOTHING).finally(() => checks.delete(check));
        checks.add(check);
        if (checks.size >= CHECKS_AT_ONCE) await Promise.race(checks);
      } else bytes += bytesOf(one);
      if (bytes > contract.bytesMax) throw tooLarge();
      steps += effort.taken;
      if (judged.length % CASES_AT_ONCE === 0 || steps > STEPS_HERE_MAX) {
        steps = 0;
        await others();
      }
      if (signal?.aborted) throw new Fault('cancelled', 'The evaluation was cancelled.');
    }
    const cases: JudgedCase[] = [];
    for (const one of judged) cases.push(one instanceof Promise ? await one : one);
    if (signal?.aborted) throw new Fault('cancelled', 'The evaluation was cancelled.');
    if (selected.size > 0) throw new Fault('cases_broken', 'The run chose cases that are not among those it sent.');
    return cases;
  } finally {
    await Promise.all(checks);
  }
}

const NOTHING = (): void => undefined;

/** Each is a sandbox; the machine has a bound of its own over all of them. */
const CHECKS_AT_ONCE = 4;

/** Others in this process must get their turn, and among them whoever wants to stop this. */
const CASES_AT_ONCE = 256;

/** About how much an entry will take, seen early enough. */
function bytesOf({ assertions }: JudgedCase): number {
  let bytes = CASE_BYTES;
  for (const { message } of assertions) bytes += ASSERTION_BYTES + (message?.length ?? 0);
  return bytes;
}

const CASE_BYTES = 300;
const ASSERTION_BYTES = 60;

/** An artifact in the file of another case, or of the other side, is none of this one. */
function artifactOf({ folder, run }: SuiteFolder, id: string): CaseArtifact | undefined {
  const artifact = readCaseArtifact(folder, id);
  return artifact?.case_id === id && artifact.version === run.version ? artifact : undefined;
}

function casesHash({ folder, request }: SuiteFolder): ContentHash {
  const hash = fileHash(path.join(folder, CASES));
  if (hash === undefined) throw new Fault('cases_missing', 'The cases of the run are not in its folder.');
  if (hash !== request.cases.sha256) {
    throw new Fault('cases_changed', 'The cases in the folder are not those that were sent. proctor verify says more.');
  }
  return hash;
}

function tooLarge(): Fault {
  return new Fault('evaluation_too_large', 'The evaluation would be larger than it may be, 256 MiB. Split the suite.');
}
