import path from 'node:path';
import type { Changes } from '../../contracts/agent-step/changes.ts';
import { AGENT_FILES } from '../../evidence/agent/agent-documents.ts';
import type { Stored } from '../../evidence/step/capture-note.ts';
import { type Flagged, flaggedFiles, isCredentialFile } from '../../evidence/ingest/flags.ts';
import { takeChanges } from '../../execute/worktree/changes.ts';
import { putBack, violationsIn } from '../../policy/agent-violations.ts';
import type { PolicyViolation } from '../../contracts/agent-step/index.ts';
import { CHANGED_BYTES_MAX, CHANGES_MAX } from './bound.ts';
import type { StartedRun } from '../pipeline/journaled-run.ts';
import type { AgentTypes } from './agent.ts';
import { secretsOf } from './model.ts';

/** The work tree after the run. */
export interface After {
  readonly changes: Changes;
  readonly diff: Stored;
  /** The diffs of the agent's commits, if Proctor kept them. */
  readonly commits: Stored | undefined;
  readonly breaches: readonly PolicyViolation[];
  /** Why the changes exceed their limits, as a sentence; null if they do not. */
  readonly tooMuch: string | null;
  readonly counts: { readonly files: number; readonly commits: number };
  /** The diff if it contains secrets, and changed files whose names suggest credentials. */
  readonly flagged: readonly Flagged[];
}

/** Compares the work tree and the written refs with the policy, once all the agent's processes have ended. */
export async function workspaceAfter(
  { place: { folder }, made: { ready, clone, mounted }, prepared }: StartedRun<AgentTypes>,
  refsWritten: ReadonlySet<string>,
): Promise<After> {
  const { effective } = ready.bound;
  const isReadOnly = effective.execution_posture === 'read_only';
  const workTree = isReadOnly ? clone.tree : path.join(prepared.workFolder, 'output');
  const changes = await takeChanges(clone, workTree, path.join(folder, AGENT_FILES.diff), {
    series: { out: path.join(folder, AGENT_FILES.commits), leaveOut: mounted.inTree },
  });
  const commits = changes.commits.series?.diff ?? undefined;
  const { sha256, bytes } = changes.diff;
  const named = changes.changed
    .map(({ path: file }) => file)
    .filter(isCredentialFile)
    .slice(0, NAMED_MAX);
  const diffs = [{ path: AGENT_FILES.diff }, ...(commits ? [{ path: AGENT_FILES.commits }] : [])];
  return {
    changes,
    diff: { sha256, bytes },
    commits,
    breaches: [...putBack(refsWritten, clone.protectedRefs, changes), ...violationsIn(changes, effective)],
    tooMuch: tooMuchIn(changes),
    counts: { files: changes.changed.length, commits: changes.commits.listed.length },
    flagged: [
      ...flaggedFiles(folder, diffs, secretsOf(ready)),
      ...named.map(file => ({ path: file, code: 'credential_file_name' as const, kinds: [] })),
    ],
  };
}

const NAMED_MAX = 500;

function tooMuchIn({ changed, diff }: Changes): string | null {
  if (changed.length > CHANGES_MAX) return `The agent changed more than ${CHANGES_MAX} files.`;
  const bytes = changed.reduce((sum, file) => sum + file.bytes, 0);
  if (bytes > CHANGED_BYTES_MAX) return 'The agent wrote more than 1 GiB.';
  return diff.cut ? 'The changes exceed the size limit of a diff.' : null;
}
