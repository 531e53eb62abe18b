import { mkdirSync } from 'node:fs';
import path from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { RefWatch } from '../../../src/execute/worktree/ref-watch.ts';
import { gitIn } from '../../../stand-ins/git.ts';
import { repositoryFolder } from '../../../stand-ins/place.ts';

test('reports a ref that was moved and moved back, but not a ref that was only read', async () => {
  const folder = repositoryFolder();
  gitIn(folder, 'branch', 'team/other');
  mkdirSync(path.join(folder, '.git', 'refs', 'empty'));
  const watch = new RefWatch(path.join(folder, '.git'));
  onTestFinished(() => watch.close());
  const [base = '', other = ''] = [
    gitIn(folder, 'rev-parse', 'main'),
    gitIn(folder, 'commit-tree', 'HEAD^{tree}', '-m', 'other'),
  ].map(sha => sha.trim());
  gitIn(folder, 'log', '--all');
  gitIn(folder, 'update-ref', 'refs/heads/team/other', other);
  gitIn(folder, 'update-ref', 'refs/heads/team/other', base);
  gitIn(folder, 'update-ref', 'refs/tags/last', base);
  await expect.poll(() => [...watch.written()].sort()).toEqual(['refs/heads/team/other', 'refs/tags/last']);
});

test('watches nothing without a git folder', async () => {
  const watch = new RefWatch('/nowhere/.git');
  expect([...watch.written()]).toEqual([]);
  await watch.close();
});
