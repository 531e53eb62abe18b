import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { repositoryAt } from '../../../src/execute/worktree/repository.ts';
import { temporaryFolder } from '../../support/support.ts';
import { git, put, repository } from './clone-world.ts';

test('reports the commit of a folder, and whether something was changed or added', async () => {
  const folder = repository({ 'a.txt': 'a\n' });
  const commit = git(folder, 'rev-parse', 'HEAD');
  expect(await repositoryAt(folder)).toEqual({ commit, dirty: false });
  put(folder, { 'b.txt': 'b\n' });
  expect(await repositoryAt(folder)).toEqual({ commit, dirty: true });
});

test('returns null for a folder without a commit', async () => {
  const folder = temporaryFolder();
  expect(await repositoryAt(folder)).toBeNull();
  git(folder, 'init', '--quiet');
  expect(await repositoryAt(folder)).toBeNull();
});

test('runs nothing from the repository, and does not change its index', async () => {
  const folder = repository({ 'a.txt': 'a\n', '.gitattributes': '*.txt filter=own\n' });
  const ran = path.join(temporaryFolder(), 'ran');
  git(folder, 'config', 'filter.own.clean', `touch ${ran}; cat`);
  const index = path.join(folder, '.git', 'index');
  const before = readFileSync(index);
  // The new mtime forces git to read the file, although its size is unchanged.
  writeFileSync(path.join(folder, 'a.txt'), 'a\n');
  expect(await repositoryAt(folder)).toMatchObject({ dirty: false });
  expect(existsSync(ran)).toBe(false);
  expect(readFileSync(index).equals(before)).toBe(true);
});
