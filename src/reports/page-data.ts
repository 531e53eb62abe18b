import type { RepairSums } from '../contracts/artifacts/repairs.ts';
import type { EventRow } from '../contracts/artifacts/event-rows.ts';
import type { CaseArtifact } from '../contracts/artifacts/index.ts';
import type {
  ComparedCase,
  ComparedSide,
  Comparison,
  Decision,
  Divergence,
  MetricComparison,
} from '../contracts/comparison/index.ts';
import type { Concern } from './cause-groups.ts';
import type { PageUnderWay } from './page-under-way.ts';
import type { ReportSide } from './report-input.ts';

/** The data in the page. The page and its writer share only these types. */
export interface PageHead {
  readonly kind: 'comparison' | 'run';
  readonly id: string;
  readonly generated_at: string;
  readonly proctor_version: string;
  /** The nonce that lets styles in the agent's HTML pass the content security policy. */
  readonly style_mark: string;
  readonly tone: Tone;
  /** The verdict in one or two words, such as "Regression". */
  readonly word: string;
  /** The verdict as a headline. */
  readonly sentence: string;
  /** The whole sentence, if the headline is only a part of it. */
  readonly details: string | null;
  readonly counts: readonly Count[];
  /** Why cases need attention. */
  readonly causes: PageCauses;
  readonly expectations: PageFacets;
  readonly tags: PageFacets;
  readonly severities: PageFacets;
  readonly measures: readonly PageMeasure[];
  readonly cases: number;
  readonly suites: readonly string[];
  readonly error_classes: readonly string[];
  readonly comparison?: {
    readonly gate: { readonly mode: string; readonly breaches: readonly { readonly message: string }[] };
    readonly comparability: Comparison['comparability'];
    readonly sides: { readonly [Which in ReportSide]: ComparedSide & SideNotes };
    readonly metrics: readonly MetricComparison[];
    /** The evidence behind the verdict; null if no decision was stored. */
    readonly grounds: PageGrounds | null;
    /** A caveat about the causes. */
    readonly causes_note: string | null;
    /** Which cases were changed, removed or added. */
    readonly cases_note: string | null;
  };
  readonly run?: {
    readonly version: ReportSide;
    readonly target: string;
    /** Null while the run is open. */
    readonly seal_sha256: string | null;
    readonly unjudged: number;
    readonly repairs: RepairSums | null;
    /** A note about the other repetitions. */
    readonly note: string | null;
  };
  /** The commands to run next; absent if the writer does not know the runs. */
  readonly commands?: PageCommands;
}

/** The parts of the head that come from the sorted cases. */
export type FoundInCases = 'suites' | 'error_classes' | 'causes' | 'expectations' | 'tags' | 'severities' | 'measures';

/** What the page knows about a side beyond the comparison. */
interface SideNotes {
  readonly target: string | null;
  /** Summed over all trials; null if nothing was repaired. */
  readonly repairs: RepairSums | null;
}

/** The evidence behind a verdict. */
export interface PageGrounds {
  readonly rates: Decision['rates'];
  readonly rates_note: string | null;
  readonly notes: readonly { readonly label: string; readonly says: string }[];
  /** The first cases that the gate singled out, and their total. */
  readonly findings: readonly PageFinding[];
  readonly found: number;
}

interface PageFinding {
  readonly case_id: string;
  readonly as: 'broken' | 'suspect';
  readonly baseline: string;
  readonly new: string;
  readonly p: number;
}

export type Tone = 'good' | 'bad' | 'unsure';

/** A count next to the verdict, and the filter that it applies. */
interface Count {
  readonly label: string;
  readonly value: number;
  readonly filter: 'change' | 'verdict';
  readonly of: RowKind;
}

/** Sorts and colours a row: the change in a comparison, or the verdict in a run. */
export type RowKind = ComparedCase['change'] | 'pass' | 'fail' | 'error' | 'unjudged' | 'running';

/** A value that the list can be filtered by. */
export interface PageFacet {
  readonly text: string;
  readonly count: number;
  /** The numbers of its rows, as written by `rowList`. */
  readonly rows: string;
}

export interface PageFacets {
  readonly listed: readonly PageFacet[];
  /** How many values are not listed. */
  readonly more: number;
}

export interface PageCause extends PageFacet {
  readonly concern: Concern;
  /** The first cases, if the page does not have the rows. */
  readonly ids?: readonly string[];
}

/** The causes, the most urgent concern first, and the most frequent cause first. */
export interface PageCauses {
  readonly listed: readonly PageCause[];
  readonly more: number;
  readonly more_cases: number;
}

/** A metric of both sides. In a run, the only side is the candidate. */
export interface PageMeasure {
  readonly name: 'latency_ms' | 'ttft_ms' | 'cost_usd' | 'tokens' | 'input_tokens' | 'output_tokens';
  /** How many cases the percentiles cover. */
  readonly cases: number;
  readonly baseline: MeasuredSide | null;
  readonly new: MeasuredSide | null;
}

interface MeasuredSide {
  readonly median: number | null;
  readonly p95: number | null;
  /** The sum over the trials that report the metric. */
  readonly total: number;
  readonly known: number;
  readonly trials: number;
}

