import { VERSION } from '../base/version.ts';
import type { ComparedCase, Comparison } from '../contracts/comparison/index.ts';
import { caseJson } from './case-json.ts';
import { embeddedTrials, furtherTrials, type TrialsOfCase } from './case-trials.ts';
import { causeGroups } from './cause-groups.ts';
import { casesNote, changeLines } from './changes.ts';
import { pageCauses, pageFacets } from './facets.ts';
import { measuresOf } from './measures.ts';
import {
  meanCost,
  detailsOf,
  doubted,
  headlineOf,
  meanLatency,
  lettersOf,
  type Page,
  searchable,
  sortedBy,
  styleMark,
  titleText,
  Vocabulary,
  whyText,
} from './page.ts';
import { pageGrounds } from './page-grounds.ts';
import type { FoundInCases, PageHead, Tone } from './page-data.ts';
import { repairedSides } from './repaired.ts';
import { breachMessages, causesNote, failuresOf, SIDE_NAMES, verdictWord } from './report.ts';
import type { ReportedPair, ReportInput } from './report-input.ts';
import { byFinding, flaggedCases } from './tally.ts';

/** Both sides of a comparison, regressions first. */
export function comparisonPage(input: ReportInput): Page {
  const findings = flaggedCases(input.comparison);
  const rank = (one: ComparedCase): number => ORDER.indexOf(one.change) + (isCalm(one) ? 0.5 : 0);
  const cases = byFinding(sortedBy(input.comparison.cases, rank), findings);
  const suites = new Vocabulary(cases.flatMap(({ suite }) => suite ?? []));
  const errors = new Vocabulary(cases.flatMap(one => errorOf(one) ?? []));
  const rowOf = new Map(cases.map(({ case_id }, row) => [case_id, row]));
  const { read, shown } = remembered(input);
  const { pairs, words } = searchable({ ...input, pairs: read }, rowOf);
  return {
    head: {
      ...doubtedHead(input),
      suites: suites.words,
      error_classes: errors.words,
      causes: pageCauses(causeGroups(cases), rowOf),
      expectations: pageFacets(cases.map(({ failing }) => failing.map(({ name }) => name))),
      tags: pageFacets(cases.map(({ tags = [] }) => tags)),
      severities: pageFacets(cases.map(({ severity }) => (severity === undefined ? [] : [severity]))),
      measures: measuresOf(
        cases.map(({ baseline, new: fresh }) => ({ baseline: baseline.trials, new: fresh.trials })),
        'comparison',
      ),
    },
    words,
    *rows() {
      for (const one of cases) {
        const { baseline, new: fresh } = one;
        const finding = findings.get(one.case_id);
        const row = [
          one.case_id,
          titleText(one.title),
          one.change,
          suites.placeOf(one.suite),
          lettersOf(baseline.trials),
          lettersOf(fresh.trials),
          errors.placeOf(errorOf(one)),
          meanLatency(baseline.trials),
          meanLatency(fresh.trials),
          meanCost(baseline.trials),
          meanCost(fresh.trials),
          isCalm(one)
            ? 0
            : whyText(failuresOf(one)[0]?.message ?? one.divergence?.says ?? missingSide(one) ?? changeLines(one)[0]),
        ] as const;
        yield finding ? [...row, finding.as, `${finding.baseline} → ${finding.new}`] : row;
      }
    },
    ...detailsOf(cases, isCalm, one =>
      caseJson({ ...input, pairs }, one.case_id, {
        trials: { baseline: one.baseline.trials, new: one.new.trials },
        assertions: one.failing.map(({ name, message, at }) => ({ name, message, at, status: 'fail' })),
        divergence: one.divergence,
        changes: changeLines(one),
      }),
    ),
    trials: (full, fits) => embeddedTrials(input, needingAttention(cases.slice(0, full), shown), fits),
    trialsOf: row => furtherTrials(input, trialsIn(cases[row] as ComparedCase, shown)),
  };
}

