import path from 'node:path';
import { Fault } from '../base/fault.ts';
import { printable } from '../base/printable.ts';
import { VERSION } from '../base/version.ts';
import { type Evaluation, evaluation as contract } from '../contracts/evaluation/index.ts';
import type { Checker, Signer } from '../contracts/seal/index.ts';
import { repetitionId } from '../contracts/suite/index.ts';
import { evaluationIn, findEvaluation } from '../evidence/evaluation-files.ts';
import type { SealState, Untrusted } from '../evidence/judgement.ts';
import { attemptsIn } from '../evidence/runs.ts';
import { sealTrouble } from '../evidence/sealed-folder.ts';
import { readSuite } from '../evidence/suite-folder.ts';
import { checkByScript } from '../judge/check-script.ts';
import type { RunCheck } from '../judge/check.ts';
import { evaluateSuite, writeEvaluation, isSealedSo } from '../judge/evaluate.ts';
import { type Earlier, earlierFrom } from '../judge/run-limits.ts';
import { withThread } from './judge-thread.ts';
import { sharedLauncher } from './launcher.ts';

export interface Judge {
  readonly home: string;
  readonly signal?: AbortSignal;
  /** Judges again, even if the folder has an evaluation. */
  readonly again?: boolean;
  /** The key that checks the signatures of evaluations. */
  readonly key?: Checker | undefined;
}

/** Whether an evaluation matches its seal, and what Proctor did if it does not. */
export interface Told {
  /** The id of the run or comparison. */
  readonly id: string;
  readonly state: SealState;
  /** What is wrong with it; null if nothing is. */
  readonly message: string | null;
  /** `as_sealed`: the stored evaluation is used. `again`: Proctor judged the run again. `not`: no trusted evaluation exists. */
  readonly judged: 'as_sealed' | 'again' | 'not';
}

export interface JudgedRun {
  readonly evaluation: Evaluation;
  /** The hash of the evaluation's seal, if it has one. */
  readonly seal: string | undefined;
  readonly told: Told;
}

/**
 * The evaluation of a sealed run. An evaluation that does not match the run's seal is never read, and the run is judged
 * again. With `wants: 'anew'`, the run is judged again even if only the seal vouches for the evaluation, because judging
 * answers costs no more than reading verdicts. Writes nothing to the run folder.
 */
export async function judgedRun(folder: string, judge: Judge, wants: 'anew' | 'as sealed'): Promise<JudgedRun> {
  const whole = wants === 'anew' ? await wholeRun(folder) : undefined;
  const found = findEvaluation(folder, contract, judge.key);
  const ours = found.state === 'sound' && found.seal.statement.predicate.judge_version === VERSION ? found : undefined;
  let doubt: Untrusted | undefined;
  if (ours && !judge.again && whole?.hasChecks !== false) {
    const known = evaluationIn(ours, contract);
    if (!('why' in known)) return asSealed(known as Evaluation, ours.seal.sha256);
    doubt = known;
  }
  const { hasChecks } = whole ?? (await wholeRun(folder));
  const judging = checksOf(judge, 'throw');
  // The earlier repetitions may have been moved since. The seal covers their results.
  const earlier = () => (ours && (evaluationIn(ours, contract) as Partial<Evaluation>).gate?.earlier) || undefined;
  const evaluation = await withThread(judge.signal, judgeApart =>
    evaluateSuite(folder, { ...judging, judgeApart, earlier }),
  );
  const { run_id: id } = evaluation;
  if (!ours) return { evaluation, seal: undefined, told: toldOf(id, found, 'again') };
  if (isSealedSo(evaluation, ours.seal)) return asSealed(evaluation, ours.seal.sha256);
  // A check script may give a different verdict the second time; built-in expectations cannot.
  return { evaluation, seal: undefined, told: toldOf(id, doubt ?? (hasChecks ? found : OTHERWISE), 'again') };
}

/**
 * The evaluation for `show`: the stored one if it matches its seal, else a new one from the answers alone. `show` starts no
 * programs, so a run with check scripts then has no evaluation.
 */
export async function shownEvaluation(
  folder: string,
  id: string,
  key: Checker | undefined,
): Promise<{ readonly evaluation: Evaluation | undefined; readonly told: Told }> {
  const found = findEvaluation(folder, contract, key);
  if (found.state === 'none') return { evaluation: undefined, told: toldOf(id, found, 'not') };
  const known = found.state === 'sound' ? evaluationIn(found, contract) : found;
  if (!('why' in known)) return { evaluation: known as Evaluation, told: toldOf(id, { state: 'sound' }, 'as_sealed') };
  const { trouble, hasChecks } = await sealTrouble(folder);
  if (trouble !== undefined || hasChecks) return { evaluation: undefined, told: toldOf(id, known, 'not') };
  const evaluation = await withThread(undefined, judgeApart =>
    evaluateSuite(folder, { runCheck: noCheck, judgeApart }),
  );
  return { evaluation, told: toldOf(id, known, 'again') };
}

const noCheck: RunCheck = () => Promise.resolve({ trouble: 'proctor show starts no check scripts.' });

const OTHERWISE: Untrusted = { state: 'broken', why: 'differs from what judging the run again gives' };

function asSealed(evaluation: Evaluation, seal: string): JudgedRun {
  const told = { id: evaluation.run_id, state: 'sound', message: null, judged: 'as_sealed' } as const;
  return { evaluation, seal, told };
}

export function toldOf(
  id: string,
  found: { readonly state: SealState; readonly why?: string },
  judged: Told['judged'],
): Told {
  const { state, why } = found;
  const message = why === undefined ? null : `The evaluation of ${printable(id)} is not trusted: it ${why}.`;
  return { id, state, message, judged };
}

/** Throws unless the folder still matches its seal. */
async function wholeRun(folder: string): Promise<{ readonly hasChecks: boolean }> {
  const { trouble, hasChecks } = await sealTrouble(folder);
  if (trouble === undefined) return { hasChecks };
  const id = printable(path.basename(folder));
  throw new Fault('not_as_sealed', `${id} does not match its seal: ${trouble}. Run proctor verify for details.`);
}

/** Judges a run that this process just finished, and writes the evaluation and its seal to the run folder. */
export async function judgeOwnRun(folder: string, judge: Judge, signer: Signer | undefined): Promise<Evaluation> {
  const judging = checksOf(judge, 'tell');
  const before = await earlierRepetitions(folder, judge);
  const evaluation = await withThread(judge.signal, judgeApart =>
    evaluateSuite(folder, { ...judging, judgeApart, earlier: () => before }),
  );
  writeEvaluation(folder, evaluation, signer);
  return evaluation;
}

/** The results of the earlier repetitions, if the run has limits; undefined if one of them cannot be judged. */
async function earlierRepetitions(folder: string, judge: Judge): Promise<Earlier | undefined> {
  const { gate, repetition } = readSuite(folder).request;
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
  { home, signal }: Judge,
  onMachineFault: 'tell' | 'throw',
): { runCheck: RunCheck; signal?: AbortSignal } {
  const stop = signal && { signal };
  return {
    runCheck: checkByScript({ launcher: sharedLauncher, home: attemptsIn(home), onMachineFault, ...stop }),
    ...stop,
  };
}
