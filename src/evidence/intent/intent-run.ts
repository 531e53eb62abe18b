import type { Bundle, IntentOutcome, IntentRequest } from '../../contracts/intent/index.ts';
import type { Profile } from '../../contracts/profile/shape.ts';
import type { Runner } from '../../contracts/runner/shape.ts';
import type { MaskingNote } from '../../contracts/script-outcome/masking.ts';
import type { RecoveredNote } from '../../contracts/script-outcome/shape.ts';
import type { JournaledPlan, JournalLine } from '../recovery/kind.ts';
import type { CaptureNote } from '../step/capture-note.ts';
import type { Remark } from '../step/log.ts';

/** Everything decided before anything runs. */
export interface IntentPlan {
  readonly request: IntentRequest;
  readonly policy: Profile;
  readonly intentSha256: string;
  readonly decided: RecordedDecision;
  /** How the commands will run; absent if nothing runs. */
  readonly going?: ExecutionPlan;
  readonly correlationId: string;
  readonly startedAtMs: number;
  readonly owner: JournaledPlan['owner'];
}

export type RecordedDecision =
  | { readonly kind: 'BUNDLE' | 'CLARIFY'; readonly questions: readonly string[] }
  | { readonly kind: 'REFUSE'; readonly refusals: readonly string[] };

export interface ExecutionPlan {
  /** The runner record without the fields that only the run can fill in. */
  readonly runner: Omit<Runner, 'timing' | 'exit'>;
  readonly enforcement: IntentOutcome['enforcement'];
  readonly limits: IntentOutcome['limits'];
  readonly observed: IntentOutcome['observed'];
}

/** How Proctor judged the commands and their outputs. */
export interface IntentReading {
  /** Null if the run was interrupted before the exit was known. The result then has no execution. */
  readonly exitCode: number | null;
  readonly outputs: readonly { readonly path: string; readonly bytes: number; readonly sha256: string }[];
  /** The code of the reason why Proctor kept no output. */
  readonly refused: string | null;
  readonly missing: readonly string[];
  readonly checks: IntentOutcome['checks'];
  /** Sentences for human readers. The same result always gives the same sentences. */
  readonly reasons: readonly string[];
  readonly masking?: MaskingNote;
  readonly remarks: readonly Remark[];
}

/** A line in an intent run's journal. */
export type IntentLine = JournalLine<IntentPlan, IntentReading>;

export interface IntentRun {
  readonly plan: IntentPlan;
  /** Absent if nothing ran. */
  readonly ran?: { readonly capture: CaptureNote; readonly reading: IntentReading };
  readonly completedAtMs: number;
  readonly recovered?: RecoveredNote;
}

/** The files stored next to the documents: the effective intent, its bundle and the recorded model traffic. */
export interface IntentTexts {
  readonly intent: string | Uint8Array;
  readonly bundle: Bundle | null;
  readonly recording: Uint8Array | null;
}
