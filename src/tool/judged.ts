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

/** Who judges: where runs of checks lie while they last, and who stops them. */
export interface Judge {
  readonly home: string;
  readonly signal?: AbortSignal;
  /** Judges anew, whatever evaluation lies in the folder. */
  readonly again?: boolean;
  /** The key that signatures of evaluations are checked with. */
  readonly key?: Checker | undefined;
}

/** Whether a judgement is bound to its seal, and what was done about one that is not. */
export interface Told {
  /** The run that was judged, or the comparison. */
  readonly id: string;
  readonly state: SealState;
  /** What is wrong with it, as a sentence; null if nothing is. */
  readonly message: string | null;
  /** `as_sealed`: the evaluation that was found is used. `again`: a new one was made. `not`: there is none to be trusted. */
  readonly judged: 'as_sealed' | 'again' | 'not';
}

/** A run and what judging says of it. */
export interface JudgedRun {
  readonly evaluation: Evaluation;
  /** The hash of the seal of this evaluation, if it has one. */
  readonly seal: string | undefined;
  readonly told: Told;
}

/**
 * The evaluation of a sealed run. What is not bound to the run's seal is made anew and never read. `wants: 'anew'` makes
 * it anew also where only its seal would have to be trusted: judging answers costs no more than reading verdicts.
 * Writes nothing into the folder.
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
  // The earlier repetitions may lie elsewhere by now; the seal covers what was found in them.
  const earlier = () => (ours && (evaluationIn(ours, contract) as Partial<Evaluation>).gate?.earlier) || undefined;
  const evaluation = await withThread(judge.signal, judgeApart =>
    evaluateSuite(folder, { ...judging, judgeApart, earlier }),
  );
  const { run_id: id } = evaluation;
  if (!ours) return { evaluation, seal: undefined, told: toldOf(id, found, 'again') };
  if (isSealedSo(evaluation, ours.seal)) return asSealed(evaluation, ours.seal.sha256);
  // A check may have changed its mind; a function of the answer has not.
  return { evaluation, seal: undefined, told: toldOf(id, doubt ?? (hasChecks ? found : OTHERWISE), 'again') };
}

/**
 * What `show` tells: the evaluation in the folder if it is bound to its seal, else one that is made of the answers alone.
 * Showing a run starts nothing, so a run whose cases are judged by scripts then has none.
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

const noCheck: RunCheck = () => Promise.resolve({ trouble: 'Showing a run starts no check.' });

const OTHERWISE: Untrusted = { state: 'broken', why: 'does not say what judging the run again says' };

function asSealed(evaluation: Evaluation, seal: string): JudgedRun {
  const told = { id: evaluation.run_id, state: 'sound', message: null, judged: 'as_sealed' } as const;
  return { evaluation, seal, told };
}

/** What is told of an evaluation that was found so. */
export function toldOf(
  id: string,
  found: { readonly state: SealState; readonly why?: string },
  judged: Told['judged'],
): Told {
  const { state, why } = found;
  const message = why === undefined ? null : `The evaluation of ${printable(id)} is not trusted: it ${why}.`;
  return { id, state, message, judged };
}

/** Judging begins with what was sealed, or not at all. */
async function wholeRun(folder: string): Promise<{ readonly hasChecks: boolean }> {
  const { trouble, hasChecks } = await sealTrouble(folder);
  if (trouble === undefined) return { hasChecks };
  const id = printable(path.basename(folder));
  throw new Fault('not_as_sealed', `${id} is not as it was sealed: ${trouble}. proctor verify says more.`);
}

/** Judges a run in its own process, and writes the evaluation and its seal into its folder. */
export async function judgeOwnRun(folder: string, judge: Judge, signer: Signer | undefined): Promise<Evaluation> {
  const judging = checksOf(judge, 'tell');
  const before = await earlierRepetitions(folder, judge);
  const evaluation = await withThread(judge.signal, judgeApart =>
    evaluateSuite(folder, { ...judging, judgeApart, earlier: () => before }),
  );
  writeEvaluation(folder, evaluation, signer);
  return evaluation;
}

/** What the repetitions before a run came to, where it must keep to limits; undefined if one of them cannot be judged. */
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
