import type { Matrix, MatrixCell, MatrixPair, MatrixVersion } from '../contracts/matrix.ts';

/** The verdict on all versions, in a few words. */
export const MATRIX_WORDS: Readonly<Record<Matrix['verdict'], string>> = {
  no_regression: 'No version is worse',
  regression: 'Regression',
  not_enough_evidence: 'Not enough evidence',
};

/** The verdict on a pair, about its candidate. */
export function pairWord({ verdict, is_only_limit }: Pick<MatrixPair, 'verdict' | 'is_only_limit'>): string {
  if (is_only_limit) return 'limit not met';
  return verdict === 'regression' ? 'worse' : verdict === 'no_regression' ? 'not worse' : 'undecided';
}

export const CELL_WORDS: Readonly<Record<MatrixCell['state'], string>> = {
  pass: 'passed',
  fail: 'failed',
  flaky: 'flaky',
  missing: 'missing',
  unjudged: 'not judged',
  absent: 'not run',
};

/** Cases of any version for which this one has no trial that counts. */
export function withoutTrials({ states }: MatrixVersion): number {
  return states.missing + states.absent;
}

export function rateText(rate: MatrixVersion['pass_rate']): string {
  if (rate === null) return '–';
  const [low, high] = [rate.low, rate.high].map(one => Math.round(100 * one));
  return `${percentText(rate.rate)} (${low}–${high} %)`;
}

const percentText = (share: number): string => `${Number((100 * share).toFixed(1))} %`;

/** What a solved case costs; "–" if unknown. */
export const COSTS: readonly {
  readonly key: keyof MatrixVersion['per_solved'];
  readonly label: string;
  readonly text: (value: number) => string;
  /** Its column in a terminal. */
  readonly width: number;
}[] = [
  { key: 'cost_usd', label: 'cost', text: value => `$${figure(value)}`, width: 9 },
  { key: 'latency_ms', label: 'time', text: timeText, width: 8 },
  {
    key: 'tokens',
    label: 'tokens',
    text: value => value.toLocaleString('en-US', { maximumFractionDigits: 0 }),
    width: 8,
  },
];

export function perSolvedText({ per_solved }: MatrixVersion, { key, text }: (typeof COSTS)[number]): string {
  const value = per_solved[key];
  return value === null ? '–' : text(value);
}

function timeText(ms: number): string {
  if (ms < 1_000) return `${ms < 10 ? figure(ms) : Math.round(ms)} ms`;
  return ms < 120_000 ? `${figure(ms / 1_000)} s` : `${figure(ms / 60_000)} min`;
}

/** At most three significant digits, without an exponent. */
function figure(value: number): string {
  return value.toLocaleString('en-US', { maximumSignificantDigits: 3 });
}

/** How many pairs were judged, and how often the verdict may be a false alarm. */
export function alarmsText({ pairs, false_alarms: alarms, gate }: Matrix): string {
  const deciding = pairs.filter(({ is_deciding }) => is_deciding).length;
  const judged = `Proctor judged ${pairs.length} ordered pairs with the gate ${gate.mode}; ${deciding} of them decide.`;
  if (alarms === null) return `${judged} This gate uses no statistics, so its false alarm rate is unknown.`;
  const [each, any] = [alarms.each_at_most, alarms.any_at_most].map(percentText);
  return `${judged} If nothing changed, the chance of a false alarm is at most ${each} per pair and ${any} for the verdict.`;
}

export const NOT_EVIDENCE =
  'A matrix is a report, not evidence. proctor compare with two of the versions writes a sealed comparison.';

/** A condition such as `settings.timeout_ms`, in words. */
export function conditionName(field: string): string {
  const named = CONDITIONS.find(([prefix]) => field.startsWith(prefix));
  return named ? `${named[1]} ${field.slice(named[0].length)}`.trim() : field;
}

const CONDITIONS: readonly (readonly [prefix: string, name: string])[] = [
  ['provenance.', ''],
  ['settings.', 'setting'],
  ['policy.limits.', 'limit'],
  ['policy.sandbox.', 'sandbox'],
  ['environment_hash', 'environment'],
  ['cases_sha256', 'cases'],
  ['target.kind', 'kind of target'],
];

/** The first characters identify a hash. */
export function conditionText(value: string | null): string {
  return value === null ? '–' : value.replace(/sha256:([a-f0-9]{12})[a-f0-9]{52}/g, '$1…');
}
