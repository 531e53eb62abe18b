import { caseP, type Count, rejectionLimit } from './case-test.ts';
import { type PassRate, passRate } from './pass-rate.ts';
import { isVaried, levelFor, LOOKS_MAX, readSuite, type SuiteReading } from './suite-test.ts';
import { reasonFor } from './sentence.ts';
import { allOf, type CaseTrials, countTrials, type GateTrial } from './trials.ts';

/** All options have defaults. */
export interface GateOptions {
  /**
   * `balanced` passes if nothing got worse, or if a drop above the margin is ruled out. `proven` passes only if it is ruled
   * out. `strict` fails only for a case that always passed and now always fails.
   */
  readonly mode?: GateMode;
  /** The allowed drop in the mean pass rate. Default: 0.05. */
  readonly margin?: number;
  /** The false alarm rate for unchanged suites: half for the suite, half for single cases. Default: 0.05. */
  readonly alpha?: number;
  /** The required confidence that the drop is at most the margin. Default: 0.95. */
  readonly confidence?: number;
  /** Cases that are tested as a separate family and must not be missing. */
  readonly critical?: readonly string[];
  /** The share of cases that may be missing on one side. Default: 0.05. */
  readonly missingMaxRatio?: number;
  /** How many times the suite may be evaluated before a decision, 1 to 5. Default: 1. */
  readonly looks?: number;
  /** Both sides gave identical answers in every case, so nothing can be worse. */
  readonly identical?: boolean;
}

export type GateMode = 'balanced' | 'proven' | 'strict';

/** The test result of one case. */
export interface CaseFinding {
  readonly case: string;
  readonly baseline: Count;
  readonly candidate: Count;
  /** The probability of this result if the case is unchanged. */
  readonly p: number;
}

export interface GateDecision {
  readonly verdict: 'regression' | 'no_regression' | 'not_enough_evidence';
  readonly exitCode: 0 | 1 | 3;
  /** Why, as a code. */
  readonly cause: GateCause;
  /** Why, as a sentence. */
  readonly reason: string;
  /** Cases that broke, with statistical significance. */
  readonly broken: readonly CaseFinding[];
  /** Cases that look broken, but may have failed by chance. */
  readonly suspects: readonly CaseFinding[];
  /** Cases without trials on one side or both. */
  readonly missing: readonly string[];
  /** Cases with trials on both sides. */
  readonly cases: number;
  /** The drop in the mean pass rate; above 0 is worse. Null without cases. */
  readonly drop: number | null;
  /** The largest drop that is not ruled out; null without cases. */
  readonly high: number | null;
  /** The probability of this drop if nothing changed; null without cases. */
  readonly p: number | null;
  /** The drop that this many trials would detect with 80 % power; null without cases. */
  readonly detectable: number | null;
  /** Pass rates over planned trials; null without cases. */
  readonly rates: { readonly baseline: PassRate; readonly candidate: PassRate } | null;
  /** Approximate additional trials per case and side that would settle the verdict; null if settled or impossible. */
  readonly moreTrials: number | null;
}

/** Decides whether the candidate is worse than the baseline. */
export function decideTrials(
  baseline: Iterable<GateTrial>,
  candidate: Iterable<GateTrial>,
  options: GateOptions = {},
): GateDecision {
  return decideCases(countTrials(baseline, candidate), options);
}

