import { VERSION } from '../base/version.ts';
import { type JudgedCase, trialOf } from '../contracts/evaluation/index.ts';
import { unmetText } from '../contracts/gate/limits/index.ts';
import { caseJson } from './case-json.ts';
import {
  meanCost,
  detailsOf,
  meanLatency,
  lettersOf,
  type Page,
  sortedBy,
  styleMark,
  titleText,
  Vocabulary,
  whyText,
} from './page.ts';
import type { PageHead, PageTrial, Tone } from './page-data.ts';
import { repetitionNote, problemsOf } from './report.ts';
import type { RunReportInput } from './report-input.ts';

/** One judged suite run, failures first. */
export function runPage(input: RunReportInput): Page {
  const { run, evaluation, pairs, assetText } = input;
  // The page shows the only side as the candidate, even if it is a baseline.
  const onlySide: Pick<RunReportInput, 'pairs' | 'assetText'> = {
    pairs: id => {
      const pair = pairs(id);
      return { new: pair[run.version], case: pair.case };
    },
    assetText: (_, href) => assetText?.(run.version, href),
  };
  const cases = sortedBy(evaluation.cases, ({ verdict }) => ORDER.indexOf(verdict));
  const asked = new Map([...(input.cases?.() ?? [])].map(({ id, suite, title }) => [id, { suite, title }]));
  const suites = new Vocabulary([...asked.values()].flatMap(({ suite }) => suite ?? []));
  const errors = new Vocabulary(cases.flatMap(({ error_class }) => error_class ?? []));
  return {
    head: { ...headOf(input), suites: suites.words, error_classes: errors.words },
    *rows() {
      for (const one of cases) {
        const trials = [told(run.run_id, one)];
        yield [
          one.case_id,
          titleText(asked.get(one.case_id)?.title),
          one.verdict,
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
      ({ verdict }) => verdict === 'pass',
      one =>
        caseJson(onlySide, one.case_id, {
          trials: { baseline: [], new: [told(run.run_id, one)] },
          assertions: one.assertions,
          divergence: null,
          changes: [],
        }),
    ),
  };
}

const ORDER: readonly JudgedCase['verdict'][] = ['fail', 'error', 'pass'];

function told(run_id: string, one: JudgedCase): PageTrial {
  return { run_id, ...trialOf(one) };
}

function headOf({ run, evaluation, repetition, commands }: RunReportInput): Omit<PageHead, 'suites' | 'error_classes'> {
  const { total, passed, failed, errors, unjudged } = evaluation.summary;
  const unmet = unmetText(evaluation.gate?.checks ?? []);
  const tone: Tone = unmet !== undefined || failed + errors > 0 ? 'bad' : total === unjudged ? 'unsure' : 'good';
  const unproven = unjudged > 0 ? ` (${NUMBER.format(unjudged)} of them not judged)` : '';
  const [p, f, e] = [passed, failed, errors].map(number => NUMBER.format(number));
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
    sentence: [
      unmet,
      total === 0
        ? 'The run has no cases.'
        : `${p} passed${unproven}, ${f} failed, ${e} ${errors === 1 ? 'error' : 'errors'}.`,
    ]
      .filter(Boolean)
      .join(' '),
    counts: [
      { label: 'Passed', value: passed, filter: 'verdict', of: 'pass' },
      { label: 'Failed', value: failed, filter: 'verdict', of: 'fail' },
      { label: 'Errors', value: errors, filter: 'verdict', of: 'error' },
    ],
    cases: evaluation.cases.length,
    ...(commands && { commands }),
    run: {
      version: run.version,
      target: run.base_url,
      seal_sha256: evaluation.seal_sha256,
      unjudged,
      repairs: evaluation.repairs ?? null,
      note: repetitionNote(repetition) ?? null,
    },
  };
}

const NUMBER = new Intl.NumberFormat('en-US');
