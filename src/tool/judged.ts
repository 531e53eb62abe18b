import path from 'node:path';
import { Fault } from '../base/fault.ts';
import { printable } from '../base/printable.ts';
import { VERSION } from '../base/version.ts';
import type { Evaluation } from '../contracts/evaluation/index.ts';
import type { Checker, Signer } from '../contracts/seal/index.ts';
import type { SuiteCase } from '../contracts/suite/index.ts';
import type { SealState, Untrusted } from '../evidence/judgement.ts';
import type { SealedFolder } from '../evidence/sealed-folder.ts';
import type { RunCheck } from '../judge/check.ts';
import type { CaseName } from '../judge/compare-input.ts';
import type { Judging } from '../judge/evaluate.ts';
import type { Earlier } from '../judge/run-limits.ts';
import { withThread } from './judge-thread.ts';

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
  /** The names of its cases; undefined if the cases were not read to judge the run. */
  readonly names?: ReadonlyMap<string, CaseName>;
}

/**
 * The evaluation of a sealed run. What is not bound to the run's seal is made anew and never read. `wants: 'anew'` makes
 * it anew also where only its seal would have to be trusted: judging answers costs no more than reading verdicts.
 * Writes nothing into the folder.
 */
export async function judgedRun(folder: string, judge: Judge, wants: 'anew' | 'as sealed'): Promise<JudgedRun> {
  const [{ isSealedSo }, { caseName }, { evaluationIn, findEvaluation }, { evaluation: contract }] = await Promise.all([
    import('../judge/evaluate.ts'),
    import('../judge/side.ts'),
    import('../evidence/evaluation-files.ts'),
    import('../contracts/evaluation/index.ts'),
  ]);
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
  const judging = await checksOf(judge, 'throw');
  // The earlier repetitions may lie elsewhere by now; the seal covers what was found in them.
  const earlier = () => (ours && (evaluationIn(ours, contract) as Partial<Evaluation>).gate?.earlier) || undefined;
  const names = new Map<string, CaseName>();
  const onCase = (sent: SuiteCase): unknown => names.set(sent.id, caseName(sent));
  const evaluation = await judgedAsSealed(folder, sealed, { ...judging, earlier, onCase });
  const { run_id: id } = evaluation;
  if (!ours) return { evaluation, seal: undefined, told: toldOf(id, found, 'again'), names };
  if (isSealedSo(evaluation, ours.seal)) return { ...asSealed(evaluation, ours.seal.sha256), names };
  // A check may have changed its mind; a function of the answer has not.
  return {
    evaluation,
    seal: undefined,
    told: toldOf(id, doubt ?? (sealed.hasChecks ? found : OTHERWISE), 'again'),
    names,
  };
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
  const [{ evaluateSuite }, { evaluationIn, findEvaluation }, { evaluation: contract }, { sealTrouble }] =
    await Promise.all([
      import('../judge/evaluate.ts'),
      import('../evidence/evaluation-files.ts'),
      import('../contracts/evaluation/index.ts'),
      import('../evidence/sealed-folder.ts'),
    ]);
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

/** Opens a sealed run to judge it. Its artifacts are checked as they are read, but before any script of the run starts. */
async function sealedRun(folder: string): Promise<SealedFolder> {
  const { notAsSealed, NO_SEAL, SealedFolder } = await import('../evidence/sealed-folder.ts');
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
  const [{ evaluateSuite }, { notAsSealed }] = await Promise.all([
    import('../judge/evaluate.ts'),
    import('../evidence/sealed-folder.ts'),
  ]);
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
  const { notAsSealed, sealTrouble } = await import('../evidence/sealed-folder.ts');
  const { trouble } = await sealTrouble(folder);
  if (trouble !== undefined) throw notAsSealed(folder, trouble);
}

/** Judges a run in its own process, and writes the evaluation and its seal into its folder. */
export async function judgeOwnRun(folder: string, judge: Judge, signer: Signer | undefined): Promise<Evaluation> {
  const { evaluateSuite, writeEvaluation } = await import('../judge/evaluate.ts');
  const judging = await checksOf(judge, 'tell');
  const before = await earlierRepetitions(folder, judge);
  const evaluation = await withThread(judge.signal, judgeApart =>
    evaluateSuite(folder, { ...judging, judgeApart, earlier: () => before }),
  );
  writeEvaluation(folder, evaluation, signer);
  return evaluation;
}

/** What the repetitions before a run came to, where it must keep to limits; undefined if one of them cannot be judged. */
async function earlierRepetitions(folder: string, judge: Judge): Promise<Earlier | undefined> {
  const [{ readSuite }, { repetitionId }, { earlierFrom }] = await Promise.all([
    import('../evidence/suite-folder.ts'),
    import('../contracts/suite/index.ts'),
    import('../judge/run-limits.ts'),
  ]);
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

async function checksOf(
  { home, signal }: Judge,
  onMachineFault: 'tell' | 'throw',
): Promise<{ runCheck: RunCheck; signal?: AbortSignal }> {
  const [{ checkByScript }, { sharedLauncher }, { attemptsIn }] = await Promise.all([
    import('../judge/check-script.ts'),
    import('./run-script.ts'),
    import('../evidence/runs.ts'),
  ]);
  const stop = signal && { signal };
  return {
    runCheck: checkByScript({ launcher: sharedLauncher, home: attemptsIn(home), onMachineFault, ...stop }),
    ...stop,
  };
}
