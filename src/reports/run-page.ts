import { VERSION } from '../base/version.ts';
import { type JudgedCase, trialOf, unjudgedIn } from '../contracts/evaluation/index.ts';
import { unmetText } from '../contracts/gate/limits/index.ts';
import { groupOf } from '../contracts/suite/index.ts';
import { caseJson } from './case-json.ts';
import { problemGroups } from './cause-groups.ts';
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
import type { FoundInCases, PageHead, PageTrial, Tone } from './page-data.ts';
import { problemsOf, runNote } from './report.ts';
import type { RunReportInput } from './report-input.ts';

/** One judged suite run, failures first. */
export function runPage(input: RunReportInput): Page {
  return judgedPage(input, input.evaluation.cases, headOf(input));
}

/** What a page of judged cases reads. */
export type JudgedSources = Omit<RunReportInput, 'run' | 'evaluation' | 'repetition' | 'parts'> & {
  readonly run: Pick<RunReportInput['run'], 'run_id' | 'version'>;
};

/** Judged cases, failures first, under a head. */
export function judgedPage(input: JudgedSources, judged: readonly JudgedCase[], head: BareHead): Page {
  const { run } = input;
  const cases = sortedBy(judged, one => ORDER.indexOf(kindOf(one)));
  const rowOf = new Map(cases.map(({ case_id }, row) => [case_id, row]));
  const { words, ...onlySide } = searchable(sideOf(input), rowOf);
  const asked = new Map([...(input.cases?.() ?? [])].map(one => [one.id, { title: one.title, ...groupOf(one) }]));
  const groups = cases.map(({ case_id }): ReturnType<typeof groupOf> => asked.get(case_id) ?? {});
  const suites = new Vocabulary([...asked.values()].flatMap(({ suite }) => suite ?? []));
  const errors = new Vocabulary(cases.flatMap(({ error_class }) => error_class ?? []));
  return {
    head: {
      ...head,
      ...doubted(head, input.damage),
      suites: suites.words,
      error_classes: errors.words,
      causes: pageCauses(problemGroups(cases), rowOf),
      expectations: pageFacets(
        cases.map(one => (one.verdict === 'fail' ? problemsOf(one).map(({ name }) => name) : [])),
      ),
      tags: pageFacets(groups.map(({ tags = [] }) => tags)),
      severities: pageFacets(groups.map(({ severity }) => (severity === undefined ? [] : [severity]))),
      measures: measuresOf(
        cases.map(one => ({ baseline: [], new: [told(run.run_id, one)] })),
        'run',
      ),
    },
    words,
    *rows() {
      for (const one of cases) {
        const trials = [told(run.run_id, one)];
        yield [
          one.case_id,
          titleText(asked.get(one.case_id)?.title),
          kindOf(one),
          suites.placeOf(asked.get(one.case_id)?.suite),
          '',
          lettersOf(trials),
          errors.placeOf(one.error_class),
          null,
          meanLatency(trials),
          null,
          meanCost(trials),
          whyText(problemsOf(one)[0]?.message),
        ];
      }
    },
    ...detailsOf(
      cases,
      one => kindOf(one) === 'pass',
      one =>
        caseJson({ ...onlySide, assetText: (_, href) => input.assetText?.(run.version, href) }, one.case_id, {
          trials: { baseline: [], new: [told(run.run_id, one)] },
          assertions: one.assertions,
          divergence: null,
          changes: [],
        }),
    ),
  };
}

const ORDER: readonly ReturnType<typeof kindOf>[] = ['fail', 'error', 'unjudged', 'pass'];

/** A case without a judged expectation proves nothing, so it does not count as passed. */
function kindOf(one: JudgedCase): JudgedCase['verdict'] | 'unjudged' {
  const { bare, open } = unjudgedIn([one]);
  return bare + open > 0 ? 'unjudged' : one.verdict;
}

/** The page shows the only side as the candidate, even if it is a baseline. */
function sideOf({ run, pairs, inputs, further }: JudgedSources): Pick<JudgedSources, 'pairs' | 'inputs' | 'further'> {
  return {
    inputs,
    further: id => {
      const pair = further?.(id);
      return pair && { new: pair[run.version] };
    },
    pairs: id => {
      const pair = pairs(id);
      return { new: pair[run.version], case: pair.case, unproven: pair.unproven };
    },
  };
}

function told(run_id: string, one: JudgedCase): PageTrial {
  return { run_id, ...trialOf(one) };
}

/** A head without what the cases add to it. */
export type BareHead = Omit<PageHead, FoundInCases>;

function headOf({ run, evaluation, repetition, parts, commands }: RunReportInput): BareHead {
  const { total, passed, failed, errors, unjudged } = evaluation.summary;
  const unmet = unmetText(evaluation.gate?.checks ?? []);
  const tone: Tone = unmet !== undefined || failed + errors > 0 ? 'bad' : total === unjudged ? 'unsure' : 'good';
  const unproven = unjudged > 0 ? `, ${NUMBER.format(unjudged)} not judged` : '';
  const [p, f, e] = [passed - unjudged, failed, errors].map(number => NUMBER.format(number));
  return {
    kind: 'run',
    id: run.run_id,
    generated_at: run.generated_at,
    proctor_version: VERSION,
    style_mark: styleMark(run.run_id, run.generated_at),
    tone,
    word:
      unmet !== undefined
        ? 'Limit not met'
        : { good: 'All passed', bad: 'Not all passed', unsure: 'Nothing judged' }[tone],
    ...headlineOf(
      [
        unmet,
        total === 0
          ? 'The run has no cases.'
          : `${p} passed, ${f} failed, ${e} ${errors === 1 ? 'error' : 'errors'}${unproven}.`,
      ]
        .filter(Boolean)
        .join(' '),
    ),
    counts: [
      { label: 'Passed', value: passed - unjudged, filter: 'verdict', of: 'pass' },
      { label: 'Failed', value: failed, filter: 'verdict', of: 'fail' },
      { label: 'Errors', value: errors, filter: 'verdict', of: 'error' },
      ...(unjudged > 0 ? [{ label: 'Not judged', value: unjudged, filter: 'verdict', of: 'unjudged' } as const] : []),
    ],
    cases: evaluation.cases.length,
    ...(commands && { commands }),
    run: {
      version: run.version,
      target: run.base_url,
      seal_sha256: evaluation.seal_sha256,
      unjudged,
      repairs: evaluation.repairs ?? null,
      note: runNote({ repetition, parts }) ?? null,
    },
  };
}

const NUMBER = new Intl.NumberFormat('en-US');
