import { execFileSync } from 'node:child_process';
import { chmodSync, cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, onTestFinished } from 'vitest';
import type { Changes } from '../../../src/contracts/agent-step/changes.ts';
import { type ChangeLimits, takeChanges } from '../../../src/execute/worktree/changes.ts';
import { type Clone, cloneFor, type CloneOptions } from '../../../src/execute/worktree/clone.ts';
import { makeStage, removeStage } from '../../../src/execute/host/workspace.ts';
import { temporaryFolder } from '../../support/support.ts';

/** Git with default settings, without those of the user who runs the tests. */
export function git(folder: string, ...args: string[]): string {
  return execFileSync('git', ['-c', 'protocol.file.allow=always', ...args], {
    cwd: folder,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
    env: {
      PATH: process.env.PATH,
      GIT_CONFIG_NOSYSTEM: '1',
      GIT_CONFIG_GLOBAL: '/dev/null',
      GIT_AUTHOR_NAME: 'a',
      GIT_AUTHOR_EMAIL: 'a@example.org',
      GIT_COMMITTER_NAME: 'a',
      GIT_COMMITTER_EMAIL: 'a@example.org',
    },
  }).trim();
}

export function put(folder: string, files: Record<string, string | Uint8Array>): void {
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(path.dirname(path.join(folder, name)), { recursive: true });
    writeFileSync(path.join(folder, name), content);
  }
}

/** A user's repository on `main`, with one commit. */
export function repository(files: Record<string, string | Uint8Array> = FILES): string {
  const folder = path.join(temporaryFolder(), 'project');
  // A run may use another user, who needs access.
  chmodSync(path.dirname(folder), 0o755);
  // Most tests start with the same repository, and copying it is faster than creating it.
  if (files === FILES && usual !== undefined) cpSync(usual, folder, { recursive: true });
  else begin(folder, files);
  return folder;
}

let usual: string | undefined;

beforeAll(() => {
  usual = path.join(mkdtempSync(path.join(tmpdir(), 'proctor-test-')), 'usual');
  begin(usual, FILES);
});

afterAll(() => {
  if (usual !== undefined) rmSync(path.dirname(usual), { recursive: true, force: true });
});

function begin(folder: string, files: Record<string, string | Uint8Array>): void {
  mkdirSync(folder);
  git(folder, 'init', '-q', '-b', 'main', '--template=');
  put(folder, files);
  git(folder, 'add', '-A', '-f');
  git(folder, 'commit', '-q', '-m', 'first');
}

const FILES = {
  'readme.md': 'hello\n',
  'src/a.ts': 'one\ntwo\nthree\n',
  'src/b.bin': Buffer.from([0, 1, 2, 255]),
};

let count = 0;

export function stageFor(): string {
  const stage = makeStage(`clone-${++count}`);
  onTestFinished(() => removeStage(stage));
  return stage;
}

export const RUN = 'agent_20260403_101500_4f1c9a7be210';

export interface Given {
  readonly clone: Clone;
  /** The agent's view: a copy with everything that git needs. */
  readonly tree: string;
  readonly took: (limits?: ChangeLimits) => Promise<Changes & { readonly out: string; readonly series: string }>;
}

/** A clone as an agent sees it. Self-contained, because its alternates are valid only inside a sandbox. */
export async function given(folder: string, options: Partial<CloneOptions> = {}): Promise<Given> {
  const stage = stageFor();
  const clone = await cloneFor(folder, stage, {
    runId: RUN,
    allowDirty: false,
    readOnly: false,
    selfContained: true,
    ...options,
  });
  const tree = path.join(temporaryFolder(), 'output');
  cpSync(clone.tree, tree, { recursive: true, verbatimSymlinks: true });
  return {
    clone,
    tree,
    async took(limits) {
      const out = path.join(temporaryFolder(), 'workspace.diff');
      const series = path.join(path.dirname(out), 'commits.diff');
      return {
        ...(await takeChanges(clone, tree, out, { ...(limits && { limits }), series: { out: series, leaveOut: [] } })),
        out,
        series,
      };
    },
  };
}
