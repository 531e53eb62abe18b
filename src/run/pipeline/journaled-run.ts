import type { Fault } from '../../base/fault.ts';
import type { SealedFile } from '../../contracts/seal/statement.ts';
import type { Document } from '../../evidence/document.ts';
import type { Sealing } from '../../evidence/run-folder/finish.ts';
import type { JournaledKind, JournaledPlan } from '../../evidence/recovery/kind.ts';
import type { RunFolder } from '../../evidence/run-folder/runs.ts';
import type { CaptureNote } from '../../evidence/step/capture-note.ts';
import type { Observation } from '../../execute/launcher/canary.ts';
import type { Job } from '../../execute/job/job.ts';
import type { Launcher, SandboxHandle } from '../../execute/launcher/launch.ts';

/** Where a run is stored, and its callbacks. */
export interface RunContext extends Sealing {
  readonly launcher: Launcher;
  /** The `.proctor` folder. */
  readonly home: string;
  /** Aborting it stops the run. */
  readonly signal?: AbortSignal;
  /** Receives the program's output as it arrives. */
  readonly onOutput?: (stream: 'stdout' | 'stderr', bytes: Uint8Array) => void | Promise<void>;
  /** Called if the run has to wait for a slot. */
  readonly onWait?: () => void;
  /** Called when the run folder exists. */
  readonly onFolder?: (place: RunFolder) => void;
}

/** The values that a kind's steps pass to each other, with the fields that the pipeline needs. */
export interface StepTypes {
  readonly plan: JournaledPlan;
  /** What `prepare` put into the stage. */
  readonly made: { readonly job: Job };
  /** What `watch` saw. */
  readonly seen: { readonly capture: CaptureNote };
  readonly judged: JudgedStep;
}

export interface JudgedStep<Reading = unknown> {
  readonly reading: Reading;
  /** Files that are already stored in the run folder. */
  readonly stored: readonly SealedFile[];
  /** A Proctor fault. The evidence records it, and the pipeline throws it once the run is sealed. */
  readonly fault?: Fault | undefined;
}

/** A run whose sandbox is open and whose journal has begun. */
export interface StartedRun<Types extends StepTypes = StepTypes> {
  readonly place: RunFolder;
  readonly prepared: SandboxHandle;
  readonly plan: Types['plan'];
  readonly made: Types['made'];
  readonly context: RunContext;
  /** Adds a note to the journal, so that recovery knows about work done before the judgement. */
  readonly note: (note: object) => void;
}

/** A run that is judged. */
export interface CompletedRun<Types extends StepTypes> extends StartedRun<Types> {
  readonly seen: Types['seen'];
  readonly judged: Types['judged'];
  readonly completedAtMs: number;
}

/** A run that is sealed. */
export interface SealedRun<Types extends StepTypes> extends CompletedRun<Types> {
  readonly documents: readonly Document[];
}

/** One run of a kind: its steps, in pipeline order. */
export interface JournaledRun<Types extends StepTypes> {
  readonly kind: JournaledKind<Types['plan'], Types['judged']['reading']>;
  readonly id: string;
  /** Fills the stage. `folder` is where the run folder will be. */
  prepare(stage: string, folder: string): Types['made'] | Promise<Types['made']>;
  /** Builds the plan for the journal's first line. `observed` is what the sandbox's self-test proved. */
  plan(made: Types['made'], observed: readonly Observation[]): Types['plan'];
  /** Writes what recovery needs, before the program starts. */
  begin?(run: StartedRun<Types>): void;
  /** Runs the program to completion. */
  watch(run: StartedRun<Types>, show: RunContext['onOutput']): Promise<Types['seen']>;
  /** Reads and judges what the program left, before the sandbox is closed. */
  judge(run: StartedRun<Types>, seen: Types['seen']): Promise<Types['judged']>;
  documents(run: CompletedRun<Types>): readonly Document[];
  /** Closes what `prepare` opened. It must not throw. */
  release?(): Promise<void>;
}
