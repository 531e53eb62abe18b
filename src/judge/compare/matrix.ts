import { setImmediate as nextTurn } from 'node:timers/promises';
import { Fault } from '../../base/fault.ts';
import { type Comparison, EXIT_CODES, VERDICT_OF } from '../../contracts/comparison/index.ts';
import { GATE_ALPHA, named } from '../../contracts/gate/decide/index.ts';
import type { FalseAlarms, Matrix, MatrixDecider, MatrixPair } from '../../contracts/matrix.ts';
import type { CaseReader, Side } from '../compare-input.ts';
import { conditionValue, driftOf } from './comparability.ts';
import { compareSides } from './compare.ts';
import type { Gate } from './gate.ts';
import { matrixCases, matrixVersion, type NamedVersion, VersionCases } from './matrix-versions.ts';
import { isUnanswered } from './side.ts';

export interface MatrixOptions {
  readonly matrixId: string;
  readonly generatedAt: string;
  readonly decidedBy: MatrixDecider;
  readonly caseOf?: CaseReader;
  readonly signal?: AbortSignal | undefined;
}

/** Judges every pair of versions as `compareSides` judges it, and sets the versions side by side. */
export async function matrixOf(versions: readonly NamedVersion[], gate: Gate, options: MatrixOptions): Promise<Matrix> {
  const { matrixId, generatedAt, decidedBy } = options;
  checkVersions(versions);
  const pairs = await pairsOfVersions(versions, gate, options);
  const deciding = pairs.filter(({ is_deciding }) => is_deciding);
  const verdict = verdictOf(deciding);
  const columns = versions.map(version => ({ version, cases: new VersionCases(version.side) }));
  const cases = matrixCases(columns);
  return {
    kind: 'matrix',
    matrix_id: matrixId,
    generated_at: generatedAt,
    is_evidence: false,
    verdict,
    reason: reasonOf(verdict, deciding, versions, decidedBy),
    exit_code: EXIT_CODES[verdict],
    decided_by: decidedBy,
    gate,
    false_alarms: gate.mode === 'strict' ? null : falseAlarms(deciding.length, gate),
    versions: columns.map(column => matrixVersion(column, cases.cases_total)),
    pairs,
    conditions: conditionsOfVersions(versions),
    ...cases,
  };
}

function checkVersions(versions: readonly NamedVersion[]): void {
  const empty = versions.find(({ side }) => side.trials.length === 0);
  if (empty) throw new Fault('nothing_to_compare', `The version “${empty.name}” has no run.`);
  const seen = new Map<string, string>();
  for (const { name, side } of versions) {
    for (const seal of new Set(side.trials.flatMap(({ sealSha256 }) => sealSha256 ?? []))) {
      const other = seen.get(seal);
      if (other !== undefined)
        throw new Fault('same_run', `“${other}” and “${name}” are the same run. Leave one of them out.`);
      seen.set(seal, name);
    }
  }
}

async function pairsOfVersions(versions: readonly NamedVersion[], gate: Gate, options: MatrixOptions) {
  const pairs: MatrixPair[] = [];
  for (const [baseline, before] of versions.entries()) {
    for (const [candidate, now] of versions.entries()) {
      if (baseline === candidate) continue;
      if (options.signal?.aborted) throw new Fault('cancelled', 'Cancelled. Nothing was written.');
      const { verdict, reason, decision, comparability } = comparedPair(before, now, gate, options);
      const isRegression = decision !== undefined && VERDICT_OF[decision.cause] === 'regression';
      pairs.push({
        baseline,
        candidate,
        is_deciding: baseline < candidate && (options.decidedBy === 'all_pairs' || baseline === 0),
        verdict,
        reason,
        cause: decision?.cause ?? 'no_pairs',
        is_only_limit: verdict === 'regression' && !isRegression,
        comparability: comparability.state,
        cases: decision?.cases ?? 0,
        drop: decision?.drop ?? null,
        high: decision?.high ?? null,
        broken: decision?.broken.length ?? 0,
        suspects: decision?.suspects.length ?? 0,
      });
      // Lets an interrupt through: 56 pairs of large suites take a while.
      await nextTurn();
    }
  }
  return pairs;
}

