import { readFileSync, existsSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { given, git, put, repository } from './clone-world.ts';

describe('a clone', () => {
  test('has the files of HEAD, a branch of its own, and the branch of the user beside it', async () => {
    const folder = repository();
    const { clone, tree } = await given(folder);
    expect(readFileSync(path.join(tree, 'src/a.ts'), 'utf8')).toBe('one\ntwo\nthree\n');
    expect(git(tree, 'status', '--porcelain')).toBe('');
    expect(git(tree, 'rev-parse', 'main')).toBe(git(folder, 'rev-parse', 'HEAD'));
    expect(git(tree, 'symbolic-ref', 'HEAD')).toBe(`refs/heads/${clone.branch}`);
  });
  test('tells what was changed', async () => {
    const { tree, took } = await given(repository());
    put(tree, { 'src/a.ts': 'one\n2\nthree\n', 'new/x.txt': 'x' });
    git(tree, 'add', '-A');
    git(tree, 'commit', '-q', '-m', 'work');
    const changes = await took();
    expect(existsSync(changes.out)).toBe(true);
  });
});
