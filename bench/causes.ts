/** `npm run bench:causes`: how often `compare` names the planted cause. */
import type { Divergence } from '../src/contracts/comparison/index.ts';
import { CAUSES } from './cause-pairs.ts';
import { precisionOf, recallOf, type Score, scoresOf } from './cause-scores.ts';
import { printRows, type Row } from './rows.ts';

/** Not seed 1, on which the generator and the rules were tuned. */
const SEEDS = (process.argv[2] ?? '20261,20262,20263').split(',').map(Number);
const PAIRS_EACH = Number(process.argv[3] ?? 100);
const PRECISION_OF_HIGH = 0.95;

const scores = SEEDS.flatMap(seed => scoresOf(seed, PAIRS_EACH));
const CONFIDENCES = ['high', 'medium', 'low'] as const;

printRows('causes', [...CONFIDENCES.map(ofConfidence), ...CAUSES.flatMap(cause => ofCause(cause))]);

function ofConfidence(confidence: Divergence['confidence']): Row {
  const isNamed = (named: Divergence): boolean => named.confidence === confidence;
  const precision = precisionOf(scores, isNamed);
  const isBound = confidence === 'high';
  return {
    what: `precision where confidence is ${confidence}`,
    ratio: precision ?? 0,
    bound: isBound ? `≥ ${PRECISION_OF_HIGH}` : '–',
    holds: !isBound || (precision ?? 0) >= PRECISION_OF_HIGH,
    detail: `${countOf(isNamed)} of ${scores.length} pairs`,
  };
}

function ofCause(cause: (typeof CAUSES)[number]): Row[] {
  const planted = scores.filter(score => score.planted === cause);
  const precision = precisionOf(scores, ({ kind }) => kind === cause);
  return [
    {
      what: `${cause}: precision`,
      ratio: precision ?? 0,
      bound: '–',
      holds: true,
      detail: `named ${countOf(({ kind }) => kind === cause)} times`,
    },
    {
      what: `${cause}: recall`,
      ratio: recallOf(scores, cause),
      bound: '–',
      holds: true,
      detail: `of ${planted.length}; otherwise ${mistakenFor(planted)}`,
    },
  ];
}

function countOf(isNamed: (named: Divergence) => boolean): number {
  return scores.filter(({ named }) => named !== null && isNamed(named)).length;
}

/** Lists the wrong causes, most frequent first. */
function mistakenFor(planted: readonly Score[]): string {
  const counts = new Map<string, number>();
  for (const { planted: cause, named } of planted) {
    const kind = named?.kind ?? 'nothing';
    if (kind !== cause) counts.set(kind, (counts.get(kind) ?? 0) + 1);
  }
  const sorted = [...counts].sort(([, a], [, b]) => b - a).map(([kind, count]) => `${kind} ${count}`);
  return sorted.length === 0 ? 'nothing' : sorted.join(', ');
}
