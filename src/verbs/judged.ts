import path from 'node:path';
import { Fault } from '../base/fault.ts';
import { printable } from '../base/printable.ts';
import { VERSION } from '../base/version.ts';
import { type Evaluation, evaluation as contract } from '../contracts/evaluation/index.ts';
import type { Checker, Signer } from '../contracts/seal/index.ts';
import { repetitionId, type SuiteCase } from '../contracts/suite/index.ts';
import { evaluationIn, findEvaluation, runSigners } from '../evidence/judgement/evaluation-files.ts';
import type { SealState, Untrusted } from '../evidence/judgement/judgement.ts';
import { attemptsIn } from '../evidence/run-folder/runs.ts';
import { NO_SEAL, notAsSealed, SealedFolder, sealDifference } from '../evidence/run-folder/sealed-folder.ts';
import { readSuiteFolder } from '../evidence/suite/suite-folder.ts';
import type { RunCheck } from '../judge/suite/check.ts';
import type { CaseName } from '../judge/compare-input.ts';
import { evaluateSuite, isSealedSo, type Judging, writeEvaluation } from '../judge/suite/evaluate.ts';
import type { HeldAnswers } from '../judge/suite/held-answers.ts';
import { type Earlier, earlierFrom } from '../judge/suite/run-limits.ts';
import { caseName } from '../judge/compare/side.ts';
import { withThread } from './judge-thread.ts';
import { sharedLauncher } from './launcher.ts';

export interface JudgeContext {
  readonly home: string;
  readonly signal?: AbortSignal;
  /** Judges again, even if the folder has an evaluation. */
  readonly again?: boolean;
  /** The key that verifies evaluation signatures. */
  readonly key?: Checker | undefined;
}

/** Whether an evaluation matches its seal, and what Proctor did if it does not. */
export interface SealNotice {
  /** The id of the run or comparison. */
  readonly id: string;
  readonly state: SealState;
  /** What is wrong with it; null if nothing is. */
  readonly message: string | null;
  /**
   * `as_sealed`: the stored evaluation is used. `again`: Proctor judged the run again. `not`: no trusted evaluation
   * exists.
   */
  readonly judged: 'as_sealed' | 'again' | 'not';
}

export interface EvaluatedRun {
  readonly evaluation: Evaluation;
  /** The hash of the evaluation's seal, if it has one. */
  readonly seal: string | undefined;
  readonly told: SealNotice;
  /** The names of its cases; undefined if the cases were not read to judge the run. */
  readonly names?: ReadonlyMap<string, CaseName>;
}

/**
 * The evaluation of a sealed run. An evaluation that does not match the run's seal is never read, and the run is judged
 * again. With `wants: 'anew'`, a run without check scripts is judged again even if its evaluation matches, because
 * judging answers costs no more than reading verdicts. Writes nothing to the run folder.
 */
export async function judgedRun(
  folder: string,
  judge: JudgeContext,
  wants: 'anew' | 'as sealed',
): Promise<EvaluatedRun> {
  let sealed = wants === 'anew' ? await sealedRun(folder) : undefined;
  const found = findEvaluation(folder, contract, judge.key);
  const ours = found.state === 'sound' && found.seal.statement.predicate.judge_version === VERSION ? found : undefined;
  let doubt: Untrusted | undefined;
  if (ours && !judge.again && sealed?.hasChecks !== false) {
    const known = evaluationIn(ours, contract);
    if (!('why' in known)) return asSealed(known as Evaluation, ours.seal.sha256);
    doubt = known;
  }
  sealed ??= await sealedRun(folder);
  // The earlier repetitions may have been moved since. The seal covers their results.
  const earlier = () => (ours && (evaluationIn(ours, contract) as Partial<Evaluation>).gate?.earlier) || undefined;
  const names = new Map<string, CaseName>();
  const onCase = (sent: SuiteCase): unknown => names.set(sent.id, caseName(sent));
  const evaluation = await judgedAsSealed(folder, sealed, { ...checksOf(judge, 'throw'), earlier, onCase });
  const { run_id: id } = evaluation;
  if (!ours) return { evaluation, seal: undefined, told: sealNotice(id, found, 'again'), names };
  if (isSealedSo(evaluation, ours.seal)) return { ...asSealed(evaluation, ours.seal.sha256), names };
  // A check script may give a different verdict the second time; built-in expectations cannot.
  const told = sealNotice(id, doubt ?? (sealed.hasChecks ? found : OTHERWISE), 'again');
  return { evaluation, seal: undefined, told, names };
}

/**
 * The evaluation for `show`: the stored one if it matches its seal, else a new one from the answers alone. `show`
 * starts no programs, so a run with check scripts then has no evaluation.
 */
export async function shownEvaluation(
  folder: string,
  id: string,
  key: Checker | undefined,
): Promise<{ readonly evaluation: Evaluation | undefined; readonly told: SealNotice }> {
  const found = findEvaluation(folder, contract, key);
  if (found.state === 'none') return { evaluation: undefined, told: sealNotice(id, found, 'not') };
  const known = found.state === 'sound' ? evaluationIn(found, contract) : found;
  if (!('why' in known))
    return { evaluation: known as Evaluation, told: sealNotice(id, { state: 'sound' }, 'as_sealed') };
  const { trouble, hasChecks } = await sealDifference(folder);
  if (trouble !== undefined || hasChecks) return { evaluation: undefined, told: sealNotice(id, known, 'not') };
  const evaluation = await withThread(undefined, judgeApart =>
    evaluateSuite(folder, { runCheck: noCheck, judgeApart }),
  );
  return { evaluation, told: sealNotice(id, known, 'again') };
}

