import type { CaseArtifact } from '../contracts/artifacts/index.ts';
import type { Runner } from '../contracts/runner/shape.ts';
import type { SuiteRequest } from '../contracts/suite/index.ts';

/** What is decided before the first case of a suite is sent. */
export interface SuitePlan {
  readonly request: SuiteRequest;
  /** The runner record, but for what only the run can tell. */
  readonly runner: Omit<Runner, 'timing' | 'exit'>;
  /** What run.json says of where the cases came from and where the artifacts went. */
  readonly casesPath: string;
  readonly outDir: string;
  readonly repository: { readonly commit: string; readonly dirty: boolean } | null;
  /** How the headers of every request are made; values come from the environment and are written nowhere. */
  readonly headers: readonly { readonly name: string; readonly env: string }[];
  /** Where the script lies that takes the place of an agent. Only the journal knows. */
  readonly script: string | null;
  /** Where an agent's program is asked: its clones are made of this folder, under this policy. Absent where none is. */
  readonly agent?: {
    readonly dir: string;
    readonly policy: string;
    readonly cwd: string;
    readonly cpus?: number;
    readonly model?: string;
    readonly maxTurns?: number;
    /** Counted at the door to the model. */
    readonly maxRequests?: number;
    readonly maxTokens?: number;
    readonly maxCostUsd?: number;
    /** The file of prices. */
    readonly prices?: string;
    readonly modelMode?: 'live' | 'record' | 'replay';
    /** The folder of the recordings, one for each attempt, with `modelMode` record or replay. */
    readonly recordings?: string;
    readonly allowUntestedVersion?: boolean;
  };
  /** What was asked of the sandbox of that script. */
  readonly bounds: object;
  /** Whose run it is; when that process is gone, the run is dead, and can be resumed. */
  readonly owner: { readonly pid: number; readonly startTicks: number; readonly bootId: string };
}

export type Attempt = NonNullable<CaseArtifact['attempts']>[number];

/** A file in assets/, as the list of assets tells of it. */
export interface AssetNote {
  readonly href: string;
  readonly kind: 'full_body' | 'failure_meta' | 'full_payload' | 'retrieval_snippets' | 'other';
  readonly caseId: string | null;
  readonly bytes: number;
  readonly sha256: string;
}

/** A line of the journal of a suite's run. */
export type SuiteLine =
  /** Somebody lays out the cases: until the plan stands here, nothing was asked. */
  | { readonly is: 'laying'; readonly owner: SuitePlan['owner'] }
  | { readonly is: 'planned'; readonly plan: SuitePlan; readonly assets: readonly AssetNote[] }
  /** Somebody begins with it, or goes on. */
  | { readonly is: 'begun'; readonly owner: SuitePlan['owner']; readonly atMs: number }
  /** Whoever was at it has let go. */
  | { readonly is: 'left' }
  | { readonly is: 'sent'; readonly id: string; readonly attempt: number; readonly atMs: number; readonly key: string }
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
    };

/** How many cases ended how. */
export interface SuiteStats {
  readonly total: number;
  readonly ok: number;
  readonly failed: number;
}
