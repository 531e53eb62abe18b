/**
 * What an agent left of the tree it was given, found out when everything of it was dead. Complete within its bounds, so
 * that a policy can be held against all of it; documents list the beginning.
 */
export interface Changes {
  /** A clone of a repository, or the copy of a folder that is none. */
  readonly kind: 'clone' | 'copy';
  readonly baseSha: string;
  /** The branch the user was on; `HEAD` where it was none. */
  readonly baseRef: string;
  /** The branch of the run. */
  readonly branch: string;
  readonly diff: WorkspaceDiff;
  /** Against base: committed or not, staged or not, new files included. In the order of their bytes. */
  readonly changed: readonly FileChange[];
  /** New files that a .gitignore keeps out of the diff. */
  readonly ignored: { readonly files: number; readonly bytes: number; readonly paths: readonly string[] };
  /** What can be reached from its refs and not from base, the newest first; null where its objects cannot be read. */
  readonly commits: {
    readonly listed: readonly Commit[];
    readonly total: number | null;
    /** Made, and held by no ref any more; null where not all of its objects can be read. Absent: nobody looked. */
    readonly abandoned?: number | null;
  };
  readonly refs: readonly RefChange[];
  /** A branch of the user's is not where it was. */
  readonly branchMoved: boolean;
  /** The branch of the run does not hold base any more. */
  readonly rewritten: boolean;
  /** What became of `.git`: it is a folder still, or it is not there, or something else is in its place. */
  readonly gitFolder: 'kept' | 'gone' | 'replaced';
  readonly gitConfigChanged: boolean;
  /** Programs that git would run by itself, as paths below the top of the tree. */
  readonly hooks: readonly string[];
  /** Folders below the top with a `.git` of their own. Their files are in the diff like any other; that `.git` is not. */
  readonly nested: readonly string[];
  readonly submodules: readonly { readonly path: string; readonly from: string | null; readonly to: string | null }[];
  /** New or changed links that lead out of the tree. */
  readonly linksOut: readonly string[];
  /** New paths that are one with another where upper and lower case are the same. */
  readonly collisions: readonly string[];
  /** What is in the tree and not in the diff, because no diff can hold it. */
  readonly leftOut: readonly LeftOut[];
  /** Changes that run by themselves where they are applied. */
  readonly needsReview: readonly ReviewedPath[];
  readonly notes: readonly string[];
}

export interface ReviewedPath {
  readonly path: string;
  /** What runs it, and when. */
  readonly reason: string;
}

export interface WorkspaceDiff {
  /** Of the file that was written. */
  readonly bytes: number;
  readonly sha256: `sha256:${string}`;
  /** Why it is not the whole diff; such a run cannot be applied. */
  readonly cut: { readonly bytesTotal: number; readonly why: 'bytes' | 'file_bytes' | 'entries' | 'time' } | null;
}

export interface FileChange {
  readonly path: string;
  /** The name has bytes that a path in a document may not; they are written as `%0A`. */
  readonly encoded?: true;
  readonly change: 'add' | 'update' | 'delete';
  /** Of what is there now; 0 for what was deleted. */
  readonly bytes: number;
  /** As git has it, 100644, 100755, 120000 or 160000: now, or before it was deleted. */
  readonly mode: string;
  /** Where it was another before. */
  readonly modeBefore?: string;
}

export interface Commit {
  readonly sha: string;
  readonly subject: string;
}

export interface RefChange {
  /** `HEAD`, or from `refs/` on; that of a further work tree is `worktrees/<name>/HEAD`. */
  readonly name: string;
  readonly change: 'new' | 'moved' | 'deleted';
  /** Where it is now; null where it is gone or names no object. */
  readonly sha: string | null;
  /** A branch of the user's, which is not the agent's to move. */
  readonly isProtected: boolean;
}

export interface LeftOut {
  readonly path: string;
  readonly why: (typeof LEFT_OUT)[number];
  readonly bytes: number;
}

/** Why something of the tree is not in the diff. */
export const LEFT_OUT = ['fifo', 'socket', 'device', 'unreadable', 'unsafe_name', 'too_large', 'in_submodule'] as const;
