import type { Changes, CommitSeries, FileChange } from '../../contracts/agent-step/changes.ts';
import { CHANGED_LISTED_MAX, LISTED_MAX, type WorkspaceStatus } from '../../contracts/workspace/index.ts';

const DIFF = 'workspace.diff';
const SERIES = 'commits.diff';

export function workspaceStatusOf(runId: string, changes: Changes, notes: readonly string[] = []): WorkspaceStatus {
  const { diff, changed, ignored, commits, refs } = changes;
  const { bytes, sha256, cut } = diff;
  return {
    schema_version: 'workspace-status.v1',
    run_id: runId,
    kind: changes.kind,
    base: {
      ref: changes.baseRef,
      sha: changes.baseSha,
      ...(changes.baseFrom !== undefined && { from_sha: changes.baseFrom }),
      branch: changes.branch,
    },
    diff: { path: DIFF, sha256, bytes, cut: cut && { bytes_total: cut.bytesTotal, why: cut.why } },
    changed: {
      total: changed.length,
      listed: changed.slice(0, CHANGED_LISTED_MAX).map(fileOf),
    },
    ignored: { total: ignored.files, bytes: ignored.bytes, listed: ignored.paths.slice(0, LISTED_MAX) },
    left_out: some(changes.leftOut),
    commits: {
      total: commits.total,
      listed: [...commits.listed],
      ...(commits.series && { series: toldSeries(commits.series) }),
    },
    refs: some(refs.map(({ name, change, sha, isProtected }) => ({ name, change, sha, protected: isProtected }))),
    branch_moved: changes.branchMoved,
    rewritten: changes.rewritten,
    git_folder: changes.gitFolder,
    git_config_changed: changes.gitConfigChanged,
    hooks: some(changes.hooks),
    nested_repositories: some(changes.nested),
    submodules: some(changes.submodules),
    links_out: some(changes.linksOut),
    collisions: some(changes.collisions),
    needs_review: some(changes.needsReview),
    notes: [...notes, ...changes.notes],
  };
}

function toldSeries({ why, diff, listed }: CommitSeries): NonNullable<WorkspaceStatus['commits']['series']> {
  return {
    why,
    diff: diff && { path: SERIES, ...diff },
    listed: listed.map(({ diffBytes, ...commit }) => ({ ...commit, diff_bytes: diffBytes })),
  };
}

function fileOf({ modeBefore, ...file }: FileChange): WorkspaceStatus['changed']['listed'][number] {
  return modeBefore === undefined ? file : { ...file, mode_before: modeBefore };
}

function some<Item>(all: readonly Item[]): { total: number; listed: Item[] } {
  return { total: all.length, listed: all.slice(0, LISTED_MAX) };
}
