import { bytesHash } from '../base/hash.ts';
import { VERSION } from '../base/version.ts';
import { caseData } from './case-data.ts';
import type { Kind, PageCase, PageHead, PageRow, Tone } from './page-data.ts';
import type {
  Change,
  ComparedCase,
  Comparison,
  JudgedCase,
  ReportInput,
  RunReportInput,
  Trial,
} from './report-input.ts';

/** What a page will hold, read as late as possible. */
export interface Page {
  readonly head: PageHead;
  /** All cases in the order in which they are shown, most telling first. */
  readonly rows: () => Iterable<PageRow>;
  /** The data of the cases that deserve to be there in full, each with the index of its row. */
  readonly details: (rows: number) => Iterable<readonly [number, () => PageCase]>;
  readonly wanted: number;
}

/** How many cases are there in full although nothing has happened to them. */
const CALM_CASES_MAX = 200;
const TITLE_CHARS_MAX = 160;
const WHY_CHARS_MAX = 200;

export function comparisonPage(input: ReportInput): Page {
  const { comparison } = input;
  const rank = (one: ComparedCase): number => ORDER.indexOf(one.change) + (isCalm(one) ? 0.5 : 0);
  const cases = sortedBy(comparison.cases, rank);
  const words = vocabularyOf(
    input,
    ({ new: fresh, baseline }: ComparedCase) => errorOf(fresh.trials, baseline.trials),
    cases,
  );
  return {
    head: { ...comparisonHead(input), suites: words.suites, error_classes: words.errors },
    *rows() {
      for (const one of cases) {
        const { baseline, new: fresh, failing, divergence } = one;
        const why = failing.find(({ message }) => message !== null)?.message ?? divergence?.says ?? missingSide(one);
        yield [
          one.case_id,
          clipped(one.title ?? words.titleOf(one.case_id), TITLE_CHARS_MAX),
          one.change,
          words.suiteOf(one.case_id),
          lettersOf(baseline.trials),
          lettersOf(fresh.trials),
          words.errorOf(one),
          middle(baseline.trials, 'latency_ms', 10),
          middle(fresh.trials, 'latency_ms', 10),
          middle(baseline.trials, 'cost_usd', 1e6),
          middle(fresh.trials, 'cost_usd', 1e6),
          isCalm(one) ? 0 : clipped(why, WHY_CHARS_MAX),
        ];
      }
    },
    ...detailsOf(cases, isCalm, one => {
      const { baseline, new: fresh, failing, divergence } = one;
      return caseData(input, one.case_id, {
        trials: { baseline: baseline.trials, new: fresh.trials },
        assertions: failing.map(({ name, message, at }) => ({ name, message, at, status: 'fail' })),
        divergence,
      });
    }),
  };
}

/** A case to which nothing has happened. */
const isCalm = (one: ComparedCase): boolean =>
  one.change === 'same' && one.new.trials.every(({ verdict }) => verdict === 'pass');

/** The order in which cases ask to be looked at. */
const ORDER: readonly Kind[] = ['regressed', 'flaky', 'missing', 'improved', 'same'];
const RUN_ORDER: readonly Kind[] = ['fail', 'error', 'pass'];

export function runPage(input: RunReportInput): Page {
  const { run, evaluation } = input;
  const cases = sortedBy(evaluation.cases, ({ verdict }) => RUN_ORDER.indexOf(verdict));
  const words = vocabularyOf(input, ({ error_class }: JudgedCase) => error_class, cases);
  const trialOf = ({ verdict, error_class, output_hash, metrics }: JudgedCase): Trial => {
    const { latency_ms, cost_usd, score } = metrics;
    return { run_id: run.run_id, verdict, error_class, output_hash, latency_ms, cost_usd, score };
  };
  return {
    head: { ...runHead(input), suites: words.suites, error_classes: words.errors },
    *rows() {
      for (const one of cases) {
        const trials = [trialOf(one)];
        const failing = one.assertions.find(({ status }) => status === 'fail');
        yield [
          one.case_id,
          clipped(words.titleOf(one.case_id), TITLE_CHARS_MAX),
          one.verdict,
          words.suiteOf(one.case_id),
          '',
          lettersOf(trials),
          words.errorOf(one),
          null,
          middle(trials, 'latency_ms', 10),
          null,
          middle(trials, 'cost_usd', 1e6),
          clipped(failing?.message ?? null, WHY_CHARS_MAX),
        ];
      }
    },
    ...detailsOf(
      cases,
      ({ verdict }) => verdict === 'pass',
      one =>
        caseData(input, one.case_id, {
          trials: { baseline: [], new: [trialOf(one)] },
          assertions: one.assertions,
          divergence: null,
        }),
    ),
  };
}

function comparisonHead({ comparison, targets }: ReportInput): Omit<PageHead, 'suites' | 'error_classes'> {
  const { comparison_id, generated_at, verdict, reason, gate, comparability, sides, summary, statistics } = comparison;
  const { mcnemar, metrics, more_trials } = statistics;
  const [tone, word] = VERDICTS[verdict];
  return {
    kind: 'comparison',
    id: comparison_id,
    generated_at,
    proctor_version: VERSION,
    style_mark: markOf(comparison_id, generated_at),
    tone,
    word,
    sentence: reason,
    counts: (['regressed', 'improved', 'flaky', 'missing', 'same'] as const).map(of => ({
      label: CHANGES[of],
      value: summary[of],
      filter: 'change',
      of,
    })),
    cases: comparison.cases.length,
    comparison: {
      gate: { mode: gate.mode, breaches: gate.breaches.map(({ message }) => ({ message })) },
      comparability,
      sides: {
        baseline: { ...sides.baseline, target: targets?.baseline ?? null },
        new: { ...sides.new, target: targets?.new ?? null },
      },
      metrics,
      mcnemar,
      more_trials,
    },
  };
}

