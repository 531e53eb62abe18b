import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { CHANGE_LIMITS } from '../../../src/execute/worktree/changes.ts';
import { temporaryFolder } from '../../support/support.ts';
import { given, git, put, repository } from './clone-world.ts';

const pathsOf = (changes: { changed: readonly { path: string; change: string }[] }): string[] =>
  changes.changed.map(({ path: at, change }) => `${change} ${at}`);

describe("an agent's changes", () => {
  test('include committed, staged, unstaged and untracked files, and count ignored files separately', async () => {
    const { clone, tree, took } = await given(repository({ ...SOME, '.gitignore': '*.log\nbuild/\n' }));
    put(tree, { 'committed.txt': 'c\n', 'forced.log': 'tracked by force\n' });
    git(tree, 'add', '-A', '-f');
    git(tree, 'commit', '-q', '-m', 'One', '-m', 'and more');
    put(tree, { 'staged.txt': 's\n' });
    git(tree, 'add', 'staged.txt');
    put(tree, {
      'readme.md': 'changed\n',
      'untracked.txt': 'u\n',
      'x.log': 'log',
      'build/deep/out.js': '12345',
      ':(odd)!': 'x',
    });
    rmSync(path.join(tree, 'src/a.ts'));
    chmodSync(path.join(tree, 'src/b.bin'), 0o755);
    const changes = await took();
    expect(pathsOf(changes)).toEqual([
      'add :(odd)!',
      'add committed.txt',
      'add forced.log',
      'update readme.md',
      'delete src/a.ts',
      'update src/b.bin',
      'add staged.txt',
      'add untracked.txt',
    ]);
    expect(changes.changed.at(5)).toEqual({
      path: 'src/b.bin',
      change: 'update',
      bytes: 4,
      mode: '100755',
      modeBefore: '100644',
    });
    expect(changes.ignored).toEqual({ files: 2, bytes: 8, paths: ['build/deep/out.js', 'x.log'] });
    expect(changes.commits).toEqual({
      total: 1,
      listed: [{ sha: git(tree, 'rev-parse', 'HEAD'), subject: 'One' }],
      abandoned: 0,
      series: {
        why: null,
        diff: { bytes: expect.any(Number) as number, sha256: expect.stringMatching(/^sha256:/) as string },
        listed: [expect.objectContaining({ sha: git(tree, 'rev-parse', 'HEAD'), message: 'One\n\nand more\n' })],
      },
    });
    expect(changes).toMatchObject({
      branchMoved: false,
      rewritten: false,
      gitConfigChanged: false,
      hooks: [],
      gitFolder: 'kept',
    });
    expect(changes.refs).toMatchObject([{ name: `refs/heads/${clone.branch}`, change: 'moved', isProtected: false }]);
    expect(statSync(changes.out).size).toBe(changes.diff.bytes);
  });

  test('can be recorded if the cut name of an author ends in half a surrogate pair', async () => {
    const { tree, took } = await given(repository());
    git(tree, 'config', 'user.name', 'a');
    git(tree, 'commit', '-q', '--allow-empty', '-m', 'One', '--author', `${'a'.repeat(499)}😀 <a@example.org>`);
    const [commit] = (await took()).commits.series?.listed ?? [];
    expect(commit?.author.name).toBe(`${'a'.repeat(499)}\ufffd`);
  });

  test('are flagged if they run automatically, by name, symlink or parts of package.json', async () => {
    const { tree, took } = await given(
      repository({ 'package.json': '{"scripts":{"test":"x"}}', 'b/package.json': '{}' }),
    );
    put(tree, {
      '.claude/settings.json': '{}',
      'src/a.ts': 'x',
      'package.json': '{"scripts":{"test":"y","prepare":"node x.js"}}',
      'b/package.json': '{"scripts":{"test":"y"}}',
    });
    symlinkSync('../..', path.join(tree, 'src', 'out'));
    expect((await took()).needsReview).toEqual([
      { path: '.claude/settings.json', reason: expect.stringContaining('Claude Code') as string },
      { path: 'package.json', reason: expect.stringMatching(/npm.*: prepare$/) as string },
      { path: 'src/out', reason: 'it is a symlink that leaves the tree' },
    ]);
  });

  test('are empty if the agent only read files', async () => {
    const { tree, took } = await given(repository());
    git(tree, 'status');
    git(tree, 'log');
    const changes = await took();
    expect(changes).toMatchObject({
      changed: [],
      refs: [],
      commits: { total: 0, listed: [] },
      diff: { bytes: 0, cut: null },
      gitConfigChanged: false,
      notes: [],
    });
  });

  test('are found even if the index says that nothing changed', async () => {
    const { tree, took } = await given(repository());
    git(tree, 'update-index', '--assume-unchanged', 'readme.md');
    git(tree, 'update-index', '--skip-worktree', 'src/a.ts');
    put(tree, { 'readme.md': 'other\n', 'src/a.ts': 'other\n', '.git/info/exclude': '*\n', hidden: 'h' });
    expect(pathsOf(await took())).toEqual(['add hidden', 'update readme.md', 'update src/a.ts']);
  });

  test('include branches and the history of the run', async () => {
    const folder = repository();
    git(folder, 'commit', '-q', '--allow-empty', '-m', 'second');
    git(folder, 'branch', 'release');
    const { clone, tree, took } = await given(folder);
    put(tree, { new: 'n' });
    git(tree, 'reset', '-q', '--hard', 'HEAD~1');
    git(tree, 'commit', '-q', '--allow-empty', '-m', 'instead');
    git(tree, 'branch', '-f', 'main', 'HEAD');
    git(tree, 'branch', 'release');
    git(tree, 'tag', 'mark', clone.baseSha);
    git(tree, 'update-ref', 'refs/remotes/origin/main', 'HEAD');
    git(tree, 'pack-refs', '--all');
    const changes = await took();
    expect(changes.refs.map(({ name, change, isProtected }) => [name, change, isProtected])).toEqual([
      ['refs/heads/main', 'moved', true],
      [`refs/heads/${clone.branch}`, 'moved', false],
      ['refs/heads/release', 'new', true],
      ['refs/remotes/origin/main', 'new', false],
      ['refs/tags/mark', 'new', false],
    ]);
    expect(changes).toMatchObject({ branchMoved: true, rewritten: true, commits: { total: 1 } });
  });

  test("count abandoned commits, loose or packed, but not the user's commits", async () => {
    const { tree, took } = await given(repository());
    git(tree, 'commit', '-q', '--allow-empty', '-m', 'taken back');
    git(tree, 'commit', '-q', '--allow-empty', '-m', 'taken back, too');
    git(tree, 'reset', '-q', '--hard', 'HEAD~2');
    const loose = await took();
    expect(loose).toMatchObject({ refs: [], commits: { total: 0, listed: [], abandoned: 2 } });
    expect(loose.notes).toEqual(['The agent made 2 commits that no ref reaches.']);
    git(tree, 'repack', '-q', '-a', '-d', '-k');
    expect((await took()).commits).toEqual({ total: 0, listed: [], abandoned: 2 });
  });

  test('include commits in packs, on a stash and on a detached HEAD', async () => {
    const { tree, took } = await given(repository());
    git(tree, 'checkout', '-q', '--detach');
    git(tree, 'commit', '-q', '--allow-empty', '-m', 'adrift');
    git(tree, 'gc', '-q');
    put(tree, { 'readme.md': 'stashed\n' });
    git(tree, 'stash', '-q');
    const changes = await took();
    expect(changes.refs.map(({ name }) => name)).toEqual(['HEAD', 'refs/stash']);
    expect(changes.commits.listed.map(({ subject }) => subject)).toContain('adrift');
    expect(changes.commits.total).toBeGreaterThanOrEqual(2);
  });

  test.each<[string, (dotGit: string) => void, string]>([
    ['gone', dotGit => rmSync(dotGit, { recursive: true }), 'gone'],
    [
      'a file',
      dotGit => {
        renameSync(dotGit, `${dotGit}-kept`);
        writeFileSync(dotGit, 'gitdir: /etc\n');
      },
      'replaced',
    ],
    [
      'a symlink',
      dotGit => {
        rmSync(dotGit, { recursive: true });
        symlinkSync('/proc/self', dotGit);
      },
      'replaced',
    ],
  ])('are found if .git is %s', async (_, done, gitFolder) => {
    const { tree, took } = await given(repository());
    put(tree, { 'readme.md': 'changed\n' });
    done(path.join(tree, '.git'));
    const changes = await took();
    expect(pathsOf(changes)).toContain('update readme.md');
    expect(changes).toMatchObject({ gitFolder, branchMoved: true, gitConfigChanged: true });
  });

  test('are collected without running programs that the agent configured or reading files it refers to', async () => {
    const { tree, took } = await given(repository());
    const canary = path.join(temporaryFolder(), 'canary');
    const bite = `touch ${canary}; cat`;
    const secret = repository({ secret: 'of another repository\n' });
    put(tree, {
      '.gitattributes': '* filter=bite diff=bite merge=bite text eol=crlf ident\n*.u16 working-tree-encoding=UTF-16\n',
    });
    for (const key of [
      'filter.bite.clean',
      'filter.bite.smudge',
      'filter.bite.process',
      'diff.bite.textconv',
      'diff.bite.command',
      'diff.external',
      'core.pager',
      'core.sshCommand',
      'core.editor',
      'core.alternateRefsCommand',
      'gpg.program',
      'alias.status',
      'alias.diff-tree',
    ]) {
      execFileSync('git', [
        'config',
        '-f',
        path.join(tree, '.git/config'),
        key,
        key.startsWith('alias') ? `!${bite}` : bite,
      ]);
    }
    execFileSync('git', ['config', '-f', path.join(tree, '.git/config'), 'core.hooksPath', 'tools/hooks']);
    execFileSync('git', ['config', '-f', path.join(tree, '.git/config'), 'core.fsmonitor', bite]);
    execFileSync('git', ['config', '-f', path.join(tree, '.git/config'), 'core.worktree', '/etc']);
    execFileSync('git', ['config', '-f', path.join(tree, '.git/config'), 'include.path', '/etc/passwd']);
    for (const hook of ['.git/hooks/post-index-change', '.git/hooks/reference-transaction', 'tools/hooks/pre-commit']) {
      put(tree, { [hook]: `#!/bin/sh\n${bite}\n` });
      chmodSync(path.join(tree, hook), 0o755);
    }
    const head = git(secret, 'rev-parse', 'HEAD');
    put(tree, {
      '.git/objects/info/alternates': `${secret}/.git/objects\n`,
      '.git/info/attributes': '* filter=bite\n',
      '.git/refs/heads/stolen': `${head}\n`,
      'crlf.txt': 'a\r\nb\n$Id$\n',
      'x.u16': 'plain bytes\n',
    });
    rmSync(path.join(tree, '.git/index'));
    const changes = await took();
    expect(existsSync(canary)).toBe(false);
    expect(changes).toMatchObject({ gitConfigChanged: true, commits: { total: null, listed: [] } });
    expect(changes.hooks).toEqual([
      '.git/hooks/post-index-change',
      '.git/hooks/reference-transaction',
      'tools/hooks/pre-commit',
    ]);
    expect(readFileSync(changes.out, 'latin1')).toContain('+a\r\n+b\n+$Id$\n');
  });

  test('include names of any bytes, and flag symlinks out of the tree, name collisions and special files', async () => {
    const { tree, took } = await given(repository());
    const odd = (bytes: number[]): Buffer => Buffer.concat([Buffer.from(`${tree}/src/`), Buffer.from(bytes)]);
    writeFileSync(odd([0x61, 0x0a, 0x62]), 'newline');
    writeFileSync(odd([0xff, 0x22, 0x5c]), 'no text');
    put(tree, { 'SRC/a.ts': 'x', '~home': 'h', 'ä/€': 'utf-8', '.GIT/config': 'x', 'git~1': 'x', 'sp ace\ttab': 't' });
    symlinkSync('../../outside', path.join(tree, 'src/out'));
    symlinkSync('/etc/passwd', path.join(tree, 'absolute'));
    symlinkSync('../readme.md', path.join(tree, 'src/in'));
    execFileSync('mkfifo', [path.join(tree, 'pipe')]);
    const changes = await took();
    expect(changes.linksOut).toEqual(['absolute', 'src/out']);
    expect(changes.collisions).toEqual(['SRC/a.ts']);
    expect(changes.leftOut.map(({ path: at, why }) => [at, why])).toEqual([
      ['.GIT', 'unsafe_name'],
      ['git~1', 'unsafe_name'],
      ['pipe', 'fifo'],
    ]);
    expect(changes.changed.filter(({ encoded }) => encoded).map(({ path: at }) => at)).toEqual([
      '%7Ehome',
      'sp ace%09tab',
      'src/%FF"%5C',
      'src/a%0Ab',
    ]);
    expect(changes.changed.map(({ path: at }) => at)).toContain('ä/€');
    expect(changes.diff.cut).toBeNull();
  });

  test('cannot hide in a nested repository, in a submodule, or behind removed permissions', async () => {
    const inner = repository();
    const folder = repository();
    git(folder, 'submodule', '--quiet', 'add', inner, 'sub');
    git(folder, 'commit', '-q', '-m', 'sub');
    const { tree, took } = await given(folder);
    git(path.join(tree, 'src'), 'init', '-q');
    put(tree, { 'src/a.ts': 'changed\n', 'made/new': 'n', 'sub/file': 'f', 'closed/in/x': 'x', dark: 'd' });
    git(path.join(tree, 'made'), 'init', '-q');
    git(tree, 'update-index', '--add', '--cacheinfo', `160000,${'1'.repeat(40)},sub`);
    chmodSync(path.join(tree, 'dark'), 0);
    chmodSync(path.join(tree, 'closed/in'), 0);
    chmodSync(path.join(tree, 'closed'), 0);
    const changes = await took();
    chmodSync(path.join(tree, 'closed'), 0o700);
    expect(pathsOf(changes)).toEqual(['add closed/in/x', 'add dark', 'add made/new', 'update src/a.ts']);
    expect(changes.nested).toEqual(['made', 'src']);
    expect(changes.submodules).toEqual([{ path: 'sub', from: git(inner, 'rev-parse', 'HEAD'), to: '1'.repeat(40) }]);
    expect(changes.leftOut).toEqual([{ path: 'sub/file', why: 'in_submodule', bytes: 1 }]);
  });

  test('include a removed submodule', async () => {
    const inner = repository();
    const folder = repository();
    git(folder, 'submodule', '--quiet', 'add', inner, 'sub');
    git(folder, 'commit', '-q', '-m', 'sub');
    const { tree, took } = await given(folder);
    expect((await took()).submodules).toEqual([]);
    git(tree, 'rm', '-q', '--cached', 'sub');
    expect((await took()).submodules).toEqual([{ path: 'sub', from: git(inner, 'rev-parse', 'HEAD'), to: null }]);
  });

  test('are cut at a file boundary if they are too large, and the diff says so', async () => {
    const { tree, took } = await given(repository());
    for (const name of ['a', 'b', 'c']) put(tree, { [name]: `${name}\n`.repeat(500) });
    const whole = await took();
    const changes = await took({ ...CHANGE_LIMITS, diffBytesMax: 2_500 });
    expect(changes.diff.cut).toEqual({ bytesTotal: whole.diff.bytes, why: 'bytes' });
    const text = readFileSync(changes.out, 'utf8');
    expect([...text.matchAll(/^diff --git a\/(\w)/gm)].map(([, name]) => name)).toEqual(['a']);
    expect(text.split('\n').at(-2)).toMatch(/^# This diff is truncated after \d+ bytes\.$/);
    expect(changes.changed).toHaveLength(3);
  });

  test('include a terabyte file, which is not read', async () => {
    const { tree, took } = await given(repository());
    put(tree, { huge: '' });
    truncateSync(path.join(tree, 'huge'), 1024 ** 4);
    const changes = await took();
    expect(pathsOf(changes)).toEqual(['add huge']);
    expect(changes.diff.cut).toMatchObject({ why: 'file_bytes' });
    expect(changes.leftOut).toEqual([{ path: 'huge', why: 'too_large', bytes: 1024 ** 4 }]);
  });

  test('are collected with a limit on the bytes read, even from sparse files, and on the length of all names', async () => {
    const { tree, took } = await given(repository());
    for (const name of ['x', 'y', 'z']) {
      put(tree, { [name]: '' });
      truncateSync(path.join(tree, name), 1024 ** 2);
    }
    const holes = await took({ ...CHANGE_LIMITS, readBytesMax: 2.5 * 1024 ** 2 });
    expect(holes.leftOut).toEqual([{ path: 'z', why: 'too_large', bytes: 1024 ** 2 }]);
    expect(holes.diff.cut).toMatchObject({ why: 'file_bytes' });
    const names = await took({ ...CHANGE_LIMITS, pathUnitsMax: 12 });
    expect(names.diff.cut).toMatchObject({ why: 'entries' });
  });

  test('cannot hide behind thousands of refs, packed or loose', async () => {
    const folder = repository();
    git(folder, 'branch', 'deep/release');
    const { clone, tree, took } = await given(folder);
    git(tree, 'commit', '-q', '--allow-empty', '-m', 'moved');
    const head = git(tree, 'rev-parse', 'HEAD');
    const many = Array.from({ length: 21 }, (_, index) => `refs/a/${index}`);
    const packed = path.join(tree, '.git/packed-refs');
    writeFileSync(packed, `${readFileSync(packed, 'utf8')}${many.map(name => `${clone.baseSha} ${name}\n`).join('')}`);
    for (const name of many) mkdirSync(path.join(tree, '.git', name.replace('/a/', '/z/')), { recursive: true });
    put(tree, { '.git/refs/heads/main': `${head}\n`, '.git/refs/heads/deep/release': `${head}\n` });
    const { refs, commits, branchMoved, notes } = await took({ ...CHANGE_LIMITS, refsMax: 20 });
    expect(refs.filter(({ isProtected }) => isProtected)).toEqual([
      { name: 'refs/heads/deep/release', change: 'new', sha: head, isProtected: true },
      { name: 'refs/heads/main', change: 'moved', sha: head, isProtected: true },
    ]);
    expect({ branchMoved, total: commits.total }).toEqual({ branchMoved: true, total: null });
    expect(notes).toEqual(["Some of the agent's commits are unreadable."]);
  });

  test('include the HEAD of a linked work tree', async () => {
    const { tree, took } = await given(repository());
    const other = path.join(temporaryFolder(), 'other');
    git(tree, 'worktree', 'add', '-q', '--detach', other);
    git(other, 'commit', '-q', '--allow-empty', '-m', 'elsewhere');
    const { refs, commits } = await took();
    const sha = git(other, 'rev-parse', 'HEAD');
    expect(refs).toEqual([{ name: 'worktrees/other/HEAD', change: 'new', sha, isProtected: false }]);
    expect(commits).toEqual({ total: 1, listed: [{ sha, subject: 'elsewhere' }], abandoned: 0 });
  });

  test('are found if a .gitignore is too deep, or if .git is not a folder', async () => {
    const { tree, took } = await given(repository());
    const name = 'd'.repeat(200);
    let below = '';
    while (tree.length + below.length < 3_800) below += `${name}/`;
    below += `${'e'.repeat(4_094 - `${tree}/${below}/.gitignore`.length)}/`;
    put(tree, { [`${below}.gitignore`]: '*.log\n', [`${below}x.log`]: 'x' });
    for (const each of ['info', 'hooks', 'objects', 'refs'])
      rmSync(path.join(tree, '.git', each), { recursive: true, force: true });
    put(tree, { '.git/info': 'a file', '.git/hooks': 'a file', '.git/refs': 'a file' });
    symlinkSync('objects', path.join(tree, '.git/objects'));
    const changes = await took();
    expect(pathsOf(changes)).toEqual([`add ${below}.gitignore`, `add ${below}x.log`]);
    expect(changes).toMatchObject({ gitConfigChanged: true, hooks: ['.git/hooks'] });
  });

  test('are collected without writing through a symlink inside .git', async () => {
    const { tree, took } = await given(repository());
    const outside = temporaryFolder();
    mkdirSync(path.join(outside, 'info'));
    put(outside, { 'info/attributes': 'x', 'info/http-alternates': 'x', 'heads/stolen': 'x' });
    chmodSync(path.join(outside, 'info'), 0o755);
    chmodSync(outside, 0o751);
    for (const each of ['info', 'objects', 'refs']) {
      rmSync(path.join(tree, '.git', each), { recursive: true, force: true });
      symlinkSync(outside, path.join(tree, '.git', each));
    }
    const { refs } = await took();
    expect(refs).toEqual([]);
    expect([outside, path.join(outside, 'info')].map(each => statSync(each).mode & 0o777)).toEqual([0o751, 0o755]);
  });

  test('may turn a file into a folder, a folder into a symlink, and a symlink into a file', async () => {
    const folder = repository({ file: 'f', 'dir/x': 'x' });
    symlinkSync('file', path.join(folder, 'link'));
    git(folder, 'add', '-A');
    git(folder, 'commit', '-q', '-m', 'link');
    const { tree, took } = await given(folder);
    for (const name of ['file', 'dir', 'link']) rmSync(path.join(tree, name), { recursive: true });
    mkdirSync(path.join(tree, 'file'));
    put(tree, { 'file/inside': 'i', link: 'a file now' });
    symlinkSync('file', path.join(tree, 'dir'));
    expect(pathsOf(await took())).toEqual(['add dir', 'delete dir/x', 'delete file', 'add file/inside', 'update link']);
  });
});

const SOME = { 'readme.md': 'hello\n', 'src/a.ts': 'one\n', 'src/b.bin': Buffer.from([0, 1, 2, 255]) };
