import { mkdirSync, truncateSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { copyTree } from '../../../src/execute/worktree/check-tree.ts';
import { temporaryFolder } from '../../support/support.ts';

test('fails with tree_too_large if the files exceed the limit', async () => {
  const from = temporaryFolder();
  writeFileSync(path.join(from, 'big'), '');
  truncateSync(path.join(from, 'big'), 3 * 1024 ** 3);
  await expect(copyTree(from, temporaryFolder())).rejects.toMatchObject({ code: 'tree_too_large' });
});

test('fails with tree_too_large if the copied paths are too long', async () => {
  const from = temporaryFolder();
  const names = (count: number): string => path.join(...Array.from({ length: count }, () => 'd'.repeat(250)));
  mkdirSync(path.join(from, names(15)), { recursive: true });
  const to = path.join(temporaryFolder(), names(3));
  mkdirSync(to, { recursive: true });
  await expect(copyTree(from, to)).rejects.toMatchObject({ code: 'tree_too_large' });
});
