import type { AgentUsage } from '../../contracts/agent-step/reading.ts';
import type { Tone } from '../page-data.ts';
import type { PageEvidence, PageMasking, ShortList } from './run-data.ts';

/** The data of an agent run's page. Every list and text is limited; null is unknown. */
export interface AgentPage {
  /** Whether the run is finished. An open run has no documents yet, so most parts are null. */
  readonly life: 'finished' | 'alive' | 'dead' | 'foreign' | 'unknown';
  /** Sentences about the whole run: it was recovered, or its evidence does not verify. */
  readonly notes: readonly string[];
  readonly facts: readonly AgentFact[];
  readonly task: CutText | null;
  readonly response: CutText | null;
  readonly review: AgentReview;
  readonly commands: readonly AgentCommand[];
  readonly rows: readonly AgentRow[];
  readonly omitted: OmittedRows;
  readonly calls: { readonly total: number; readonly failed: number; readonly denied: number };
  /** The last instant on the time axis, in milliseconds after the agent's start. */
  readonly endMs: number;
  readonly diff: AgentDiff;
  readonly checks: readonly PageCheck[];
  readonly policy: AgentPagePolicy | null;
  readonly usage: AgentPageUsage;
  readonly claims: AgentClaims;
  readonly evidence: AgentPageEvidence;
}

/** A text, possibly cut. `total` is its full length in bytes if it was cut. */
export interface CutText {
  readonly text: string;
  readonly total?: number;
}

export interface AgentFact {
  readonly name: string;
  readonly value: string;
  readonly note?: string;
}

export interface AgentCommand {
  readonly does: string;
  readonly command: string;
}

/** What to look at before the changes are applied. */
export interface AgentReview {
  /** Why the changes cannot be applied; null if they can be, or if there are none. */
  readonly blocked: string | null;
  /** True if there is nothing to apply. */
  readonly isEmpty: boolean;
  readonly files: readonly { readonly path: string; readonly reason: string }[];
  readonly filesTotal: number;
  readonly items: readonly { readonly tone: Tone; readonly text: string }[];
}

/** One entry of the transcript. A call and its result are one row. */
export interface AgentRow {
  /** The line in the transcript. */
  readonly seq: number;
  readonly at: number;
  readonly kind: 'message' | 'user' | 'thinking' | 'call' | 'result' | 'change' | 'denial' | 'retry' | 'note' | 'final';
  /** The model answer that it belongs to, from 1. */
  readonly turn: number;
  /** Milliseconds before this line in which no tool ran. */
  readonly waited?: number;
  readonly tool?: string;
  /** The command, path or input of a call on one line; the path of a change. */
  readonly about?: string;
  readonly input?: CutText;
  /** A message, a result, or the text of a note. */
  readonly text?: CutText;
  /** Null while a call has no result. */
  readonly state?: 'ok' | 'failed' | 'denied' | null;
  readonly took?: number;
  readonly exit?: number;
  /** Why a call was denied. */
  readonly reason?: string;
}

/** Rows between the first and the last ones that the page leaves out. */
interface OmittedRows {
  readonly after: number;
  readonly count: number;
  /** The file with every line. */
  readonly file: string;
}

/** A command that ran in the tree that the agent left. */
export interface PageCheck {
  readonly name: string;
  readonly command: string;
  readonly verdict: string;
  readonly tone: Tone;
  readonly reason: string;
  readonly message: string;
  readonly facts: readonly AgentFact[];
  readonly limits: readonly AgentFact[];
  readonly failures: ShortList<string>;
  readonly failed: number;
  readonly restored: ShortList<CheckFile>;
  readonly kept: ShortList<CheckFile>;
  /** The agent's changes to the files that Proctor put back; null if there are none. */
  readonly diff: AgentDiff | null;
  readonly second: { readonly verdict: string; readonly tone: Tone; readonly message: string } | null;
  readonly streams: readonly {
    readonly name: string;
    readonly bytes: number;
    readonly isTruncated: boolean;
    /** Null if the file cannot be read. */
    readonly text: string | null;
  }[];
}

interface CheckFile {
  readonly path: string;
  readonly change: string;
  readonly because: string;
}

export interface AgentDiff {
  /** Why there is no diff, or why its text is left out; null if the page shows it. */
  readonly absent: string | null;
  readonly files: readonly DiffFile[];
  readonly total: number;
  readonly added: number;
  readonly removed: number;
  /** A note if the page shows only a part. */
  readonly cut: string | null;
  readonly masked: number;
  readonly commits: readonly { readonly sha: string; readonly subject: string }[];
  readonly commitsTotal: number | null;
}

export interface DiffFile {
  readonly path: string;
  readonly change: 'add' | 'update' | 'delete' | 'rename';
  readonly added: number;
  readonly removed: number;
  readonly binary: boolean;
  readonly hunks: readonly DiffHunk[];
  /** Lines that the page leaves out. */
  readonly linesCut: number;
}

export interface DiffHunk {
  readonly oldFrom: number;
  readonly newFrom: number;
  /** Each line starts with a space, `+`, `-` or `\`. */
  readonly lines: readonly string[];
}

export interface AgentPagePolicy {
  /** One row per dimension: what was requested and what was enforced. */
  readonly rows: readonly {
    readonly dimension: string;
    readonly asked: string;
    readonly enforced: string;
    readonly observed: readonly { readonly held: boolean; readonly text: string }[];
  }[];
  readonly violations: readonly { readonly hard: boolean; readonly kind: string; readonly text: string }[];
  /** Null while the run is not finished: Proctor looks for violations until its end. */
  readonly violationsTotal: number | null;
  readonly tightened: readonly string[];
  readonly notes: readonly string[];
  readonly limits: readonly { readonly limit: string; readonly value: string; readonly claim: string }[];
  readonly clocks: readonly AgentFact[];
  /** Attempts to reach a network that is not available; null if unknown. */
  readonly networkAttempts: number | null;
}

/** Counts of the agent beside those of the model proxy. */
export interface AgentPageUsage {
  readonly reported: AgentUsage | null;
  readonly counted: (Omit<AgentUsage, 'turns'> & { readonly requests: number; readonly estimated: number }) | null;
  /** Why the proxy has no count. */
  readonly uncounted: string | null;
  readonly budget: readonly AgentFact[];
  readonly refused: readonly string[];
  readonly removed: readonly string[];
  readonly turns: readonly AgentTurn[];
  readonly turnsTotal: number;
  /** What is known about turns. */
  readonly turnsNote: string | null;
}

export interface AgentTurn {
  readonly turn: number;
  /** The first transcript line of the turn. */
  readonly seq: number;
  readonly calls: number;
  readonly waitedMs: number;
  readonly toolsMs: number;
  readonly inputTokens: number | null;
  readonly cachedTokens: number | null;
}

export interface AgentClaims {
  /** Null if the run was not judged. */
  readonly flags: readonly { readonly flag: string; readonly message: string; readonly seq: number | null }[] | null;
  readonly note: string | null;
  /** What Proctor saw, beside the agent's last message. */
  readonly effects: readonly { readonly text: string; readonly seq: number | null }[];
}

export interface AgentPageEvidence extends PageEvidence {
  readonly folder: string;
  readonly sealed: ShortList<{ readonly name: string; readonly bytes: number; readonly sha256: string }>;
  readonly masking: PageMasking | null;
  /** The read-only folders, as they were before the run. */
  readonly mounts: readonly {
    readonly path: string;
    readonly entries: number;
    readonly bytes: number;
    readonly sha256: string;
  }[];
}
