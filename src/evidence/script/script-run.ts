import type { Runner } from '../../contracts/runner/shape.ts';
import type { MaskingNote } from '../../contracts/script-outcome/masking.ts';
import type { RecoveredNote, ScriptOutcome } from '../../contracts/script-outcome/shape.ts';
import type { ScriptRequest } from '../../contracts/script-request/shape.ts';
import type { ScriptResult } from '../../contracts/script-result/shape.ts';
import type { CaptureNote } from '../step/capture-note.ts';
import type { JournaledPlan, JournalLine } from '../recovery/kind.ts';
import type { Remark } from '../step/log.ts';

/** Everything decided before the script starts. */
export interface ScriptPlan {
  readonly request: ScriptRequest;
  /** The runner record without the fields that only the run can fill in. */
  readonly runner: Omit<Runner, 'timing' | 'exit'>;
  readonly enforcement: ScriptOutcome['enforcement'];
  readonly limits: ScriptOutcome['limits'];
  readonly observed: ScriptOutcome['observed'];
  readonly correlationId: string;
  readonly startedAtMs: number;
  readonly owner: JournaledPlan['owner'];
}

/** How Proctor judged the script's output. */
export interface ScriptReading {
  readonly status: ScriptResult['status'];
  readonly claimedStatus: ScriptResult['status'] | null;
  readonly reason: string | null;
  readonly publicMessage: string | null;
  readonly timeoutSource: 'proctor' | 'script' | null;
  readonly salvaged: boolean;
  readonly htmlOutput: string;
  readonly errorSummary: string | null;
  readonly result: ScriptOutcome['result'];
  readonly files: readonly { readonly path: string; readonly bytes: number; readonly sha256: string }[];
  readonly artifacts: ScriptOutcome['artifacts'];
  readonly cuts: ScriptOutcome['cuts'];
  readonly replaced: ScriptOutcome['replaced'];
  /** Warnings for runner.json, in addition to the planned ones. */
  readonly warnings: readonly string[];
  /** What was masked in stored files other than the streams, and which files are flagged. */
  readonly masking?: MaskingNote;
  /** For the internal log. End users must not see this. */
  readonly remarks: readonly Remark[];
}

/** A line in a script run's journal. */
export type ScriptLine = JournalLine<ScriptPlan, ScriptReading>;

export interface ScriptRun {
  readonly plan: ScriptPlan;
  readonly capture: CaptureNote;
  readonly reading: ScriptReading;
  readonly completedAtMs: number;
  readonly recovered?: RecoveredNote;
}
