import type { CaseArtifact } from '../../contracts/artifacts/index.ts';
import type { CheckOrder } from '../../contracts/checks/check-order.ts';
import type { Runner } from '../../contracts/runner/shape.ts';
import type { TwiceCase } from '../../contracts/made-twice/index.ts';
import type { SuiteRequest } from '../../contracts/suite/index.ts';

/** Everything decided before the first case is sent. */
export interface SuitePlan {
  readonly request: SuiteRequest;
  /** The runner record without the fields that only the run can fill in. */
  readonly runner: Omit<Runner, 'timing' | 'exit'>;
  /** As stated in run.json. */
  readonly casesPath: string;
  readonly outDir: string;
  readonly repository: { readonly commit: string; readonly dirty: boolean } | null;
  /** Request headers. Their values come from the environment and are never stored. */
  readonly headers: readonly { readonly name: string; readonly env: string }[];
  /** The path of the script that acts as the agent. Only the journal contains it. */
  readonly script: string | null;
  /** For suites that ask an agent: the folder to clone and the policy to apply. */
  readonly agent?: {
    readonly dir: string;
    readonly policy: string;
    readonly cwd: string;
    readonly cpus?: number;
    readonly model?: string;
    readonly maxTurns?: number;
    /** Counted by the model proxy. */
    readonly maxRequests?: number;
    readonly maxTokens?: number;
    readonly maxCostUsd?: number;
    /** The price file. */
    readonly prices?: string;
    readonly modelMode?: 'live' | 'record' | 'replay';
    /** The folder with one recording per attempt, if `modelMode` is record or replay. */
    readonly recordings?: string;
    readonly allowUntestedVersion?: boolean;
    /** The commit, the mounts and the checks of every case. */
    readonly base?: string;
    readonly mounts?: readonly { readonly dir: string; readonly path?: string }[];
    readonly checks?: readonly CheckOrder[];
    /** The folder that paths in the cases start from. */
    readonly casesDir?: string;
    /** The hash of the commits that the cases start from; absent if they start from none. */
    readonly commits?: string;
  };
  /** For a declared target: the folder that its paths are relative to, and the version it stated, if it stated one. */
  readonly declared?: { readonly dir: string; readonly version?: string };
  /** The sandbox limits of that script. */
  readonly bounds: object;
  /** The owning process. When it has ended, the run is dead and can be resumed. */
  readonly owner: { readonly pid: number; readonly startTicks: number; readonly bootId: string };
}

export type Attempt = NonNullable<CaseArtifact['attempts']>[number];

/** A file in assets/, as assets/manifest.json lists it. */
export interface AssetNote {
  readonly href: string;
  readonly kind: 'full_body' | 'failure_meta' | 'full_payload' | 'retrieval_snippets' | 'other';
  readonly caseId: string | null;
  readonly bytes: number;
  readonly sha256: string;
}

/** A line in the journal. */
export type SuiteLine =
  /** A process has started to store the cases. It sends no request before the `planned` line. */
  | { readonly is: 'laying'; readonly owner: SuitePlan['owner'] }
  | { readonly is: 'planned'; readonly plan: SuitePlan; readonly assets: readonly AssetNote[] }
  /** A process starts or resumes the run. */
  | { readonly is: 'begun'; readonly owner: SuitePlan['owner']; readonly atMs: number }
  /** The owner released the run. `assets` are files of its session, such as the log of the agent. */
  | { readonly is: 'left'; readonly assets?: readonly AssetNote[] }
  | {
      readonly is: 'sent';
      readonly id: string;
      readonly attempt: number;
      readonly atMs: number;
      readonly key: string;
      /** The queue lets it begin at most once, so a resumed run offers it again under the same key. */
      readonly pending?: true;
    }
  /** The run of a script or an agent that answers an attempt has started. Only viewers need this line. */
  | { readonly is: 'running'; readonly id: string; readonly attempt: number; readonly runId: string }
  | {
      readonly is: 'failed';
      readonly id: string;
      readonly attempt: Attempt;
      readonly assets: readonly AssetNote[];
    }
  | {
      readonly is: 'case';
      readonly id: string;
      readonly assets: readonly AssetNote[];
      readonly artifact: CaseArtifact;
      /** Present if the attempt that ended the case was chosen to be made twice. */
      readonly twice?: TwiceCase;
    };

export interface SuiteStats {
  readonly total: number;
  readonly ok: number;
  readonly failed: number;
}
