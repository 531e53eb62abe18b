import * as z from 'zod/mini';
import type { Contract } from '../../contracts/contract.ts';
import { formOf } from '../../contracts/form.ts';
import type { TaskAttempt } from '../../contracts/agent-step/attempt.ts';
import type { RecoveredNote } from '../../contracts/script-outcome/shape.ts';
import type { RunKind } from '../../contracts/seal/statement.ts';
import { anyObject, count, record } from '../../contracts/shape.ts';
import type { Document } from '../document.ts';
import type { CaptureNote } from '../step/capture-note.ts';

/** The fields that every plan has, whatever the kind of run. */
export interface JournaledPlan {
  readonly request: { readonly run_id: string; readonly kind: string };
  readonly startedAtMs: number;
  /** The run is dead once this process is gone. */
  readonly owner: { readonly pid: number; readonly startTicks: number; readonly bootId: string };
  /** The process that saves the work tree if the owner dies. Recovery waits until it has ended. */
  readonly launcher?: { readonly pid: number; readonly startTicks: number };
}

/** A line in a run's journal. Each is written before the next step begins. */
export type JournalLine<Plan = JournaledPlan, Reading = unknown> =
  | { readonly is: 'planned'; readonly plan: Plan }
  | { readonly is: 'started'; readonly atMs: number }
  | { readonly is: 'captured'; readonly atMs: number; readonly capture: CaptureNote }
  | { readonly is: 'read'; readonly atMs: number; readonly reading: Reading }
  | { readonly is: 'noted'; readonly atMs: number; readonly note: object };

/** Why recovery completes a run. */
export interface Because {
  readonly reason: string;
  readonly message: string;
  readonly detail: string;
}

type Line<Is extends JournalLine['is'], Reading> = Extract<JournalLine<never, Reading>, { is: Is }>;

/** The contents of an interrupted run's journal. */
export interface Interrupted<Plan = JournaledPlan, Reading = unknown> {
  readonly folder: string;
  readonly plan: Plan;
  /** Undefined if the program had not started. */
  readonly started: Line<'started', Reading> | undefined;
  /** Undefined if the program had not ended. */
  readonly captured: Line<'captured', Reading> | undefined;
  /** Undefined if the program's output had not been judged. */
  readonly read: Line<'read', Reading> | undefined;
  /** What the kind noted between the end of the program and its judgement, in order. */
  readonly notes?: readonly unknown[];
  readonly because: Because;
  readonly nowMs: number;
}

/** The evidence of an interrupted run. */
export interface Rebuilt {
  readonly documents: readonly Document[];
  /** Files and folders of the run that these documents do not describe. */
  readonly discarded: readonly string[];
}

/** What `proctor list` shows about a run. A field is undefined if the documents do not state it. */
export interface RunSummary {
  readonly runId: string | undefined;
  readonly startedAt: string | undefined;
  readonly status: string | undefined;
  readonly subject: string | undefined;
  readonly durationMs: number | undefined;
  readonly recovered: RecoveredNote | undefined;
  /** Which of several attempts at one task the run is. */
  readonly attempt?: TaskAttempt | undefined;
}

/**
 * A kind of run, as recovery and `proctor list` see it. `run/pipeline/pipeline.ts` runs it, and `run/kinds.ts` lists
 * all kinds.
 */
export interface JournaledKind<Plan extends JournaledPlan = JournaledPlan, Reading = unknown> {
  /** The folder below `runs/`, and the first word of the run's id. */
  readonly name: string;
  /** Its name in seals and ledgers. Their published formats allow only certain names. */
  readonly sealedAs: RunKind;
  /** The folder of its step's documents. */
  readonly stepFolder: string;
  /** The contracts of its documents, by file. */
  readonly contracts: ReadonlyMap<string, Contract>;
  /** If set, recovery removes a run that had not started and whose folder contains only these names. */
  readonly removable?: RegExp;
  /** Builds the evidence of an interrupted run from its journal and its files. */
  rebuild(left: Interrupted<Plan, Reading>): Rebuilt | Promise<Rebuilt>;
  summarize(folder: string): RunSummary;
}

/** Kinds by name. Each is loaded when it is first needed. */
export type Kinds = Readonly<Record<string, () => Promise<JournaledKind>>>;

export async function kindNamed(kinds: Kinds, name: string): Promise<JournaledKind | undefined> {
  return Object.hasOwn(kinds, name) ? kinds[name]?.() : undefined;
}

/** Whether a line has the fields that recovery reads before it checks the resulting documents. */
export function isJournalLine(line: unknown): line is JournalLine {
  for (const _ of formOf(lineShape).faults(line, '')) return false;
  return true;
}

/** The end of the year 9999. */
const instantMs = () => count().check(z.lte(253_402_300_799_999));

const noteShape = record({ bytesTotal: count(), sha256: z.string() });

const lineShape = z.union([
  record({
    is: z.literal('planned'),
    plan: record({
      request: record({ run_id: z.string() }),
      owner: record({ pid: count(), startTicks: count(), bootId: z.string() }),
      startedAtMs: instantMs(),
    }),
  }),
  record({ is: z.literal('started'), atMs: instantMs() }),
  record({
    is: z.literal('captured'),
    atMs: instantMs(),
    capture: record({ ending: anyObject(), phases: z.array(anyObject()), stdout: noteShape, stderr: noteShape }),
  }),
  record({ is: z.literal('read'), atMs: instantMs(), reading: anyObject() }),
  record({ is: z.literal('noted'), atMs: instantMs(), note: anyObject() }),
]);
