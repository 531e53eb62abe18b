import { createHash } from 'node:crypto';
import path from 'node:path';
import { setImmediate as others } from 'node:timers/promises';
import { canonicalize, canonicalPieces } from '../../base/canonical.ts';
import { type Clock, instantText, systemClock } from '../../base/clock.ts';
import { Fault } from '../../base/fault.ts';
import { fileHash } from '../../base/file-hash.ts';
import type { ContentHash } from '../../base/hash.ts';
import { VERSION } from '../../base/version.ts';
import { sumOfRepairs } from '../../contracts/artifacts/repairs.ts';
import type { CaseArtifact } from '../../contracts/artifacts/index.ts';
import {
  evaluation as contract,
  type Evaluation,
  type JudgedCase,
  summaryOf,
} from '../../contracts/evaluation/index.ts';
import type { Signer } from '../../contracts/seal/index.ts';
import type { SuiteCase } from '../../contracts/suite/index.ts';
import { writeEvaluationFiles } from '../../evidence/judgement/evaluation-files.ts';
import type { JudgementSeal } from '../../evidence/judgement/judgement.ts';
import {
  CASES,
  type FileReader,
  readCaseArtifact,
  readSuiteFolder,
  suiteCases,
  type SuiteFolder,
} from '../../evidence/suite/suite-folder.ts';
import type { JudgeApart } from './apart.ts';
import type { RunCheck } from './check.ts';
import { Effort, STEPS_HERE_MAX } from './effort.ts';
import type { HeldAnswers } from './held-answers.ts';
import { judgeCase } from './judge-case.ts';
import { Provenance } from './provenance.ts';
import { type Earlier, judgeLimits } from './run-limits.ts';

export interface Judging {
  /** Runs check scripts. */
  readonly runCheck: RunCheck;
  /** Judges cases whose patterns take a long time. Without it, such expectations are not judged. */
  readonly judgeApart?: JudgeApart;
  /** The results of the earlier repetitions. Called only for the last one, and only if there are limits. */
  readonly earlier?: () => Earlier | undefined;
  readonly clock?: Clock;
  /** Reads artifacts. The default reads them from the folder without checking them against the seal. */
  readonly read?: FileReader;
  /** Answers of a run of this process. The others are read from the folder. */
  readonly held?: HeldAnswers;
  /** Called with every case that was sent, judged or not. */
  readonly onCase?: (sent: SuiteCase) => void;
  readonly signal?: AbortSignal;
}

/** Judges every case of a sealed run from its folder, one artifact at a time. Writes nothing. */
export async function evaluateSuite(
  folder: string,
  { clock = systemClock, earlier = () => undefined, ...judging }: Judging,
): Promise<Evaluation> {
  const suite = readSuiteFolder(folder);
  const { run, sealSha256 } = suite;
  if (sealSha256 === undefined) {
    throw new Fault('not_sealed', 'Cannot judge the run: it has no seal, so nothing proves that it is complete.');
  }
  const cases_sha256 = casesHash(suite);
  const said = new Provenance();
  const cases = await judgeAll(suite, judging, said);
  const provenance = said.seen();
  const repairs = sumOfRepairs(cases.map(one => one.repairs));
  const gate = judgeLimits(suite, cases, earlier);
  return {
    schema_version: 'evaluation.v1',
    run_id: run.run_id,
    version: run.version,
    generated_at: instantText(clock.now()),
    judge_version: VERSION,
    seal_sha256: sealSha256,
    cases_sha256,
    summary: summaryOf(cases),
    ...(gate && { gate }),
    cases,
    ...(provenance && { provenance }),
    ...(repairs && { repairs }),
  };
}

/** Writes an evaluation and its seal into the run folder, and replaces an older one. */
export function writeEvaluation(folder: string, evaluation: Evaluation, signer: Signer | undefined): void {
  const text = canonicalize(evaluation);
  if (Buffer.byteLength(text) > contract.bytesMax) throw tooLarge();
  writeEvaluationFiles(folder, text, evaluation, signer);
}

/** Whether judging the run again gave the evaluation that was sealed, apart from the time. */
export function isSealedSo(evaluation: Evaluation, { statement: { predicate, subject } }: JudgementSeal): boolean {
  const again = createHash('sha256');
  for (const piece of canonicalPieces({ ...evaluation, generated_at: predicate.sealed_at })) again.update(piece);
  return subject[0]?.digest.sha256 === again.digest('hex');
}

async function judgeAll(
  suite: SuiteFolder,
  { runCheck, judgeApart, read, held, onCase, signal }: Omit<Judging, 'clock' | 'earlier'>,
  said: Provenance,
): Promise<JudgedCase[]> {
  const { folder, run } = suite;
  const selected = new Set(run.selected_case_ids);
  const judged: (JudgedCase | Promise<JudgedCase>)[] = [];
  const checks = new Set<Promise<unknown>>();
  let bytes = 0;
  let steps = 0;
  try {
    for (const asked of held?.cases(run.selected_case_ids) ?? suiteCases(folder)) {
      onCase?.(asked);
      // If a case occurs twice, judge it only once.
      if (!selected.delete(asked.id)) continue;
      const effort = new Effort({ here: STEPS_HERE_MAX });
      const artifact = held?.has(asked.id) ? held.artifact(asked.id) : artifactOf(suite, asked.id, read);
      if (artifact) said.take(artifact);
      const one = judgeCase(asked, artifact, { folder, runCheck, effort, judgeApart });
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
    if (selected.size > 0) throw new Fault('cases_broken', 'The run selected cases that it did not send.');
    return cases;
  } finally {
    await Promise.all(checks);
  }
}

const NOTHING = (): void => undefined;

/** Each check runs in a sandbox. A separate limit applies to all programs on the machine. */
const CHECKS_AT_ONCE = 4;

/** How many cases to judge before yielding to the event loop, so that a signal can stop the evaluation. */
const CASES_AT_ONCE = 256;

/** An estimate of an entry's size, to stop early. */
function bytesOf({ assertions, failure }: JudgedCase): number {
  let bytes = CASE_BYTES + (failure?.message?.length ?? 0);
  for (const { message } of assertions) bytes += ASSERTION_BYTES + (message?.length ?? 0);
  return bytes;
}

const CASE_BYTES = 300;
const ASSERTION_BYTES = 60;

/** An artifact of another case or of the other side does not count. */
function artifactOf({ folder, run }: SuiteFolder, id: string, read: FileReader | undefined): CaseArtifact | undefined {
  const artifact = readCaseArtifact(folder, id, read);
  return artifact?.case_id === id && artifact.version === run.version ? artifact : undefined;
}

function casesHash({ folder, request }: SuiteFolder): ContentHash {
  const hash = fileHash(path.join(folder, CASES));
  if (hash === undefined) throw new Fault('cases_missing', 'The run folder does not contain the cases of the run.');
  if (hash !== request.cases.sha256) {
    throw new Fault(
      'cases_changed',
      'The cases in the folder are not those that were sent. Run proctor verify for details.',
    );
  }
  return hash;
}

function tooLarge(): Fault {
  return new Fault('evaluation_too_large', 'The evaluation would exceed 256 MiB. Split the suite.');
}
