import { VERSION } from '../base/version.ts';
import { type JudgedCase, summaryOf } from '../contracts/evaluation/index.ts';
import type { SuiteCase } from '../contracts/suite/index.ts';
import { type Page, styleMark, titleText, whyText } from './page.ts';
import type { PageCase } from './page-data.ts';
import type { PageUnderWay } from './page-under-way.ts';
import { type BareHead, judgedPage, type JudgedSources } from './run-page.ts';

/** A suite run that is not finished, as far as its journal goes. */
export interface OpenRunInput extends Omit<JudgedSources, 'damage' | 'further' | 'commands'> {
  readonly target: string;
  readonly startedAt: string | null;
  /** The process that runs it is alive. */
  readonly isAlive: boolean;
  /** How many cases the run has. */
  readonly total: number;
  /** The finished cases with an early verdict. The evaluation after the run decides. */
  readonly judged: readonly JudgedCase[];
  readonly underWay: readonly CaseUnderWay[];
}

export interface CaseUnderWay extends PageUnderWay {
  readonly case_id: string;
  readonly case: SuiteCase | undefined;
}

/** The cases of a running suite: failures first, and cases without an answer last. */
export function openRunPage(input: OpenRunInput): Page {
  const { underWay, judged } = input;
  const page = judgedPage(input, judged, headOf(input));
  return {
    ...page,
    *rows() {
      yield* page.rows();
      for (const { case_id: id, case: asked, attempts } of underWay) {
        const suite = asked?.suite === undefined ? -1 : page.head.suites.indexOf(asked.suite);
        const why = whyText(attempts.at(-1)?.note);
        yield [id, titleText(asked?.title), 'running', suite, '', '', -1, null, null, null, null, why];
      }
    },
    caseText: row => {
      const waiting = underWay[row - judged.length];
      return waiting ? JSON.stringify(caseOf(waiting)) : page.caseText(row);
    },
  };
}

function caseOf({ case: asked, attempts, sent }: CaseUnderWay): PageCase {
  return {
    input: asked?.input ?? null,
    expected: asked?.expected ?? null,
    trials: { baseline: [], new: [] },
    assertions: [],
    divergence: null,
    changes: [],
    baseline: null,
    new: null,
    shown: {},
    assets: { baseline: {}, new: {} },
    cuts: [],
    steps: null,
    under_way: { attempts, sent },
  };
}

function headOf({ run, target, startedAt, isAlive, total, judged, underWay }: OpenRunInput): BareHead {
  const { passed, failed, errors, unjudged } = summaryOf([...judged]);
  const soFar = `${judged.length} of ${total} ${total === 1 ? 'case is' : 'cases are'} done`;
  const bad = failed + errors > 0 ? `, ${failed} failed, ${errors} ${errors === 1 ? 'error' : 'errors'}` : '';
  return {
    kind: 'run',
    id: run.run_id,
    generated_at: startedAt ?? '',
    proctor_version: VERSION,
    style_mark: styleMark(run.run_id, startedAt ?? ''),
    tone: failed + errors > 0 ? 'bad' : 'unsure',
    word: isAlive ? 'Running' : 'Interrupted',
    sentence: `${soFar}${bad}.`,
    details: isAlive ? null : 'The process that ran it is gone. Resume it to run the cases that are left.',
    counts: [
      { label: 'Passed', value: passed - unjudged, filter: 'verdict', of: 'pass' },
      { label: 'Failed', value: failed, filter: 'verdict', of: 'fail' },
      { label: 'Errors', value: errors, filter: 'verdict', of: 'error' },
      ...(unjudged > 0 ? [{ label: 'Not judged', value: unjudged, filter: 'verdict', of: 'unjudged' } as const] : []),
      { label: 'Under way', value: underWay.length, filter: 'verdict', of: 'running' },
    ],
    cases: judged.length + underWay.length,
    run: { version: run.version, target, seal_sha256: null, unjudged, repairs: null, note: null },
  };
}