const noCheck: RunCheck = () => Promise.resolve({ trouble: 'proctor show does not run check scripts.' });

const OTHERWISE: Untrusted = { state: 'broken', why: 'differs from the result of judging the run again' };

function asSealed(evaluation: Evaluation, seal: string): EvaluatedRun {
  const told = { id: evaluation.run_id, state: 'sound', message: null, judged: 'as_sealed' } as const;
  return { evaluation, seal, told };
}

export function sealNotice(
  id: string,
  found: { readonly state: SealState; readonly why?: string },
  judged: SealNotice['judged'],
): SealNotice {
  const { state, why } = found;
  const message = why === undefined ? null : `The evaluation of ${printable(id)} is not trusted: it ${why}.`;
  return { id, state, message, judged };
}

/**
 * Opens a sealed run to judge it, and checks its files. Artifacts are checked later, as they are read, unless the run
 * has check scripts.
 */
async function sealedRun(folder: string): Promise<SealedFolder> {
  const sealed = SealedFolder.open(folder);
  if (!sealed) throw notAsSealed(folder, NO_SEAL);
  const change = await sealed.firstChange(name => sealed.hasChecks || !isArtifact(name));
  if (change !== undefined) {
    await refuseChanged(folder);
    throw notAsSealed(folder, change);
  }
  return sealed;
}

/** Whether a file may be the artifact of a case. */
function isArtifact(name: string): boolean {
  return !name.includes('/') && name !== 'run.json';
}

/** Judges a run, and returns its evaluation only if every file that the seal lists is unchanged. */
async function judgedAsSealed(
  folder: string,
  sealed: SealedFolder,
  judging: Omit<Judging, 'judgeApart' | 'read'>,
): Promise<Evaluation> {
  try {
    const evaluation = await withThread(judging.signal, judgeApart =>
      evaluateSuite(folder, { ...judging, judgeApart, read: (name, bytesMax) => sealed.read(name, bytesMax) }),
    );
    const change = await sealed.firstChange();
    if (change !== undefined) throw notAsSealed(folder, change);
    return evaluation;
  } catch (error) {
    // A changed file may have caused the error.
    if (!(error instanceof Fault && error.code === 'cancelled')) await refuseChanged(folder);
    throw error;
  }
}

/** Throws if a file differs from the seal, and names the first one in the order of the seal. */
async function refuseChanged(folder: string): Promise<void> {
  const { trouble } = await sealDifference(folder);
  if (trouble !== undefined) throw notAsSealed(folder, trouble);
}

/**
 * Judges a run that this process just finished, and writes the evaluation and its seal to the run folder. `held` are the
 * answers of this session.
 */
export async function judgeOwnRun(
  folder: string,
  judge: JudgeContext,
  signer: Signer | undefined,
  held?: HeldAnswers,
): Promise<Evaluation> {
  const judging = checksOf(judge, 'tell');
  const before = await earlierRepetitions(folder, judge);
  const evaluation = await withThread(judge.signal, judgeApart =>
    evaluateSuite(folder, { ...judging, judgeApart, earlier: () => before, ...(held && { held }) }),
  );
  writeEvaluation(folder, evaluation, signer);
  return evaluation;
}

/**
 * Judges a sealed run whose process died before it had judged it. The run must be as it was sealed, and the key that
 * signed it must sign the evaluation.
 */
export async function judgeLate(folder: string, judge: JudgeContext, signer: Signer | undefined): Promise<void> {
  const sealed = await sealedRun(folder);
  if (runSigners(folder).some(keyId => keyId !== signer?.keyId))
    throw new Fault('other_key', 'The run is signed with a key that is not here, so its evaluation would not count.');
  const before = await earlierRepetitions(folder, judge);
  const evaluation = await judgedAsSealed(folder, sealed, { ...checksOf(judge, 'tell'), earlier: () => before });
  writeEvaluation(folder, evaluation, signer);
}

/** Whether a sealed run has no evaluation, because its process died. A run from elsewhere is judged on request. */
export function isUnjudged(folder: string): boolean {
  const { state } = findEvaluation(folder, contract, undefined);
  return (state === 'none' || state === 'missing') && readSuiteFolder(folder).request.begun_elsewhere === undefined;
}

/** The results of the earlier repetitions, if the run has limits; undefined if one of them cannot be judged. */
async function earlierRepetitions(folder: string, judge: JudgeContext): Promise<Earlier | undefined> {
  const { gate, repetition } = readSuiteFolder(folder).request;
  if (!gate || repetition.total === 1 || repetition.number < repetition.total) return undefined;
  const evaluations: Evaluation[] = [];
  for (let number = 1; number < repetition.total; number++) {
    const place = path.join(path.dirname(folder), repetitionId(repetition.of, number));
    try {
      evaluations.push((await judgedRun(place, judge, 'as sealed')).evaluation);
    } catch (error) {
      if (error instanceof Fault && error.code !== 'cancelled') return undefined;
      throw error;
    }
  }
  return earlierFrom(evaluations);
}

function checksOf(
  { home, signal }: JudgeContext,
  onMachineFault: 'tell' | 'throw',
): { runCheck: RunCheck; signal?: AbortSignal } {
  const stop = signal && { signal };
  const around = { launcher: sharedLauncher, home: attemptsIn(home), onMachineFault, ...stop };
  // Most suites have no check scripts, so the code that runs them is loaded for the first one.
  const runCheck: RunCheck = async check =>
    (await import('../judge/suite/check-script.ts')).checkByScript(around)(check);
  return { runCheck, ...stop };
}
