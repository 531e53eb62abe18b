import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { checkSource, cloneFor } from '../../../src/execute/worktree/clone.ts';
import { treeBundle } from '../../../src/execute/worktree/tree-bundle.ts';
import { bytesHash } from '../../../src/base/hash.ts';
import { temporaryFolder } from '../../support/support.ts';
import { git, put, repository, RUN, stageFor } from './clone-world.ts';

const MIB = 1024 ** 2;

function written(bytes: Buffer): string {
  const file = path.join(temporaryFolder(), 'tree.bundle');
  writeFileSync(file, bytes);
  return file;
}

test('carries a commit with its history and its branch to another machine, as the same bytes each time', async () => {
  const folder = repository();
  put(folder, { 'later.txt': 'later\n' });
  git(folder, 'add', '-A');
  git(folder, 'commit', '-q', '-m', 'second');
  const bundle = await treeBundle(folder, undefined, MIB);
  expect(bundle.commit).toBe(git(folder, 'rev-parse', 'HEAD'));
  expect(bundle.sha256).toBe(bytesHash(bundle.bytes));
  expect((await treeBundle(folder, undefined, MIB)).sha256).toBe(bundle.sha256);
  const options = { runId: RUN, allowDirty: false, readOnly: false };
  const clone = await cloneFor({ repository: written(bundle.bytes) }, stageFor(), options);
  expect(clone).toMatchObject({ baseSha: bundle.commit, baseRef: git(folder, 'branch', '--show-current') });
  expect(clone.baseFiles.toString()).toContain('later.txt');
});

test('carries an earlier commit, a detached one, and one with SHA-256 names', async () => {
  const folder = repository();
  const first = git(folder, 'rev-parse', 'HEAD');
  put(folder, { 'later.txt': 'later\n' });
  git(folder, 'add', '-A');
  git(folder, 'commit', '-q', '-m', 'second');
  const earlier = await treeBundle(folder, 'HEAD~1', MIB);
  expect(earlier.commit).toBe(first);
  expect(await checkSource({ repository: written(earlier.bytes) }, false)).toBe(first);
  git(folder, 'checkout', '-q', '--detach', first);
  const detached = await treeBundle(folder, undefined, MIB);
  expect(await checkSource({ repository: written(detached.bytes) }, false)).toBe(first);

  const modern = temporaryFolder();
  git(modern, 'init', '-q', '--object-format=sha256');
  put(modern, { 'a.txt': 'a\n' });
  git(modern, 'add', '-A');
  git(modern, '-c', 'user.name=a', '-c', 'user.email=a@example.org', 'commit', '-q', '-m', 'one');
  const long = await treeBundle(modern, undefined, MIB);
  expect(long.commit).toMatch(/^[0-9a-f]{64}$/);
  expect(await checkSource({ repository: written(long.bytes) }, false)).toBe(long.commit);
});

test('refuses by name what a bundle cannot carry', async () => {
  const folder = repository();
  await expect(treeBundle(folder, undefined, 100)).rejects.toThrow(/With its history, the repository is larger than/);
  await expect(treeBundle(temporaryFolder(), undefined, MIB)).rejects.toThrow(/not in a git repository\. Commit its/);
  const below = path.join(folder, 'below');
  mkdirSync(below);
  await expect(treeBundle(below, undefined, MIB)).rejects.toThrow(/starts at the top of its repository/);
  put(folder, { 'later.txt': 'later\n' });
  git(folder, 'add', '-A');
  git(folder, 'commit', '-q', '-m', 'second');
  const shallow = path.join(temporaryFolder(), 'shallow');
  git(folder, 'clone', '-q', '--depth', '1', `file://${folder}`, shallow);
  await expect(treeBundle(shallow, undefined, MIB)).rejects.toThrow(/shallow clone.* Run git fetch --unshallow first/);
});
