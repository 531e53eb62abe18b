import type { AgentOutcome } from '../contracts/agent-step/index.ts';
import type { RequestedPolicy } from '../contracts/agent-step/policy.ts';
import type { Family } from '../contracts/agent-step/words.ts';
import type { Runner } from '../contracts/runner/shape.ts';
import type { MaskingNote } from '../contracts/script-outcome/masking.ts';
import type { RecoveredNote } from '../contracts/script-outcome/shape.ts';
import type { SealedFile } from '../contracts/seal/statement.ts';
import type { JournaledPlan, JournalLine } from './kind.ts';
import type { CaptureNote, Remark } from './script-run.ts';

/** What is decided before an agent starts. */
export interface AgentPlan {
  /** By which a recovery tells whose journal it is. */
  readonly request: { readonly run_id: string; readonly kind: 'agent' };
  readonly asked: {
    readonly agent_family: Family;
    /** Without the secrets in it. */
    readonly rendered_task_text: string;
    readonly working_directory: string;
    readonly prompt_reference: string | null;
    readonly requested_policy: RequestedPolicy;
  };
  readonly agent: Pick<AgentOutcome['agent'], 'family' | 'version' | 'sha256' | 'untested' | 'newest_tried'>;
  readonly invocation: {
    readonly mode: 'claude_print' | 'codex_exec';
    /** The program by its bare name, and its arguments. */
    readonly command: readonly string[];
    readonly approval: 'fail_on_prompt' | 'deny_interactive' | 'bounded_auto_approve';
  };
  /** The runner record, but for what only the run can tell; or why there can be none. */
  readonly runner: Omit<Runner, 'timing' | 'exit'> | string;
  readonly enforcement: AgentOutcome['enforcement'];
  readonly limits: AgentOutcome['limits'];
  readonly observed: AgentOutcome['observed'];
  readonly clocks: AgentOutcome['clocks'];
  readonly turnLimit?: NonNullable<AgentOutcome['turn_limit']>;
  readonly modelMode: AgentOutcome['model_access']['mode'];
  readonly projectContext?: NonNullable<AgentOutcome['project_context']>;
  readonly credential?: NonNullable<AgentOutcome['model_access']['credential']>;
  /** Absent in journals from before it was told. */
  readonly budget?: AgentOutcome['model_access']['budget'];
  /** The summary of the policy as it stands before the start. */
  readonly policy: object;
  readonly workspace: object | undefined;
  readonly correlationId: string;
  readonly startedAtMs: number;
  readonly owner: JournaledPlan['owner'];
  readonly launcher?: NonNullable<JournaledPlan['launcher']>;
}

/** What was judged of an agent, once everything of it is dead. */
export interface AgentJudgement {
  readonly termination: AgentOutcome['termination'];
  readonly reason: AgentOutcome['reason'];
  readonly detail: string | null;
  readonly apiStatus: number | null;
  readonly finalText: string | null;
  readonly session: string | null;
  readonly model: string | null;
  readonly reported: AgentOutcome['reported'];
  readonly lines: AgentOutcome['lines'];
  readonly events: number;
  readonly denials: number;
  readonly modelAccess: AgentOutcome['model_access'];
  /** The summary of the policy, with what was seen during and after the run. */
  readonly policy: object;
  /** What became of the work tree; null where nobody could look. */
  readonly workspaceStatus: object | null;
  readonly workspace: object | undefined;
  /** Files that were written while it ran, and after. */
  readonly files: AgentFiles;
  readonly warnings: readonly string[];
  /** What was masked in what is stored, streams aside, and which files are flagged. */
  readonly masking?: MaskingNote;
  readonly remarks: readonly Remark[];
}

/** What lies in the folder already when the documents are made. */
export interface AgentFiles {
  readonly transcript: Stored;
  readonly stdout: Stored;
  readonly stderr: Stored;
  readonly diff: Stored | null;
}

export type Stored = Pick<SealedFile, 'sha256' | 'bytes'>;

/** A line of the journal of an agent's run. */
export type AgentLine = JournalLine<AgentPlan, AgentJudgement>;

/** Everything that a finished run is known by. */
export interface AgentRun {
  readonly plan: AgentPlan;
  readonly capture: CaptureNote;
  readonly judgement: AgentJudgement;
  readonly completedAtMs: number;
  readonly recovered?: RecoveredNote;
}