const VERDICTS: Record<Comparison['verdict'], readonly [Tone, string]> = {
  no_regression: ['good', 'No regression'],
  regression: ['bad', 'Regression'],
  not_enough_evidence: ['unsure', 'Not enough evidence'],
};

const CHANGES: Record<Change, string> = {
  regressed: 'Regressed',
  improved: 'Improved',
  flaky: 'Flaky',
  missing: 'Missing',
  same: 'Same',
};

function runHead({ run, evaluation }: RunReportInput): Omit<PageHead, 'suites' | 'error_classes'> {
  const { total, passed, failed, errors, unjudged } = evaluation.summary;
  const tone: Tone = total === 0 ? 'unsure' : failed + errors === 0 ? 'good' : 'bad';
  return {
    kind: 'run',
    id: run.run_id,
    generated_at: run.generated_at,
    proctor_version: VERSION,
    style_mark: markOf(run.run_id, run.generated_at),
    tone,
    word: { good: 'All passed', bad: 'Not all passed', unsure: 'Nothing to judge' }[tone],
    sentence:
      total === 0
        ? 'The run has no case.'
        : `${NUMBER.format(passed)} passed, ${NUMBER.format(failed)} failed, ${NUMBER.format(errors)} ${errors === 1 ? 'error' : 'errors'}.`,
    counts: [
      { label: 'Passed', value: passed, filter: 'verdict', of: 'pass' },
      { label: 'Failed', value: failed, filter: 'verdict', of: 'fail' },
      { label: 'Errors', value: errors, filter: 'verdict', of: 'error' },
    ],
    cases: evaluation.cases.length,
    run: { version: run.version, target: run.base_url, seal_sha256: evaluation.seal_sha256, unjudged },
  };
}

/** Not known to an agent before its answer was given, and the same whenever the page is written. */
const markOf = (...parts: string[]): string =>
  bytesHash(parts.join('\n')).slice('sha256:'.length, 'sha256:'.length + 32);

const NUMBER = new Intl.NumberFormat('en-US');

function detailsOf<Case>(
  cases: readonly Case[],
  isCalm: (one: Case) => boolean,
  read: (one: Case) => PageCase,
): Pick<Page, 'details' | 'wanted'> {
  const telling = cases.findIndex(isCalm);
  const wanted = telling === -1 ? cases.length : Math.min(cases.length, telling + CALM_CASES_MAX);
  return {
    wanted,
    *details(rows) {
      for (let index = 0; index < Math.min(rows, wanted); index++) yield [index, () => read(cases[index] as Case)];
    },
  };
}

/** Stable, so that cases of one rank stay in the order of their suite. */
function sortedBy<Case>(cases: readonly Case[], rank: (one: Case) => number): Case[] {
  return cases
    .map(one => ({ one, at: rank(one) }))
    .sort((a, b) => a.at - b.at)
    .map(({ one }) => one);
}

/** Words that many rows share, each written once. */
function vocabularyOf<Case extends { readonly case_id: string }>(
  { cases: walk }: Pick<ReportInput, 'cases'>,
  error: (one: Case) => string | null,
  cases: readonly Case[],
) {
  const suiteById = new Map<string, string>();
  const titleById = new Map<string, string>();
  for (const { id, suite, title } of walk?.() ?? []) {
    if (suite) suiteById.set(id, suite);
    if (title) titleById.set(id, title);
  }
  const suites = indexed(suiteById.values());
  const errors = indexed(cases.flatMap(one => error(one) ?? []));
  return {
    suites: [...suites.keys()],
    errors: [...errors.keys()],
    suiteOf: (id: string): number => suites.get(suiteById.get(id) ?? '') ?? -1,
    titleOf: (id: string): string | null => titleById.get(id) ?? null,
    errorOf: (one: Case): number => errors.get(error(one) ?? '') ?? -1,
  };
}

/** Each word once, in order, with its place. */
const indexed = (words: Iterable<string>): ReadonlyMap<string, number> =>
  new Map([...new Set(words)].sort((a, b) => (a < b ? -1 : 1)).map((word, index) => [word, index]));

const errorOf = (...sides: (readonly Trial[])[]): string | null =>
  sides.flat().find(({ error_class }) => error_class !== null)?.error_class ?? null;

const lettersOf = (trials: readonly Trial[]): string => trials.map(({ verdict }) => verdict[0]).join('');

/** The median of the trials, rounded to a fraction that a row can show. */
function middle(trials: readonly Trial[], key: 'latency_ms' | 'cost_usd', fraction: number): number | null {
  const values = trials.flatMap(trial => trial[key] ?? []).sort((a, b) => a - b);
  const half = Math.floor(values.length / 2);
  const upper = values[half];
  if (upper === undefined) return null;
  const value = values.length % 2 === 1 ? upper : (upper + (values[half - 1] as number)) / 2;
  return Math.round(value * fraction) / fraction;
}

function clipped(text: string | null | undefined, charsMax: number): string | 0 {
  if (!text) return 0;
  return text.length <= charsMax ? text : `${text.slice(0, charsMax).toWellFormed()}…`;
}

function missingSide({ side_missing }: ComparedCase): string | null {
  if (side_missing === undefined) return null;
  return side_missing === 'both' ? 'Neither side has an answer.' : `The ${side_missing} side has no answer.`;
}
