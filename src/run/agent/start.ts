import path from 'node:path';
import { unsafePath } from '../../base/path.ts';
import type { BaseNote } from '../../contracts/agent-step/base.ts';
import { type BaseEdits, baseWith, laidOver } from '../../execute/worktree/base-with.ts';
import { type Clone, type CloneFrom, cloneFor } from '../../execute/worktree/clone.ts';
import { layPrepared, removeDeleted } from '../../execute/worktree/prepared.ts';
import { preparedFiles } from '../../execute/worktree/prepared-files.ts';
import { filesIn } from '../../execute/worktree/tree-state.ts';
import { type Overlay, readOverlay } from '../checks/overlay.ts';
import type { ReadySetup } from '../setup/order.ts';
import { runSetup, type SetupResult } from '../setup/run-setup.ts';
import type { CheckedAgentRun } from './agent.ts';
import { maskOf } from './masked.ts';
import { secretsOf } from './model.ts';
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

/** Creates the agent's clone. The given files and what the setup command changed become part of its base commit. */
export async function agentStart(ready: CheckedAgentRun, stage: string): Promise<AgentStart> {
  const { id, order, bound, files } = ready;
  const from = cloneFrom(order);
  const first = await cloneFor(from, stage, {
    runId: id,
    allowDirty: order.allowDirty === true,
    ...(order.base !== undefined && { base: order.base }),
    readOnly: bound.effective.execution_posture === 'read_only',
  });
  const given = files && laidOver(first.tree, first.startIn, files.files, filesIn(first.baseFiles).keys());
  const setup = await preparedBy(ready, stage, first, given);
  const edits = setup?.prepared ?? given;
  const based = edits ? await baseWith(first, edits) : first;
  const clone = setup ? { ...based, prepared: preparedFiles(setup.prepared, based, stage) } : based;
  return { clone, note: noteOf(ready, first, clone, setup) };
}

/** Runs the setup command on the base with the given files, and lays its result into the clone. */
async function preparedBy(
  ready: CheckedAgentRun,
  stage: string,
  clone: Clone,
  given: BaseEdits | undefined,
): Promise<SetupResult | undefined> {
  const { id, order, setup, files, around } = ready;
  if (!setup) return undefined;
  const result = await runSetup(setup, {
    runId: id,
    stage,
    launcher: around.launcher,
    clone,
    given: (given?.put ?? []).map(({ path: at }) => at),
    filesSha256: files?.sha256,
    secrets: secretsOf(ready),
    mask: maskOf({ ...ready, order: { ...order, keepCredentials: false } }),
    signal: around.signal,
    failed: around.failedSetups,
  });
  removeDeleted(result.prepared, clone.tree);
  await layPrepared(result.prepared, clone.tree);
  return result;
}

function noteOf(
  { order, files, setup: ready }: CheckedAgentRun,
  first: Clone,
  clone: Clone,
  setup: SetupResult | undefined,
): BaseNote | undefined {
  const { repository, dir } = order;
  if (repository === undefined && files === undefined && setup === undefined) return undefined;
  const kind = repository === undefined ? (dir === undefined ? 'files' : 'folder') : 'repository';
  return {
    kind: first.bundle === undefined ? kind : 'bundle',
    name: repository === undefined ? null : nameOfSource(repository),
    bundle_sha256: first.bundle ?? null,
    commit: first.kind === 'clone' ? first.baseSha : null,
    base_commit: clone.baseSha,
    files: files ? { sha256: files.sha256, total: files.files.size } : null,
    ...(setup && ready && { setup: setupNote(ready, setup) }),
  };
}

function setupNote({ command, effective }: ReadySetup, { prepared, isCached }: SetupResult): BaseNote['setup'] {
  const { put, deleted, ignored, facts, sha256 } = prepared;
  return {
    command,
    // A result exists only if the command succeeded.
    exit_code: 0,
    duration_ms: facts.durationMs,
    timeout_ms: effective.timeoutMs,
    memory_bytes: effective.memoryBytes ?? null,
    network: effective.network,
    cached: isCached,
    sha256,
    changed: put.length + deleted.length,
    ignored: ignored.length,
    bytes: [...put, ...ignored].reduce((sum, { bytes }) => sum + bytes, 0),
    left_out: facts.leftOut,
  };
}

/** The name as written, or only its last part if it leads out of the working folder. */
function nameOfSource(repository: string): string {
  const name = path.posix.normalize(repository).replace(/\/+$/, '');
  return unsafePath(name) === undefined ? name : path.basename(name) || 'repository';
}
