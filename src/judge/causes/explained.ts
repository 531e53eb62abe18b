import { clip } from '../../base/clip.ts';
import { type Comparison, type Divergence, SAYS_BYTES_MAX } from '../../contracts/comparison/index.ts';
import { type Difference, WEIGHT } from './difference.ts';
import { aboutOf, type FailedAssertions, failingNames, isEffort } from './failing.ts';

type Drift = Comparison['comparability']['fields'];

interface Lead {
  readonly difference: Difference;
  /** False if another difference precedes it. */
  readonly isFirst: boolean;
}

/** Rates how likely a difference between two agents explains the failures. */
export function explained({ difference, isFirst }: Lead, failed: FailedAssertions, drift: Drift): Divergence {
  const { kind, baselineAt, newAt, says } = difference;
  const places = [
    ...(baselineAt === null ? [] : [`baseline:${baselineAt}`]),
    ...(newAt === null ? [] : [`new:${newAt}`]),
  ];
  const told = (over: Pick<Divergence, 'kind' | 'confidence' | 'cites'>, why: string): Divergence => ({
    kind: over.kind,
    baseline_at: baselineAt,
    new_at: newAt,
    says: clip(`${says}. ${why}`, SAYS_BYTES_MAX).text,
    confidence: over.confidence,
    cites: over.cites,
  });
  const { confidence, why } = sureness(difference, isFirst, failed);
  const known = confidence === 'low' ? 'low' : 'medium';
  const behind = behindIt(difference, drift);
  if (behind) {
    const because = `${sure(known)} the cause: ${drift[behind.at]?.field} differs, and ${behind.why}.`;
    return told({ kind: behind.kind, confidence: known, cites: [citeOf(behind.at), ...places] }, because);
  }
  const beside = besideIt(difference, drift);
  if (beside < 0) return told({ kind, confidence, cites: places }, why);
  // The environment may have made the tool fail.
  const isDoubted = kind === 'tool_result' && confidence === 'high';
  const field = `${drift[beside]?.field} also differs.`;
  return told(
    { kind, confidence: isDoubted ? 'medium' : confidence, cites: [...places, citeOf(beside)] },
    `${isDoubted ? 'Likely the cause, because a tool that worked in the baseline failed.' : why} ${field}`,
  );
}

function sureness(
  difference: Difference,
  isFirst: boolean,
  failed: FailedAssertions,
): { readonly confidence: Divergence['confidence']; readonly why: string } {
  const { kind, plainly, atMost, weight } = difference;
  if (atMost === 'low')
    return { confidence: 'low', why: 'Perhaps the cause: there is no more significant difference.' };
  const about = aboutOf(difference, failed);
  if (atMost === undefined && isFirst) {
    if (plainly !== undefined) return { confidence: 'high', why: plainly };
    if (about) {
      return {
        confidence: 'high',
        why: `Very likely the cause, because the failed expectation (${about.name}) is about it.`,
      };
    }
  }
  const names = failingNames(failed);
  if (kind === 'tool_choice' && weight === WEIGHT.somewhat && !about && !names.includes('max_steps')) {
    return { confidence: 'low', why: 'Perhaps the cause: an extra or missing call often does not matter.' };
  }
  if (names.length > 0) {
    return {
      confidence: 'medium',
      why: `Likely the cause, because the failure (${names.join(', ')}) may follow from it.`,
    };
  }
  return {
    confidence: 'low',
    why: 'Perhaps the cause: it is the first difference, but no failed expectation is known.',
  };
}

function sure(confidence: 'medium' | 'low'): string {
  return confidence === 'medium' ? 'Likely' : 'Perhaps';
}

/** A drift field that may have led to a difference. */
function behindIt(
  { kind, isMet, refusal }: Difference,
  drift: Drift,
): { readonly at: number; readonly kind: 'model' | 'policy'; readonly why: string } | undefined {
  const model = drift.findIndex(({ field }) => OF_MODEL.test(field));
  if (model >= 0 && !isMet) return { at: model, kind: 'model', why: 'the agent decided differently' };
  const policy = drift.findIndex(({ field }) => field.startsWith('policy.'));
  if (kind === 'tool_result' && policy >= 0 && refusal !== undefined && REFUSED.test(refusal)) {
    return { at: policy, kind: 'policy', why: 'the tool says that it was denied' };
  }
  return undefined;
}

const OF_MODEL = /^provenance\.(?:model|param)/;

/** How tools report that access was denied. */
const REFUSED =
  /denied|forbidden|not (?:allowed|permitted)|permission|blocked|prohibited|unauthori[sz]ed|E(?:ACCES|PERM)\b|\b40[13]\b|polic(?:y|ies)/i;

/** The index of a drift field that may be related; -1 if there is none. */
function besideIt({ kind, plainly, isMet }: Difference, drift: Drift): number {
  if (kind === 'tool_result' && plainly !== undefined) return drift.findIndex(({ field }) => isSurrounding(field));
  return isMet ? -1 : drift.findIndex(({ field }) => field.startsWith('provenance.'));
}

function isSurrounding(field: string): boolean {
  return field === 'environment_hash' || field.startsWith('policy.') || field.startsWith('provenance.');
}

/**
 * Explains different verdicts on agents that did the same, apart from ids and times. Only the environment and timing
 * remain as causes. Null if no difference in them is known.
 */
export function byDrift(drift: Drift, failing: readonly string[], known: Difference | undefined): Divergence | null {
  const same = !known
    ? 'Events and output are the same'
    : known.weight === WEIGHT.passing
      ? 'Events are the same apart from ids and times'
      : 'Events are the same';
  const at = SUSPECTS.map(isIt => drift.findIndex(({ field }) => isIt(field))).find(index => index >= 0);
  const field = at === undefined ? undefined : drift[at]?.field;
  if (at !== undefined && field !== undefined) {
    return {
      kind: field.startsWith('policy.') ? 'policy' : OF_MODEL.test(field) ? 'model' : 'environment',
      baseline_at: null,
      new_at: null,
      says: `${same}, but ${field} differs between the two sides. Only a possible cause, because nothing in the events points to it.`,
      confidence: 'low',
      cites: [citeOf(at)],
    };
  }
  if (!failing.some(isEffort)) return null;
  return {
    kind: 'environment',
    baseline_at: null,
    new_at: null,
    says: `${same}, and only time or cost differs (${failing.join(', ')}). Only a possible cause: load or prices, because nothing in the events explains it.`,
    confidence: 'low',
    cites: [],
  };
}

/** Names the first of these that differs. */
const SUSPECTS: readonly ((field: string) => boolean)[] = [
  field => field.startsWith('policy.'),
  field => OF_MODEL.test(field),
  field => field === 'environment_hash',
  field => field.startsWith('provenance.'),
];

function citeOf(index: number): string {
  return `comparability.fields[${index}]`;
}