/** The comparison of two versions, without causes, which a matrix does not show. */
function comparedPair(before: NamedVersion, now: NamedVersion, gate: Gate, options: MatrixOptions): Comparison {
  const names = now.names ?? before.names;
  return compareSides(asBaseline(before.side), now.side, gate, {
    comparisonId: options.matrixId,
    generatedAt: options.generatedAt,
    artifactOf: () => undefined,
    ...(options.caseOf && { caseOf: options.caseOf }),
    ...(names && { names }),
  });
}

/** A baseline that stopped answering in a later round has not failed. */
export function asBaseline(side: Side): Side {
  return { ...side, trials: side.trials.filter(trial => !isUnanswered(trial)) };
}

/** A regression in any pair decides the verdict; otherwise, an undecided pair does. */
function verdictOf(deciding: readonly MatrixPair[]): Matrix['verdict'] {
  if (deciding.some(({ verdict }) => verdict === 'regression')) return 'regression';
  return deciding.every(({ verdict }) => verdict === 'no_regression') ? 'no_regression' : 'not_enough_evidence';
}

function reasonOf(
  verdict: Matrix['verdict'],
  deciding: readonly MatrixPair[],
  versions: readonly NamedVersion[],
  decidedBy: MatrixDecider,
): string {
  const meant = deciding.filter(pair => pair.verdict === verdict);
  const found = [...new Set(meant.map(({ candidate }) => candidate))].map(index => versions[index]?.name ?? '');
  const than = decidedBy === 'reference' ? `“${versions[0]?.name ?? ''}”` : 'a version before it';
  const others = versions.length - 1;
  if (verdict === 'regression') {
    const [is, does] = found.length === 1 ? ['is', 'does'] : ['are', 'do'];
    const limit = meant.some(({ is_only_limit }) => is_only_limit) ? `, or ${does} not meet a limit` : '';
    return `${found.length} of ${others} versions ${is} worse than ${than}${limit}: ${named(found)}.`;
  }
  if (verdict === 'no_regression') return `None of the other ${others} versions is worse than ${than}.`;
  return `No version is shown to be worse than ${than}, but the evidence is not enough for ${named(found)}.`;
}

/** The levels of all tests add up, whether or not the tests are independent. The pairs are not: they share runs. */
function falseAlarms(pairs: number, { alpha = GATE_ALPHA, critical = [], tolerances }: Gate): FalseAlarms {
  const tested = Object.values(tolerances).flatMap(one => Object.keys(one ?? {}).filter(key => key.startsWith('max_')));
  const each = alpha + (critical.length > 0 ? alpha / 2 : 0) + TOLERANCE_LEVEL * tested.length;
  return { pairs, each_at_most: share(each), any_at_most: share(pairs * each) };
}

/** One-sided, for each tolerance on time, cost or score. */
const TOLERANCE_LEVEL = 0.025;

function share(chance: number): number {
  return Math.min(1, Number(chance.toPrecision(12)));
}

/** The fields in which any two versions differ, with the value of each version. */
function conditionsOfVersions(versions: readonly NamedVersion[]): Matrix['conditions'] {
  const fields = new Set<string>();
  for (const [index, { side }] of versions.entries())
    for (const other of versions.slice(index + 1)) for (const { field } of driftOf(side, other.side)) fields.add(field);
  return [...fields]
    .sort()
    .slice(0, CONDITIONS_MAX)
    .map(field => ({ field, values: versions.map(({ side }) => conditionValue(side, field)) }));
}

/** Requests have fewer than 60 conditions; an accepted baseline could list any number. */
const CONDITIONS_MAX = 100;
