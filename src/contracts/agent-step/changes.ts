/**
 * The changes to the agent's work tree, recorded after all its processes ended. Complete up to the limits, so that a policy
 * can be checked against all changes; documents list only the first ones.
 */
export interface Changes {
  /** A clone of a repository, or a copy of a folder that is not a repository. */
  readonly kind: 'clone' | 'copy';
  readonly baseSha: string;
  /** The commit of the repository, if Proctor added files to it to make `baseSha`. */
  readonly baseFrom?: string;
  /** The user's branch, or `HEAD` if detached. */
  readonly baseRef: string;
  readonly branch: string;
  readonly diff: WorkspaceDiff;
  /** All changes since base, committed or not, including new files. Sorted by path. */
  readonly changed: readonly FileChange[];
  /** New files that .gitignore excludes from the diff. */
  readonly ignored: { readonly files: number; readonly bytes: number; readonly paths: readonly string[] };
  /** Commits reachable from the work tree's refs but not from base, newest first; null if the objects cannot be read. */
  readonly commits: {
    readonly listed: readonly Commit[];
    readonly total: number | null;
    /** Commits that no ref reaches; null if not all objects can be read. Absent if not checked. */
    readonly abandoned?: number | null;
    /** Absent if HEAD is at base, and in recovered runs. */
    readonly series?: CommitSeries;
  };
  readonly refs: readonly RefChange[];
  /** One of the user's branches moved. */
  readonly branchMoved: boolean;
  /** The run's branch no longer contains base. */
  readonly rewritten: boolean;
  /** Whether `.git` is still a folder, is missing, or was replaced by something else. */
  readonly gitFolder: 'kept' | 'gone' | 'replaced';
  readonly gitConfigChanged: boolean;
  /** Hooks that git would run, as paths relative to the work tree. */
  readonly hooks: readonly string[];
  /** Subfolders with their own `.git`. The diff includes their files, but not that `.git`. */
  readonly nested: readonly string[];
  readonly submodules: readonly { readonly path: string; readonly from: string | null; readonly to: string | null }[];
  /** New or changed symlinks that point outside the work tree. */
  readonly linksOut: readonly string[];
  /** New paths that collide with another path on a case-insensitive file system. */
  readonly collisions: readonly string[];
  /** Files in the work tree that a diff cannot represent. */
  readonly leftOut: readonly LeftOut[];
  /** Changes that would execute code automatically after `apply`. */
  readonly needsReview: readonly ReviewedPath[];
  readonly notes: readonly string[];
}

export interface ReviewedPath {
  readonly path: string;
  /** What would run it, and when. */
  readonly reason: string;
}

export interface WorkspaceDiff {
  /** Size of the diff file. */
  readonly bytes: number;
  readonly sha256: `sha256:${string}`;
  /** Why the diff is incomplete. Such a run cannot be applied. */
  readonly cut: { readonly bytesTotal: number; readonly why: 'bytes' | 'file_bytes' | 'entries' | 'time' } | null;
}

export interface FileChange {
  readonly path: string;
  /**
   * `path` is percent-encoded, because the name contains bytes that documents do not allow in a path, such as a line
   * feed (`%0A`).
   */
  readonly encoded?: true;
  readonly change: 'add' | 'update' | 'delete';
  /** Current size; 0 if deleted. */
  readonly bytes: number;
  /** The git mode (100644, 100755, 120000 or 160000), current or before deletion. */
  readonly mode: string;
  /** Present if the mode changed. */
  readonly modeBefore?: string;
}

export interface Commit {
  readonly sha: string;
  readonly subject: string;
}

/** The commits from base to the agent's HEAD, oldest first, with everything that another repository needs. */
export interface CommitSeries {
  /** Why the commits are left out; null if they are complete. */
  readonly why: (typeof SERIES_LEFT_OUT)[number] | null;
  /** The diffs of all commits in one file, in order. */
  readonly diff: { readonly bytes: number; readonly sha256: `sha256:${string}` } | null;
  readonly listed: readonly SeriesCommit[];
}

export interface SeriesCommit {
  readonly sha: string;
  readonly author: Signature;
  readonly committer: Signature;
  readonly message: string;
  /** The length of its diff to its parent. */
  readonly diffBytes: number;
}

export interface Signature {
  readonly name: string;
  readonly email: string;
  /** As git writes it: seconds since 1970, and the time zone. */
  readonly date: string;
}

/** Not linear: a merge, or a history that does not start at base. */
export const SERIES_LEFT_OUT = ['not_linear', 'too_many', 'too_large', 'unreadable'] as const;

export interface RefChange {
  /** `HEAD`, a full name such as `refs/heads/main`, or `worktrees/<name>/HEAD`. */
  readonly name: string;
  readonly change: 'new' | 'moved' | 'deleted';
  /** Current target; null if the ref is gone or does not name an object. */
  readonly sha: string | null;
  /** A user's branch, which the agent must not move. */
  readonly isProtected: boolean;
}

export interface LeftOut {
  readonly path: string;
  readonly why: (typeof LEFT_OUT)[number];
  readonly bytes: number;
}

/** Why a file is not in the diff. */
export const LEFT_OUT = ['fifo', 'socket', 'device', 'unreadable', 'unsafe_name', 'too_large', 'in_submodule'] as const;