function doubtedHead(input: ReportInput): Omit<PageHead, FoundInCases> {
  const head = headOf(input);
  return { ...head, ...doubted(head, input.damage) };
}

type Shown = ReadonlyMap<string, ReportedPair['runIds']>;

/** Reads pairs, and remembers which run each case shows first. */
function remembered({ pairs }: Pick<ReportInput, 'pairs'>): { read: ReportInput['pairs']; shown: Shown } {
  const shown = new Map<string, ReportedPair['runIds']>();
  const read: ReportInput['pairs'] = id => {
    const pair = pairs(id);
    shown.set(id, pair.runIds);
    return pair;
  };
  return { read, shown };
}

/** The cases that need attention, which come first. */
function needingAttention(cases: readonly ComparedCase[], shown: Shown): TrialsOfCase[] {
  const calm = cases.findIndex(isCalm);
  return (calm < 0 ? cases : cases.slice(0, calm)).map(one => trialsIn(one, shown));
}

const trialsIn = ({ case_id: id, baseline, new: fresh }: ComparedCase, shown: Shown): TrialsOfCase => ({
  id,
  trials: { baseline: baseline.trials, new: fresh.trials },
  shown: shown.get(id) ?? {},
});

/** Most urgent first. */
const ORDER: readonly ComparedCase['change'][] = ['regressed', 'flaky', 'missing', 'improved', 'same'];

/** A case that did not change and still passes. */
const isCalm = (one: ComparedCase): boolean =>
  one.change === 'same' && !one.changed && one.new.trials.every(({ verdict }) => verdict === 'pass');

const errorOf = ({ baseline, new: fresh }: ComparedCase): string | null =>
  firstError(fresh.trials) ?? firstError(baseline.trials) ?? null;

const firstError = (trials: ComparedCase['new']['trials']): string | null | undefined =>
  trials.find(({ error_class }) => error_class !== null)?.error_class;

function missingSide({ side_missing }: ComparedCase): string | null {
  if (side_missing === undefined) return null;
  return side_missing === 'both'
    ? 'Neither side has an answer.'
    : `There is no answer from ${SIDE_NAMES[side_missing]}.`;
}

function headOf({ comparison, targets, commands }: ReportInput): Omit<PageHead, FoundInCases> {
  const { comparison_id, generated_at, verdict, reason, gate, comparability, sides, summary, statistics } = comparison;
  const { metrics } = statistics;
  const repaired = repairedSides(comparison);
  return {
    kind: 'comparison',
    id: comparison_id,
    generated_at,
    proctor_version: VERSION,
    style_mark: styleMark(comparison_id, generated_at),
    tone: TONES[verdict],
    word: verdictWord(comparison),
    ...headlineOf(reason),
    counts: [
      { label: 'Regressed', value: summary.regressed, filter: 'change', of: 'regressed' },
      { label: 'Improved', value: summary.improved, filter: 'change', of: 'improved' },
      { label: 'Flaky', value: summary.flaky, filter: 'change', of: 'flaky' },
      { label: 'Missing', value: summary.missing, filter: 'change', of: 'missing' },
      { label: 'Same', value: summary.same, filter: 'change', of: 'same' },
    ],
    cases: comparison.cases.length,
    ...(commands && { commands }),
    comparison: {
      gate: { mode: gate.mode, breaches: breachMessages(comparison).map(message => ({ message })) },
      comparability,
      sides: {
        baseline: { ...sides.baseline, target: targets?.baseline ?? null, repairs: repaired.baseline ?? null },
        new: { ...sides.new, target: targets?.new ?? null, repairs: repaired.new ?? null },
      },
      metrics,
      grounds: pageGrounds(comparison),
      causes_note: causesNote(comparison) ?? null,
      cases_note: casesNote(comparison) ?? null,
    },
  };
}

const TONES: Record<Comparison['verdict'], Tone> = {
  no_regression: 'good',
  regression: 'bad',
  not_enough_evidence: 'unsure',
};
