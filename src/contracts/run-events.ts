import type { TranscriptLine } from './agent-step/reading.ts';
import type { Ending } from './ending.ts';

/**
 * What happens in a run, for viewers. The journal and the files beside it are the source; an event is a short summary.
 * `line` is the number of a journal line, starting at 1. `from` is an offset in bytes.
 */
export interface RunEventData {
  /** A process stores the cases of a suite. */
  readonly laying: { readonly line: number };
  readonly planned: {
    readonly line: number;
    readonly run_kind: string;
    /** What runs: a script, an agent and its task, or the target of a suite. */
    readonly subject: string | null;
    /** The number of cases of a suite. */
    readonly cases: number | null;
  };
  /** A process starts or resumes a suite. */
  readonly begun: { readonly line: number; readonly at: string };
  readonly sent: { readonly line: number; readonly case_id: string; readonly attempt: number; readonly at: string };
  /** The run of a script or an agent that answers an attempt has started. Its own events have the rest. */
  readonly running: {
    readonly line: number;
    readonly case_id: string;
    readonly attempt: number;
    readonly run_id: string;
  };
  /** An attempt that will be retried. */
  readonly failed: {
    readonly line: number;
    readonly case_id: string;
    readonly attempt: number;
    readonly latency_ms: number | null;
    readonly error_class: string | null;
    readonly message: string | null;
  };
  /** A finished case. A later event of the same case replaces this one. */
  readonly case: {
    readonly line: number;
    readonly case_id: string;
    readonly status: 'ok' | 'runner_error';
    readonly attempts: number;
    readonly latency_ms: number | null;
    readonly error_class: string | null;
    readonly message: string | null;
    /** The run that answered the last attempt, if the target is a script or an agent. */
    readonly run_id: string | null;
    /** Null if it is not known yet. The evaluation after the run decides. */
    readonly verdict: 'pass' | 'fail' | null;
  };
  /** The owner of a suite released it, so that it can be resumed. */
  readonly left: { readonly line: number };
  /** The program starts. */
  readonly started: { readonly line: number; readonly at: string };
  /** The program has ended. */
  readonly captured: { readonly line: number; readonly at: string; readonly ending: Ending['how'] };
  /** Proctor has judged what the program left. */
  readonly read: { readonly line: number; readonly at: string };
  /** Proctor recorded an intermediate result, such as a check of an agent's changes. */
  readonly noted: {
    readonly line: number;
    readonly at: string;
    readonly check: string | null;
    readonly verdict: string | null;
  };
  /** A journal line that this version of Proctor does not know. */
  readonly other: { readonly line: number };
  readonly output: { readonly stream: 'stdout' | 'stderr'; readonly from: number; readonly text: string };
  readonly transcript: { readonly from: number; readonly entry: TranscriptLine };
  /** The stream continues, but viewers get no more of it. */
  readonly cut: { readonly stream: 'stdout' | 'stderr' | 'transcript'; readonly at: number };
  /** The process that ran it is gone. A resumed run continues with `begun`. */
  readonly dead: NoData;
  /** Another user or machine started it, so Proctor does not follow it. */
  readonly foreign: NoData;
  /** The run is shorter than what the viewer has seen. Everything follows again. */
  readonly restart: NoData;
  /** The run is complete, and its folder contains everything. */
  readonly sealed: NoData;
  /** The run folder was removed. */
  readonly gone: NoData;
}

type NoData = Readonly<Record<string, never>>;

export type RunEventKind = keyof RunEventData;

export type RunEvent = {
  readonly [Kind in RunEventKind]: {
    readonly kind: Kind;
    /** Where to continue after this event; null for events that no file contains. */
    readonly id: string | null;
    readonly data: RunEventData[Kind];
  };
}[RunEventKind];

/** Events after which nothing follows. */
export const LAST_EVENTS: ReadonlySet<RunEventKind> = new Set<RunEventKind>(['sealed', 'gone']);
