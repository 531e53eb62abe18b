import type { TaskAttempt } from '../../contracts/agent-step/attempt.ts';
import type { AgentOutcome } from '../../contracts/agent-step/index.ts';
import type { RequestedPolicy } from '../../contracts/agent-step/policy.ts';
import type { Family } from '../../contracts/agent-step/words.ts';
import type { Runner } from '../../contracts/runner/shape.ts';
import type { MaskingNote } from '../../contracts/script-outcome/masking.ts';
import type { RecoveredNote } from '../../contracts/script-outcome/shape.ts';
import type { CheckNote, PlannedCheck } from './check-steps.ts';
import type { JournaledPlan, JournalLine } from '../recovery/kind.ts';
import type { CaptureNote, Stored } from '../step/capture-note.ts';
import type { Remark } from '../step/log.ts';

/** Everything decided before the agent starts. */
export interface AgentPlan {
  /** Tells recovery which kind of run the journal belongs to. */
  readonly request: { readonly run_id: string; readonly kind: 'agent' };
  readonly asked: {
    readonly agent_family: Family;
    /** Secrets are masked. */
    readonly rendered_task_text: string;
    readonly working_directory: string;
    readonly prompt_reference: string | null;
    readonly requested_policy: RequestedPolicy;
    readonly checks?: readonly string[];
    readonly attempt?: TaskAttempt;
  };
  readonly agent: Pick<AgentOutcome['agent'], 'family' | 'version' | 'sha256' | 'untested' | 'newest_tried'>;
  readonly invocation: {
    readonly mode: 'claude_print' | 'codex_exec';
    /** The program's bare name, and its arguments. */
    readonly command: readonly string[];
    readonly approval: 'fail_on_prompt' | 'deny_interactive' | 'bounded_auto_approve';
  };
  /** The runner record without the fields that only the run can fill in, or the reason why there is none. */
  readonly runner: Omit<Runner, 'timing' | 'exit'> | string;
  readonly enforcement: AgentOutcome['enforcement'];
  readonly limits: AgentOutcome['limits'];
  readonly observed: AgentOutcome['observed'];
  readonly clocks: AgentOutcome['clocks'];
  readonly turnLimit?: NonNullable<AgentOutcome['turn_limit']>;
  readonly modelMode: AgentOutcome['model_access']['mode'];
  readonly projectContext?: NonNullable<AgentOutcome['project_context']>;
  readonly mounts?: NonNullable<AgentOutcome['mounts']>;
  readonly base?: NonNullable<AgentOutcome['base']>;
  readonly credential?: NonNullable<AgentOutcome['model_access']['credential']>;
  /** Absent in older journals. */
  readonly budget?: AgentOutcome['model_access']['budget'];
  /** The checks to run in the tree that the agent leaves. Absent if there are none. */
  readonly checks?: readonly PlannedCheck[];
  /** The policy summary before the agent starts. */
  readonly policy: object;
  readonly workspace: object | undefined;
  readonly correlationId: string;
  readonly startedAtMs: number;
  readonly owner: JournaledPlan['owner'];
  readonly launcher?: NonNullable<JournaledPlan['launcher']>;
}

/** How Proctor judged the agent, after all its processes have ended. */
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
  /** The policy summary, including everything observed during and after the run. */
  readonly policy: object;
  /** What changed in the work tree; null if Proctor could not inspect it. */
  readonly workspaceStatus: object | null;
  readonly workspace: object | undefined;
  readonly files: AgentFiles;
  readonly warnings: readonly string[];
  /** What was masked in stored files other than the streams, and which files are flagged. */
  readonly masking?: MaskingNote;
  readonly remarks: readonly Remark[];
  /** The checks that ran after the agent, in their order. Absent if there are none. */
  readonly checks?: readonly CheckNote[];
}

/** Files that already exist when the documents are built. */
export interface AgentFiles {
  readonly transcript: Stored;
  readonly stdout: Stored;
  readonly stderr: Stored;
  readonly diff: Stored | null;
  /** The diffs of the agent's commits. */
  readonly commits?: Stored;
}

/** A line in an agent run's journal. */
export type AgentLine = JournalLine<AgentPlan, AgentJudgement>;

export interface AgentRun {
  readonly plan: AgentPlan;
  readonly capture: CaptureNote;
  readonly judgement: AgentJudgement;
  readonly completedAtMs: number;
  readonly recovered?: RecoveredNote;
}
