import type { CaseArtifact } from '../contracts/artifacts/index.ts';
import type {
  ComparedCase,
  ComparedSide,
  Comparison,
  Divergence,
  MetricComparison,
} from '../contracts/comparison/index.ts';
import type { Side } from './report-input.ts';

/** What stands in the page beside its code. The page and its writer share these types and nothing else. */
export interface PageHead {
  readonly kind: 'comparison' | 'run';
  readonly id: string;
  readonly generated_at: string;
  readonly proctor_version: string;
  /** What styles inside the HTML of an agent are marked with, so that the policy of the page lets them through. */
  readonly style_mark: string;
  readonly tone: Tone;
  /** The verdict in a word or two, such as "Regression". */
  readonly word: string;
  readonly sentence: string;
  readonly counts: readonly Count[];
  readonly cases: number;
  readonly suites: readonly string[];
  readonly error_classes: readonly string[];
  readonly comparison?: {
    readonly gate: { readonly mode: string; readonly breaches: readonly { readonly message: string }[] };
    readonly comparability: Comparison['comparability'];
    readonly sides: { readonly [Which in Side]: ComparedSide & { readonly target: string | null } };
    readonly metrics: readonly MetricComparison[];
    /** What the trials show of the whole suite. */
    readonly decision_note: string | null;
    /** What must be known of the causes. */
    readonly causes_note: string | null;
    /** Which cases were changed, removed or added. */
    readonly cases_note: string | null;
  };
  readonly run?: {
    readonly version: Side;
    readonly target: string;
    readonly seal_sha256: string;
    readonly unjudged: number;
    /** What must be known of the runs beside it. */
    readonly note: string | null;
  };
}

export type Tone = 'good' | 'bad' | 'unsure';

/** One of the numbers beside the verdict: how many cases a filter would leave. */
interface Count {
  readonly label: string;
  readonly value: number;
  readonly filter: 'change' | 'verdict';
  readonly of: Kind;
}

/** What a row is sorted and coloured by: the change of a comparison, or the verdict of a run. */
export type Kind = ComparedCase['change'] | 'pass' | 'fail' | 'error';

/** One case in the list, as short as JSON allows: 100,000 of them must fit. */
export type PageRow = readonly [
  id: string,
  title: string | 0,
  kind: Kind,
  /** Index into `suites`, or -1. */
  suite: number,
  /** A letter per trial: p, f or e. */
  baseline: string,
  fresh: string,
  /** Index into `error_classes`, or -1. */
  errorClass: number,
  baselineMs: number | null,
  freshMs: number | null,
  baselineUsd: number | null,
  freshUsd: number | null,
  /** Why the case stands where it does, in a sentence. */
  why: string | 0,
];

/** What one run said of the case. */
export type PageTrial = ComparedCase['new']['trials'][number];

interface PageAssertion {
  readonly name: string;
  readonly status: 'pass' | 'fail' | 'not_judged';
  readonly message: string | null;
  readonly at: string | null;
}

/** Everything of one case. */
export interface PageCase {
  readonly input: unknown;
  readonly expected: unknown;
  readonly trials: { readonly [Which in Side]: readonly PageTrial[] };
  readonly assertions: readonly PageAssertion[];
  readonly divergence: Divergence | null;
  /** How the case differs from what it was in the baseline, a line each. */
  readonly changes: readonly string[];
  readonly baseline: CaseArtifact | null;
  readonly new: CaseArtifact | null;
  /** The runs that the artifacts are of, where that is known. */
  readonly shown: { readonly [Which in Side]?: string | undefined };
  readonly assets: { readonly [Which in Side]: { readonly [href: string]: string } };
  /** What was left out of this case to keep the page small, in sentences. */
  readonly cuts: readonly string[];
}

/** Written last, when it is known: how much of the truth this page holds. */
export interface Coverage {
  readonly cases: number;
  readonly rows: number;
  readonly full: number;
  /** How many should have been there in full, had there been room. */
  readonly wanted: number;
  readonly bytes_max: number;
}
