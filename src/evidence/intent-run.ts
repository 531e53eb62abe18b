import type { Bundle, IntentOutcome, IntentRequest } from '../contracts/intent/index.ts';
import type { Profile } from '../contracts/profile/shape.ts';
import type { Runner } from '../contracts/runner/shape.ts';
import type { MaskingNote } from '../contracts/script-outcome/masking.ts';
import type { RecoveredNote } from '../contracts/script-outcome/shape.ts';
import type { JournaledPlan, JournalLine } from './kind.ts';
import type { CaptureNote, Remark } from './script-run.ts';

/** What was decided of an intent, and is known before anything of it runs. */
export interface IntentPlan {
  readonly request: IntentRequest;
  readonly policy: Profile;
  readonly intentSha256: string;
  readonly decided: Decided;
  /** How it will be run; absent where nothing is. */
  readonly going?: GoingPlan;
  readonly correlationId: string;
  readonly startedAtMs: number;
  readonly owner: JournaledPlan['owner'];
}

export type Decided =
  | { readonly kind: 'BUNDLE' | 'CLARIFY'; readonly questions: readonly string[] }
  | { readonly kind: 'REFUSE'; readonly refusals: readonly string[] };

export interface GoingPlan {
  /** The runner record, but for what only the run can tell. */
  readonly runner: Omit<Runner, 'timing' | 'exit'>;
  readonly enforcement: IntentOutcome['enforcement'];
  readonly limits: IntentOutcome['limits'];
  readonly observed: IntentOutcome['observed'];
}

/** What was judged of the commands and of what they left. */
export interface IntentReading {
  /** Null where the run was interrupted before it was known: then the result states no execution. */
  readonly exitCode: number | null;
  readonly outputs: readonly { readonly path: string; readonly bytes: number; readonly sha256: string }[];
  /** Why no file was taken, as a word. */
  readonly refused: string | null;
  readonly missing: readonly string[];
  readonly checks: IntentOutcome['checks'];
  /** Sentences for people, the same for the same end. */
  readonly reasons: readonly string[];
  /** Which files are flagged. */
  readonly masking?: MaskingNote;
  /** For the internal log. */
  readonly remarks: readonly Remark[];
}

/** A line of the journal of an intent's run. */
export type IntentLine = JournalLine<IntentPlan, IntentReading>;

/** Everything that a finished run is known by. */
export interface IntentRun {
  readonly plan: IntentPlan;
  /** Absent where nothing was run. */
  readonly ran?: { readonly capture: CaptureNote; readonly reading: IntentReading };
  readonly completedAtMs: number;
  readonly recovered?: RecoveredNote;
}

/** The texts that lie in the folder beside the documents: the intent that counts, and what was made of it. */
export interface IntentTexts {
  readonly intent: string | Uint8Array;
  readonly bundle: Bundle | null;
  readonly recording: Uint8Array | null;
}