/** The words of inputs, outputs and tools. */
export interface PageIndex {
  /** Sorted. Each starts with the number of characters that it shares with the previous one, in base 36. */
  readonly words: string;
  /** The rows of each word, as written by `rowList`. */
  readonly rows: string;
  /** How many cases have their input in the index. */
  readonly inputs: number;
  /** How many cases have their outputs and tools in the index. */
  readonly answers: number;
  /** How many words did not fit. */
  readonly left_out: number;
  /** How many characters of each text are searched. */
  readonly chars_max: number;
}

/** One case in the list, in compact JSON, because a page may hold 100,000 of them. */
export type PageRow = readonly [
  id: string,
  title: string | 0,
  kind: RowKind,
  /** Index into `suites`, or -1. */
  suite: number,
  /** One letter per trial: p, f, e, or n for an error that does not count against the agent. */
  baseline: string,
  fresh: string,
  /** Index into `error_classes`, or -1. */
  errorClass: number,
  baselineMs: number | null,
  freshMs: number | null,
  baselineUsd: number | null,
  freshUsd: number | null,
  /** Why the case needs attention, in a sentence. */
  why: string | 0,
  /** Only for cases that the gate singled out, with passes and trials as the gate counts them. */
  finding?: PageFinding['as'],
  tally?: string,
];

/** One run's result for the case. */
export type PageTrial = ComparedCase['new']['trials'][number];

interface PageAssertion {
  readonly name: string;
  readonly status: 'pass' | 'fail' | 'not_judged';
  readonly message: string | null;
  readonly at: string | null;
}

/** All data of one case. */
export interface PageCase {
  readonly input: unknown;
  readonly expected: unknown;
  readonly trials: { readonly [Which in ReportSide]: readonly PageTrial[] };
  readonly assertions: readonly PageAssertion[];
  readonly divergence: Divergence | null;
  /** The differences from the baseline's case, one per line. */
  readonly changes: readonly string[];
  readonly baseline: PageArtifact | null;
  readonly new: PageArtifact | null;
  /** The runs that the artifacts come from, if known. */
  readonly shown: { readonly [Which in ReportSide]?: string | undefined };
  readonly assets: { readonly [Which in ReportSide]: { readonly [href: string]: string } };
  /** What was truncated to keep the page small, in sentences. */
  readonly cuts: readonly string[];
  /** The aligned events, if texts or events are missing from this page; null if the page can align them itself. */
  readonly steps: PageSteps | null;
  /** The baseline's case, if the case changed; null if it is not available. */
  readonly was?: { readonly input: unknown; readonly expected: unknown } | null;
  /** Only for a case without an answer yet, in a run that is still open. */
  readonly under_way?: PageUnderWay;
}

/** The aligned events of the two trials in `of`, which are those in `shown` until the reader opens others. */
export interface PageSteps {
  readonly of: PageCase['shown'];
  readonly rows: readonly PageStep[];
}

/** An answer as the page stores it. */
export type PageArtifact = CaseArtifact & {
  /** The ranges of the events that the page holds, with exclusive ends. Absent if it holds all of them. */
  readonly events_kept?: readonly (readonly [from: number, to: number])[];
};

/** A row of aligned events, by their index in the full list; or how many events are missing here. */
export type PageStep = ShownStep | OmittedSteps;

/** `clipped`: how many of its events the page does not hold. */
export type ShownStep = EventRow & { readonly clipped?: number };

/** Events between two rows that the page does not hold. */
export interface OmittedSteps {
  readonly omitted: { readonly baseline: number; readonly candidate: number };
  /** How many of the missing steps differ; null if unknown. */
  readonly differing: number | null;
}

/** A trial besides the one that its case shows first. */
export interface PageTrialDocument {
  readonly artifact: PageArtifact | null;
  /** The artifact is the one that its case shows first, apart from its attempts; `artifact` is then null. */
  readonly same?: true;
  readonly attempts: CaseArtifact['attempts'] | null;
  readonly assets: { readonly [href: string]: string };
  readonly cuts: readonly string[];
}

/** Commands with placeholders for the values of a case. */
export interface PageCommands {
  readonly list: readonly CaseCommand[];
  /** Why some commands are missing, in sentences. */
  readonly notes: readonly string[];
  /** Runs that this project does not have, so no command can show them. */
  readonly away: readonly string[];
}

export interface CaseCommand {
  readonly does: string;
  readonly words: readonly (string | PageHole)[];
  readonly note?: string;
}

/** The id of the case, the run of the chosen trial of a side, or the question: its context as a flag, then its text. */
export interface PageHole {
  readonly put: 'case' | 'new' | 'baseline' | 'question';
}

/** Written last: how much of the data this page holds. */
export interface Coverage {
  readonly cases: number;
  readonly rows: number;
  readonly full: number;
  /** How many cases would be shown in full without the size limit. */
  readonly wanted: number;
  readonly bytes_max: number;
  /** How many further trials the page holds, out of all those of cases that need attention. */
  readonly trials?: { readonly held: number; readonly wanted: number };
}