/** Like `decideTrials`, for trials that are already counted. */
export function decideCases(cases: readonly CaseTrials[], options: GateOptions = {}): GateDecision {
  const rules = rulesOf(options);
  const both = cases.filter(isPaired);
  const unpaired = cases.filter(one => !isPaired(one));
  // An unknown critical case is probably a typo, and would protect nothing.
  const unknown = rules.critical.size > 0 ? unknownIn(cases, rules.critical) : [];
  const missing = [...unpaired.map(({ id }) => id), ...unknown];
  const missingOnBoth = new Set([...unpaired.filter(isNowhere).map(({ id }) => id), ...unknown]);
  const { broken, suspects } = rules.mode === 'strict' ? strictFindings(both) : findings(both, rules);
  const suite =
    both.length === 0 || rules.mode === 'strict' ? undefined : readSuite(both.map(plannedOf), levelsOf(rules));
  const found: GateFindings = {
    rules,
    total: cases.length,
    cases: both.length,
    broken,
    suspects,
    missing,
    missingOnBoth,
    suite,
  };
  const cause = causeOf(found);
  return {
    ...ENDINGS[cause],
    cause,
    reason: reasonFor(cause, found),
    broken,
    suspects,
    missing,
    cases: both.length,
    drop: suite?.drop ?? null,
    high: suite?.high ?? null,
    p: suite?.p ?? null,
    detectable: suite?.detectable ?? null,
    rates: both.length === 0 ? null : ratesOf(both),
    moreTrials: cause === 'unsettled' ? (suite?.moreTrials ?? null) : null,
  };
}

function unknownIn(cases: readonly CaseTrials[], critical: ReadonlySet<string>): string[] {
  const known = new Set(cases.map(({ id }) => id));
  return [...critical].filter(id => !known.has(id));
}

export type Rules = Required<Omit<GateOptions, 'critical'>> & { readonly critical: ReadonlySet<string> };

/** The facts that determine the verdict. */
export interface GateFindings {
  readonly rules: Rules;
  readonly total: number;
  readonly cases: number;
  readonly broken: readonly CaseFinding[];
  readonly suspects: readonly CaseFinding[];
  readonly missing: readonly string[];
  readonly missingOnBoth: ReadonlySet<string>;
  readonly suite: SuiteReading | undefined;
}

/** The causes of a verdict, in the order in which they are checked. */
export type GateCause =
  | 'no_pairs'
  | 'broken'
  | 'worse'
  | 'missing'
  | 'suspect'
  | 'identical'
  | 'safe'
  | 'not_worse'
  | 'unsettled';

const REGRESSION = { verdict: 'regression', exitCode: 1 } as const;
const NO_REGRESSION = { verdict: 'no_regression', exitCode: 0 } as const;
const NOT_ENOUGH = { verdict: 'not_enough_evidence', exitCode: 3 } as const;

const ENDINGS: Readonly<Record<GateCause, Pick<GateDecision, 'verdict' | 'exitCode'>>> = {
  no_pairs: NOT_ENOUGH,
  broken: REGRESSION,
  worse: REGRESSION,
  missing: NOT_ENOUGH,
  suspect: NOT_ENOUGH,
  identical: NO_REGRESSION,
  safe: NO_REGRESSION,
  not_worse: NO_REGRESSION,
  unsettled: NOT_ENOUGH,
};

function causeOf({ rules, total, cases, broken, suspects, missing, suite }: GateFindings): GateCause {
  if (cases === 0) return 'no_pairs';
  const isSafe = suite !== undefined && suite.high <= rules.margin;
  const level = levelFor(rules.alpha / 2, rules.looks);
  if (broken.length > 0) return 'broken';
  // Strictly below: a single case that drops from 3/3 to 0/3 is exactly at the level, and the case test decides it.
  if (suite && suite.drop > 0 && suite.p < level && !isSafe) return 'worse';
  if (missing.length > rules.missingMaxRatio * total || missing.some(id => rules.critical.has(id))) return 'missing';
  if (suspects.length > 0) return 'suspect';
  if (rules.identical) return 'identical';
  if (isSafe) return 'safe';
  if (rules.mode === 'strict' || (rules.mode === 'balanced' && suite && suite.drop <= 0)) return 'not_worse';
  return 'unsettled';
}

const DEFAULTS = {
  mode: 'balanced',
  margin: 0.05,
  alpha: 0.05,
  confidence: 0.95,
  missingMaxRatio: 0.05,
  looks: 1,
  identical: false,
} as const satisfies GateOptions;

/** The default false alarm rate. */
export const GATE_ALPHA = DEFAULTS.alpha;

