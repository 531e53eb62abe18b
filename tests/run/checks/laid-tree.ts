import { spawnSync } from 'node:child_process';
import path from 'node:path';
import type { Mount } from '../../../src/execute/job/job.ts';
import { type CheckPlace, layTree } from '../../../src/run/checks/look.ts';
import type { ReadyCheck } from '../../../src/run/checks/order.ts';
import type { FoundChanges } from '../../../src/run/checks/restore.ts';
import { given, repository, RUN, stageFor } from '../../execute/worktree/clone-world.ts';

export interface Laid {
  /** The tree that the agent left. */
  readonly left: string;
  /** The tree of the check. */
  readonly top: string;
  readonly changes: FoundChanges;
  /** The restored files, such as `changed tests/a.js`. */
  readonly restored: readonly string[];
  readonly kept: readonly string[];
}

/** Runs a shell command in place of an agent, in a clone of these files, and lays out the tree of a check. */
export async function laid(
  files: Readonly<Record<string, string>>,
  deed: string,
  check: Partial<ReadyCheck> & { readonly command: string },
  { isSecond = false, mounts = [] }: { readonly isSecond?: boolean; readonly mounts?: readonly Mount[] } = {},
): Promise<Laid> {
  const { clone, tree: left } = await given(repository({ ...files }));
  const done = sh(left, deed);
  if (done.status !== 0) throw new Error(done.stderr);
  const stage = stageFor();
  const ready = { name: 'unit', overlay: undefined, paths: undefined, report: undefined, keep: undefined, ...check };
  const place = { runId: RUN, clone, workTree: left, mounts } as unknown as CheckPlace;
  const changes = await layTree(ready as ReadyCheck, place, stage, isSecond);
  const named = (list: FoundChanges['restored']): string[] => list.map(({ path: at, change }) => `${change} ${at}`);
  return {
    left,
    top: path.join(stage, 'roots'),
    changes,
    restored: named(changes.restored),
    kept: named(changes.kept),
  };
}

/** Runs a command with this machine's programs, without a sandbox. */
export function sh(cwd: string, command: string) {
  return spawnSync('/bin/sh', ['-c', command], {
    cwd,
    encoding: 'utf8',
    timeout: 60_000,
    env: { PATH: process.env['PATH'], HOME: cwd, CI: 'true' },
  });
}
