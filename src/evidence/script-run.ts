import type { Capture, KeptStream } from '../contracts/capture.ts';
import type { Runner } from '../contracts/runner/shape.ts';
import type { MaskingNote } from '../contracts/script-outcome/masking.ts';
import type { RecoveredNote, ScriptOutcome } from '../contracts/script-outcome/shape.ts';
import type { ScriptRequest } from '../contracts/script-request/shape.ts';
import type { ScriptResult } from '../contracts/script-result/shape.ts';
import type { JournaledPlan, JournalLine } from './kind.ts';

/** What is decided before a script starts. */
export interface ScriptPlan {
  readonly request: ScriptRequest;
  /** The runner record, but for what only the run can tell. */
  readonly runner: Omit<Runner, 'timing' | 'exit'>;
  readonly enforcement: ScriptOutcome['enforcement'];
  readonly limits: ScriptOutcome['limits'];
  readonly observed: ScriptOutcome['observed'];
  readonly correlationId: string;
  readonly startedAtMs: number;
  readonly owner: JournaledPlan['owner'];
}

/** What was judged of the files that a script left. */
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
  /** What runner.json says besides what was planned. */
  readonly warnings: readonly string[];
  /** What was masked in what is stored, streams aside, and which files are flagged. */
  readonly masking?: MaskingNote;
  /** For the internal log: what really happened, in words that no end user should see. */
  readonly remarks: readonly Remark[];
}

export interface Remark {
  readonly level: 'error' | 'warning' | 'note';
  readonly code: string;
  readonly detail: string;
}

/** A capture without the bytes, which lie in files of their own. */
export interface CaptureNote extends Omit<Capture, 'stdout' | 'stderr'> {
  readonly stdout: StreamNote;
  readonly stderr: StreamNote;
}

export type StreamNote = Omit<KeptStream, 'head' | 'tail'> & { readonly bytesKept: number };

/** A line of the journal of a script's run. */
export type ScriptLine = JournalLine<ScriptPlan, ScriptReading>;

/** Everything that a finished run is known by. */
export interface ScriptRun {
  readonly plan: ScriptPlan;
  readonly capture: CaptureNote;
  readonly reading: ScriptReading;
  readonly completedAtMs: number;
  readonly recovered?: RecoveredNote;
}

/** Both streams as they are stored. */
export type StoredStreams = Readonly<Record<'stdout' | 'stderr', Uint8Array>>;