/** Applies the defaults. Throws a RangeError for a value out of range. */
export function rulesOf({ critical = [], ...options }: GateOptions): Rules {
  const rules = { ...DEFAULTS, ...options, critical: new Set(critical) };
  for (const name of ['margin', 'alpha', 'confidence'] as const) {
    if (!(rules[name] > 0 && rules[name] < 1)) throw new RangeError(`${name} must be between 0 and 1.`);
  }
  if (!(rules.missingMaxRatio >= 0 && rules.missingMaxRatio <= 1))
    throw new RangeError('missingMaxRatio must be a number from 0 to 1.');
  if (!Number.isInteger(rules.looks) || rules.looks < 1 || rules.looks > LOOKS_MAX)
    throw new RangeError(`looks must be an integer from 1 to ${LOOKS_MAX}.`);
  return rules;
}

function levelsOf({ margin, alpha, confidence, looks }: Rules) {
  return { margin, worse: alpha / 2, unsafe: 1 - confidence, looks };
}

/** Whether both sides have planned trials. Reruns alone do not make a case part of the suite. */
export function isPaired({ baseline, candidate }: CaseTrials): boolean {
  return baseline.planned.trials > 0 && candidate.planned.trials > 0;
}

function ratesOf(cases: readonly CaseTrials[]) {
  return {
    baseline: passRate(cases.map(({ baseline }) => baseline.planned)),
    candidate: passRate(cases.map(({ candidate }) => candidate.planned)),
  };
}

function isNowhere({ baseline, candidate }: CaseTrials): boolean {
  return baseline.planned.trials === 0 && candidate.planned.trials === 0;
}

function plannedOf({ baseline, candidate }: CaseTrials) {
  return { baseline: baseline.planned, candidate: candidate.planned };
}

export function findingOf({ id, baseline, candidate }: CaseTrials): CaseFinding {
  return tested(id, allOf(baseline), allOf(candidate));
}

function tested(id: string, baseline: Count, candidate: Count): CaseFinding {
  return { case: id, baseline, candidate, p: caseP(baseline, candidate) };
}

/** The test result of each case, smallest p first. */
export function findingsOf(cases: readonly CaseTrials[]): CaseFinding[] {
  return ranked(cases.map(findingOf));
}

function findings(cases: readonly CaseTrials[], { alpha, critical }: Rules) {
  const all = cases.map(findingOf);
  const limits = [false, true].map(isCritical => {
    const family = all.filter(one => critical.has(one.case) === isCritical);
    return rejectionLimit(
      family.map(({ p }) => p),
      alpha / 2,
    );
  });
  const isBroken = ({ case: id, p }: CaseFinding): boolean => p <= (limits[Number(critical.has(id))] as number);
  const varied = all.filter(isVaried).length;
  const suspicious = SUSPICIOUS * Math.min(1, VARIED_MAX / Math.max(1, varied));
  return {
    broken: ranked(all.filter(isBroken)),
    suspects: ranked(all.filter(one => !isBroken(one) && (isTurned(one) || one.p <= suspicious))),
  };
}

/** The p up to which a case is suspect. It shrinks with many flaky cases, because some reach it by chance. */
const SUSPICIOUS = 0.02;
const VARIED_MAX = 20;

function strictFindings(cases: readonly CaseTrials[]) {
  // Ignore reruns: one lucky pass would clear a case that always failed.
  const planned = cases.map(({ id, baseline, candidate }) => tested(id, baseline.planned, candidate.planned));
  return { broken: ranked(planned.filter(isTurned)), suspects: [] };
}

/** Whether the case always passed in the baseline and never passes in the candidate. */
function isTurned({ baseline, candidate }: CaseFinding): boolean {
  return baseline.passes === baseline.trials && candidate.passes === 0;
}

function ranked(found: readonly CaseFinding[]): CaseFinding[] {
  return [...found].sort((a, b) => a.p - b.p || (a.case < b.case ? -1 : 1));
}
