import path from 'node:path';
import { unsafePath } from '../../base/path.ts';
import type { BaseNote } from '../../contracts/agent-step/base.ts';
import { baseWith, laidOver } from '../../execute/worktree/base-with.ts';
import { type Clone, type CloneFrom, cloneFor } from '../../execute/worktree/clone.ts';
import { filesIn } from '../../execute/worktree/tree-state.ts';
import { type Overlay, readOverlay } from '../checks/overlay.ts';
import type { CheckedAgentRun } from './agent.ts';
import type { AgentOrder } from './order.ts';

/** What the clone starts from. */
export function cloneFrom({ dir, repository, cwd }: AgentOrder): CloneFrom {
  if (repository !== undefined) return { repository: path.resolve(cwd, repository) };
  return dir;
}

/** Reads the files that join the base commit, before the run takes a slot. */
export function startFiles({ files, cwd }: AgentOrder): Overlay | undefined {
  return files === undefined ? undefined : readOverlay(files, cwd, 'The folder of files');
}

export interface AgentStart {
  readonly clone: Clone;
  /** Undefined if the agent starts from a plain folder. */
  readonly note: BaseNote | undefined;
}

/** Creates the agent's clone, and adds the given files to its base commit. */
export async function agentStart(ready: CheckedAgentRun, stage: string): Promise<AgentStart> {
  const { id, order, bound, files } = ready;
  const from = cloneFrom(order);
  const first = await cloneFor(from, stage, {
    runId: id,
    allowDirty: order.allowDirty === true,
    ...(order.base !== undefined && { base: order.base }),
    readOnly: bound.effective.execution_posture === 'read_only',
  });
  const laid = files && laidOver(first.tree, first.startIn, files.files, filesIn(first.baseFiles).keys());
  const clone = laid ? await baseWith(first, laid) : first;
  return { clone, note: noteOf(order, first, clone, files) };
}

function noteOf(order: AgentOrder, first: Clone, clone: Clone, files: Overlay | undefined): BaseNote | undefined {
  const { repository, dir } = order;
  if (repository === undefined && files === undefined) return undefined;
  const kind = repository === undefined ? (dir === undefined ? 'files' : 'folder') : 'repository';
  return {
    kind: first.bundle === undefined ? kind : 'bundle',
    name: repository === undefined ? null : nameOfSource(repository),
    bundle_sha256: first.bundle ?? null,
    commit: first.kind === 'clone' ? first.baseSha : null,
    base_commit: clone.baseSha,
    files: files ? { sha256: files.sha256, total: files.files.size } : null,
  };
}

/** The name as written, or only its last part if it leads out of the working folder. */
function nameOfSource(repository: string): string {
  const name = path.posix.normalize(repository).replace(/\/+$/, '');
  return unsafePath(name) === undefined ? name : path.basename(name) || 'repository';
}
