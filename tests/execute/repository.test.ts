import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { repositoryAt } from '../../src/execute/repository.ts';
import { temporaryFolder } from '../support.ts';
import { git, put, repository } from './clone-world.ts';

test('a folder is at a commit, and differs from it when something was changed or added', async () => {
  const folder = repository({ 'a.txt': 'a\n' });
  const commit = git(folder, 'rev-parse', 'HEAD');
  expect(await repositoryAt(folder)).toEqual({ commit, dirty: false });
  put(folder, { 'b.txt': 'b\n' });
  expect(await repositoryAt(folder)).toEqual({ commit, dirty: true });
});

test('of a folder without a commit nobody can say where it is', async () => {
  const folder = temporaryFolder();
  expect(await repositoryAt(folder)).toBeNull();
  git(folder, 'init', '--quiet');
  expect(await repositoryAt(folder)).toBeNull();
});

test('a repository that is asked runs nothing, and its index stays as it is', async () => {
  const folder = repository({ 'a.txt': 'a\n', '.gitattributes': '*.txt filter=own\n' });
  const ran = path.join(temporaryFolder(), 'ran');
  git(folder, 'config', 'filter.own.clean', `touch ${ran}; cat`);
  const index = path.join(folder, '.git', 'index');
  const before = readFileSync(index);
  // What has the same length and another time must be read to be known.
  writeFileSync(path.join(folder, 'a.txt'), 'a\n');
  expect(await repositoryAt(folder)).toMatchObject({ dirty: false });
  expect(existsSync(ran)).toBe(false);
  expect(readFileSync(index).equals(before)).toBe(true);
});
