import type { Comparison } from '../../contracts/comparison/index.ts';
import type { Conditions, Side, TrialOfSide } from '../compare-input.ts';

export interface Comparability {
  readonly state: Comparison['comparability']['state'];
  readonly fields: Comparison['comparability']['fields'];
  /** Why the sides cannot be compared, in a sentence; null if they can. */
  readonly why: string | null;
}

/** How many cases the two sides have in common. */
export interface CommonCases {
  readonly common: number;
  /** How many common cases have different hashes. */
  readonly askedOtherwise: number;
}

/** Decides whether two sides can be compared. */
export function comparabilityOf(
  baseline: Side,
  candidate: Side,
  fields: Comparability['fields'],
  cases: CommonCases,
): Comparability {
  const why = obstacle(baseline, candidate, cases);
  if (why !== null) return { state: 'not_comparable', fields, why };
  return { state: fields.length > 0 ? 'drift' : 'comparable', fields, why };
}

function obstacle(baseline: Side, candidate: Side, { common, askedOtherwise }: CommonCases): string | null {
  for (const [name, side] of [
    ['baseline', baseline],
    ['candidate', candidate],
  ] as const) {
    if (side.incomplete !== undefined) return side.incomplete;
    if (side.trials.some(({ sealSha256 }) => sealSha256 === undefined)) {
      return `A run of the ${name} has no seal, so nothing proves that it is unchanged.`;
    }
  }
  if (common === 0) return 'The two sides have no case in common.';
  if (askedOtherwise > common / 2) {
    return `${askedOtherwise} of ${common} common cases changed, so the two sides ran different cases.`;
  }
  return null;
}

/** What differs between two sides other than the agent. */
export function driftOf(baseline: Side, candidate: Side): Comparability['fields'] {
  const fields: Comparability['fields'] = [];
  const differ = (field: string, was: string | null, is: string | null): void => {
    if (was !== is) fields.push({ field, baseline: was, new: is });
  };
  if (baseline.trials.length === 0 || candidate.trials.length === 0) return fields;
  differ('environment_hash', allOf(baseline, environmentOf), allOf(candidate, environmentOf));
  differ('cases_sha256', allOf(baseline, casesOf), allOf(candidate, casesOf));
  const before = conditionNames(baseline);
  const now = conditionNames(candidate);
  // A side without recorded conditions shows no drift.
  if (before.size === 0 || now.size === 0) return fields;
  for (const name of [...new Set([...before, ...now])].sort()) {
    const valueOf = ({ conditions }: TrialOfSide): string | undefined => conditions?.[name];
    const [was, is] = [allOf(baseline, valueOf), allOf(candidate, valueOf)];
    // An agent that does not report its model may use the same one.
    if (name.startsWith('provenance.') && (was === null || is === null)) continue;
    differ(name, was, is);
  }
  return fields;
}

/** The value of a drift field on a side; null if no planned trial reports it. */
export function conditionValue(side: Side, field: string): string | null {
  if (field === 'environment_hash') return allOf(side, environmentOf);
  return field === 'cases_sha256' ? allOf(side, casesOf) : allOf(side, ({ conditions }) => conditions?.[field]);
}

const environmentOf = ({ environmentHash }: TrialOfSide): string | undefined => environmentHash;
const casesOf = ({ casesSha256 }: TrialOfSide): string | undefined => casesSha256;

function conditionNames({ trials }: Side): ReadonlySet<string> {
  return new Set(trials.flatMap(({ conditions }) => Object.keys(conditions ?? {})));
}

/** The conditions of a side's runs, by drift field. */
export function conditionsOf(side: Side): Conditions | undefined {
  const names = [...conditionNames(side)].sort();
  if (names.length === 0) return undefined;
  return Object.fromEntries(names.map(name => [name, allOf(side, ({ conditions }) => conditions?.[name]) ?? '']));
}

/** The distinct values that a side's planned trials report; null if none does. Reruns cover only some cases. */
function allOf(side: Side, valueOf: (trial: TrialOfSide) => string | undefined): string | null {
  const values = new Set(plannedOf(side).flatMap(trial => valueOf(trial) ?? []));
  return values.size === 0 ? null : [...values].sort().join(', ');
}

/** The value that all of a side's planned trials share; null if they differ or report none. */
export function agreed(side: Side, valueOf: (trial: TrialOfSide) => string | undefined): string | null {
  const trials = plannedOf(side);
  const [value, other] = new Set(trials.map(valueOf));
  return other === undefined && trials.every(trial => valueOf(trial) === value) ? (value ?? null) : null;
}

function plannedOf({ trials }: Side): readonly TrialOfSide[] {
  return trials.filter(({ isRerun }) => !isRerun);
}
