import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { checkSource, cloneFor } from '../../../src/execute/worktree/clone.ts';
import { temporaryFolder } from '../../support/support.ts';
import { given, git, put, repository, RUN, stageFor } from './clone-world.ts';

/** Two commits on `main`; the first has a branch and a tag. */
function history(): { folder: string; first: string } {
  const folder = repository();
  const first = git(folder, 'rev-parse', 'HEAD');
  git(folder, 'branch', 'old');
  git(folder, 'tag', '-a', 'v1', '-m', 'one');
  put(folder, { 'later.txt': 'later\n' });
  git(folder, 'add', '-A');
  git(folder, 'commit', '-q', '-m', 'second');
  return { folder, first };
}

describe('a clone of another commit', () => {
  test.each([
    ['HEAD~1', []],
    ['v1', []],
    ['old', ['refs/heads/old']],
    ['refs/heads/old', ['refs/heads/old']],
  ])('starts from %s, and does not look at the work tree', async (base, branches) => {
    const { folder, first } = history();
    put(folder, { 'readme.md': 'not committed\n', untracked: '' });
    const { clone, tree, took } = await given(folder, { base });
    expect(clone).toMatchObject({ baseSha: first, baseRef: base, notes: [] });
    expect(clone.refs).toEqual([`refs/heads/proctor/${RUN}`, ...branches]);
    expect(existsSync(path.join(tree, 'later.txt'))).toBe(false);
    expect(readFileSync(path.join(tree, 'readme.md'), 'utf8')).toBe('hello\n');
    expect(await took()).toMatchObject({ changed: [], refs: [], branchMoved: false, commits: { total: 0 } });
    await expect(checkSource(folder, false, base)).resolves.toBe(first);
    await expect(checkSource(folder, false)).rejects.toThrow('uncommitted changes');
  });

  test("still guards the user's branches", async () => {
    const { folder } = history();
    const { tree, took } = await given(folder, { base: 'HEAD~1' });
    git(tree, 'branch', 'main');
    expect(await took()).toMatchObject({ branchMoved: true, refs: [{ name: 'refs/heads/main', isProtected: true }] });
  });

  test('is refused if the name is not that of one commit', async () => {
    const { folder } = history();
    const told = (base: string, from = folder) =>
      cloneFor(from, stageFor(), { runId: RUN, allowDirty: false, readOnly: false, base }).catch(
        (error: Error) => error.message,
      );
    for (const base of ['no-such', '0'.repeat(40), 'HEAD~9', 'v1^@', 'main^!'])
      expect(await told(base), base).toMatch(/has no commit/);
    for (const base of [
      '',
      '-x',
      '--all',
      'old..main',
      ':/first',
      'HEAD^{/first}',
      'main:readme.md',
      '^main',
      'a b',
      'x\n',
      'ma*',
      '@{-1}',
      '../x',
    ])
      expect(await told(base), base).toMatch(/needs the name of one commit/);
    expect(await told('HEAD', temporaryFolder())).toMatch(/not in a repository/);
  });
});
