import type { Foundation, JudgementStatement } from './statement.ts';

/** A contradiction between a seal and the judgement that it seals. The message follows the path. */
export interface SealContradiction {
  readonly at: string;
  readonly message: string;
}

/** The facts in an evaluation that its seal must match. */
interface JudgedRun {
  readonly run_id: string;
  readonly generated_at: string;
  readonly judge_version: string;
  readonly seal_sha256: string;
}

export function* evaluationContradictions(
  { predicate }: JudgementStatement,
  evaluation: JudgedRun,
): Generator<SealContradiction> {
  yield* common(predicate, 'evaluation', evaluation.run_id, evaluation.generated_at);
  if (predicate.judge_version !== evaluation.judge_version)
    yield doubt('judge_version', 'does not match the evaluation');
  if (predicate.rests_on[0]?.seal_sha256 !== evaluation.seal_sha256) {
    yield doubt('rests_on', 'does not name the seal that the evaluation names');
  }
}

interface Side {
  readonly source: 'runs' | 'accepted';
  readonly run_ids: readonly string[];
  readonly seals: readonly string[];
}

/** The facts in a comparison that its seal must match. */
interface ComparedSides {
  readonly comparison_id: string;
  readonly generated_at: string;
  readonly sides: { readonly baseline: Side; readonly new: Side };
}

export function* comparisonContradictions(
  { predicate }: JudgementStatement,
  compared: ComparedSides,
): Generator<SealContradiction> {
  yield* common(predicate, 'comparison', compared.comparison_id, compared.generated_at);
  for (const name of ['baseline', 'new'] as const) {
    const side = compared.sides[name];
    const named = predicate.rests_on.filter(({ side }) => side === name);
    const isAccepted = side.source === 'accepted' && side.run_ids.length > 0;
    const accepted = named.filter(({ what }) => what === 'baseline');
    if (accepted.length !== (isAccepted ? 1 : 0)) {
      const message = isAccepted ? 'must name the seal of the accepted baseline' : 'names a baseline that was not used';
      yield doubt('rests_on', message);
    }
    const runs = isAccepted ? { run_ids: [], seals: [] } : side;
    if (!isListed(named, runs)) yield doubt('rests_on', `must name the runs of sides.${name} and their seals`);
  }
}

/** The facts in a baseline that its seal must match. */
interface AcceptedRuns {
  readonly accepted_at: string;
  readonly run_ids: readonly string[];
  readonly seals: readonly string[];
}

export function* baselineContradictions(
  { predicate }: JudgementStatement,
  accepted: AcceptedRuns,
): Generator<SealContradiction> {
  yield* common(predicate, 'baseline', null, accepted.accepted_at);
  if (!isListed(predicate.rests_on, accepted))
    yield doubt('rests_on', 'must name the run_ids and seals of the baseline');
}

function* common(
  { kind, id, sealed_at }: JudgementStatement['predicate'],
  wanted: string,
  wantedId: string | null,
  madeAt: string,
): Generator<SealContradiction> {
  if (kind !== wanted) yield doubt('kind', `must be ${wanted}`);
  if (id !== wantedId) yield doubt('id', `does not match the ${wanted}`);
  if (sealed_at !== madeAt) yield doubt('sealed_at', `does not match the time of the ${wanted}`);
}

/** Whether `named` has exactly these runs, in order, and only evaluations of these runs. */
function isListed(
  named: readonly Foundation[],
  { run_ids, seals }: { readonly run_ids: readonly string[]; readonly seals: readonly string[] },
): boolean {
  const runs = named.filter(({ what }) => what === 'run');
  const ids = new Set(run_ids);
  return (
    runs.length === run_ids.length &&
    runs.every(({ id, seal_sha256 }, index) => id === run_ids[index] && seal_sha256 === seals[index]) &&
    named.every(({ what, id }) => what !== 'evaluation' || (id !== null && ids.has(id)))
  );
}

function doubt(key: string, message: string): SealContradiction {
  return { at: `payload.predicate.${key}`, message };
}
