import type { FoundScript } from './find-scripts.ts';
import type { AgentName } from './look.ts';

/** What the user wants to test. */
export type InitChoice = { readonly name: string } & (
  | { readonly kind: 'http'; readonly url?: string }
  | { readonly kind: 'agent'; readonly agent: AgentName }
  | { readonly kind: 'script'; readonly script?: FoundScript }
);

/** The files of a new project. */
export interface ProjectPlan {
  /** What is tested, as a noun phrase. */
  readonly what: string;
  readonly files: readonly PlannedFile[];
  /** What the user should know before the first test, as sentences. */
  readonly notes: readonly string[];
  /** Whether Proctor guessed how the target takes a message. */
  readonly isGuessed?: boolean;
}

export interface PlannedFile {
  /** Relative to the folder, with slashes. */
  readonly file: string;
  readonly text: string;
  /** What it is for, as a noun phrase. */
  readonly purpose: string;
}

/** What a kind of target adds to a project. */
export interface TargetPlan {
  readonly what: string;
  readonly target: { readonly name: string; readonly block: string };
  readonly cases: string;
  readonly repeat: number;
  readonly examples?: readonly PlannedFile[];
  readonly notes: readonly string[];
  readonly isGuessed?: boolean;
}

export const PROJECT = 'proctor.yaml';
