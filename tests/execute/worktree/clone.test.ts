import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { hostname } from 'node:os';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { cloneFor } from '../../../src/execute/worktree/clone.ts';
import { giveStage } from '../../../src/execute/host/workspace.ts';
import { temporaryFolder } from '../../support/support.ts';
import { given, git, put, repository, RUN, stageFor } from './clone-world.ts';

const options = { runId: RUN, allowDirty: false, readOnly: false };
const refusal = (folder: string) => cloneFor(folder, stageFor(), options).catch((error: unknown) => error);

describe('a clone', () => {
  test("has the files of HEAD, its own branch, and the user's branch", async () => {
    const folder = repository();
    symlinkSync('src/a.ts', path.join(folder, 'link'));
    chmodSync(path.join(folder, 'readme.md'), 0o755);
    git(folder, 'add', '-A');
    git(folder, 'commit', '-q', '-m', 'second');
    const { clone, tree } = await given(folder);
    expect(readFileSync(path.join(tree, 'src/a.ts'), 'utf8')).toBe('one\ntwo\nthree\n');
    expect(readlinkSync(path.join(tree, 'link'))).toBe('src/a.ts');
    expect(lstatSync(path.join(tree, 'readme.md')).mode & 0o111).toBe(0o111);
    expect(git(tree, 'status', '--porcelain')).toBe('');
    expect(git(tree, 'rev-parse', 'main', 'HEAD')).toBe(`${clone.baseSha}\n${clone.baseSha}`);
    expect(git(tree, 'symbolic-ref', 'HEAD')).toBe(`refs/heads/${clone.branch}`);
    expect(git(tree, 'log', '--format=%s')).toBe('second\nfirst');
    expect(git(tree, 'remote')).toBe('');
    expect(clone).toMatchObject({ kind: 'clone', baseRef: 'main', startIn: '.', staged: [], notes: [] });
  });

  test("reads the user's objects at their path in the sandbox, and reveals nothing about this machine", async () => {
    const folder = repository();
    const stage = stageFor();
    const { tree, mounts } = await cloneFor(folder, stage, options);
    const objects = path.join(folder, '.git/objects');
    expect(readFileSync(path.join(tree, '.git/objects/info/alternates'), 'utf8')).toBe('/agent/objects\n');
    expect(mounts).toEqual([{ source: objects, target: '/agent/objects' }]);
    const files = readdirSync(path.join(tree, '.git'), { recursive: true, withFileTypes: true });
    for (const file of files.filter(entry => entry.isFile())) {
      const text = readFileSync(path.join(file.parentPath, file.name), 'latin1');
      for (const word of [folder, stage, '/tmp', '/home', hostname()]) expect(text, file.name).not.toContain(word);
    }
    expect(existsSync(path.join(tree, '.git/hooks'))).toBe(false);
  });

  test.each<[string, (folder: string) => string]>([
    [
      'a shallow repository',
      folder => {
        const shallow = path.join(temporaryFolder(), 'shallow');
        git(folder, 'commit', '-q', '--allow-empty', '-m', 'second');
        git(folder, 'clone', '-q', '--depth', '1', `file://${folder}`, shallow);
        return shallow;
      },
    ],
    [
      'a repository with alternates',
      folder => {
        const borrower = path.join(temporaryFolder(), 'borrower');
        git(folder, 'clone', '-q', '--shared', folder, borrower);
        return borrower;
      },
    ],
  ])('of %s is self-contained', async (_, made) => {
    const folder = made(repository());
    const { clone, tree } = await given(folder, { selfContained: false });
    expect(clone.mounts).toEqual([]);
    rmSync(folder, { recursive: true });
    expect(git(tree, 'status', '--porcelain')).toBe('');
    expect(git(tree, 'fsck', '--connectivity-only')).toBe('');
  });

  test('supports a linked work tree, a subfolder, a detached HEAD and a branch named proctor', async () => {
    const folder = repository();
    const linked = path.join(temporaryFolder(), 'linked');
    git(folder, 'worktree', 'add', '-q', '-b', 'proctor', linked);
    const { clone } = await given(path.join(linked, 'src'), { selfContained: false });
    expect(clone).toMatchObject({ baseRef: 'proctor', branch: `proctor-${RUN}`, startIn: 'src' });
    expect(clone.mounts).toEqual([{ source: path.join(folder, '.git/objects'), target: '/agent/objects' }]);
    git(folder, 'checkout', '-q', '--detach');
    const detached = await given(folder);
    expect(detached.clone.baseRef).toBe('HEAD');
    expect(await detached.took()).toMatchObject({ refs: [], branchMoved: false, changed: [] });
  });

  test('supports a folder name with a line feed, and a branch name that is also a tag', async () => {
    const folder = repository();
    const named = path.join(path.dirname(folder), 'two\n/lines');
    mkdirSync(path.dirname(named));
    renameSync(folder, named);
    put(named, { 'a\n/b/c': 'c\n' });
    git(named, 'add', '-A');
    git(named, 'commit', '-q', '-m', 'second');
    git(named, 'tag', 'main');
    git(named, 'update-ref', 'refs/heads/HEAD', 'HEAD~1');
    const { clone, took } = await given(path.join(named, 'a\n/b'), { selfContained: false });
    expect(clone).toMatchObject({ baseRef: 'main', baseSha: git(named, 'rev-parse', 'refs/heads/main') });
    expect(clone).toMatchObject({ startIn: 'a\n/b', protectedRefs: ['refs/heads/HEAD', 'refs/heads/main'] });
    expect(clone.mounts).toEqual([{ source: path.join(named, '.git/objects'), target: '/agent/objects' }]);
    expect(await took()).toMatchObject({ changed: [], refs: [] });
  });

  test('supports a SHA-256 repository', async () => {
    const folder = path.join(temporaryFolder(), 'project');
    git(path.dirname(folder), 'init', '-q', '-b', 'main', '--object-format=sha256', folder);
    put(folder, { a: 'a\n' });
    git(folder, 'add', '-A');
    git(folder, 'commit', '-q', '-m', 'first');
    const { tree, took } = await given(folder);
    put(tree, { a: 'b\n' });
    git(tree, 'commit', '-qam', 'second');
    expect(await took()).toMatchObject({ changed: [{ path: 'a', change: 'update' }], commits: { total: 1 } });
  });

  test('runs nothing that the user has configured', async () => {
    const folder = repository();
    const canary = path.join(temporaryFolder(), 'canary');
    const bite = `touch ${canary}`;
    put(folder, { '.gitattributes': '*.md filter=bite diff=bite\n*.ts ident text eol=crlf\n' });
    git(folder, 'add', '-A');
    git(folder, 'commit', '-q', '-m', 'attributes');
    for (const key of [
      'filter.bite.clean',
      'filter.bite.smudge',
      'core.fsmonitor',
      'diff.bite.textconv',
      'core.pager',
      'core.sshCommand',
    ]) {
      git(folder, 'config', key, bite);
    }
    git(folder, 'config', 'filter.bite.required', 'true');
    put(folder, {
      '.git/hooks/post-checkout': `#!/bin/sh\n${bite}\n`,
      '.git/hooks/post-index-change': `#!/bin/sh\n${bite}\n`,
    });
    for (const hook of ['post-checkout', 'post-index-change']) chmodSync(path.join(folder, '.git/hooks', hook), 0o755);
    // Changes its time, so that git must read it.
    writeFileSync(path.join(folder, 'readme.md'), 'hello\n');
    const index = readFileSync(path.join(folder, '.git/index'));
    const { tree } = await given(folder);
    expect(existsSync(canary)).toBe(false);
    expect(readFileSync(path.join(folder, '.git/index'))).toEqual(index);
    expect(readFileSync(path.join(tree, 'src/a.ts'), 'utf8')).toBe('one\ntwo\nthree\n');
    expect(git(tree, 'config', '--list', '--local')).not.toContain('bite');
  });

  test('leaves submodules empty, and mounts a read-only tree as one folder', async () => {
    const inner = repository();
    const folder = repository({ a: 'a', input: 'a file of this name', 'output/x': 'x' });
    git(folder, 'submodule', '--quiet', 'add', inner, 'sub');
    git(folder, 'commit', '-q', '-m', 'sub');
    const stage = stageFor();
    const clone = await cloneFor(folder, stage, { ...options, readOnly: true, selfContained: true });
    expect(clone).toMatchObject({ tree: path.join(stage, 'work'), mounts: [], staged: [] });
    expect(readdirSync(path.join(clone.tree, 'sub'))).toEqual([]);
    expect(readdirSync(clone.tree).sort()).toEqual(['.git', '.gitmodules', 'a', 'input', 'output', 'sub']);
  });

  test('of a repository with uncommitted changes is refused, or made without them', async () => {
    const folder = repository();
    put(folder, { 'readme.md': 'changed\n', new: 'n', '.proctor/runs/x': 'x' });
    expect(await refusal(folder)).toMatchObject({
      code: 'usage',
      message: expect.stringMatching(/uncommitted changes in 1 file\. .* --allow-dirty/) as string,
    });
    const { clone, tree } = await given(folder, { allowDirty: true });
    expect(readFileSync(path.join(tree, 'readme.md'), 'utf8')).toBe('hello\n');
    expect(clone.notes).toEqual([
      'The agent does not see 1 uncommitted change.',
      'The agent does not see 1 untracked entry.',
    ]);
  });

  test.each<[string, RegExp, () => string]>([
    ['a folder that does not exist', /does not exist/, () => path.join(temporaryFolder(), 'nowhere')],
    [
      'a file',
      /is a file/,
      () => {
        put(temporaryFolder(), {});
        return path.join(repository(), 'readme.md');
      },
    ],
    [
      'a repository without a commit',
      /no commits yet/,
      () => {
        const folder = temporaryFolder();
        git(folder, 'init', '-q');
        return folder;
      },
    ],
    [
      'a bare repository',
      /bare/,
      () => {
        const folder = temporaryFolder();
        git(folder, 'init', '-q', '--bare');
        return folder;
      },
    ],
    ['a folder inside .git', /inside \.git/, () => path.join(repository(), '.git/refs')],
    [
      'a broken .git',
      /\.git that git cannot read/,
      () => {
        const folder = repository();
        rmSync(path.join(folder, '.git/HEAD'));
        return folder;
      },
    ],
    [
      'a .git that points nowhere',
      /\.git that git cannot read/,
      () => {
        const folder = temporaryFolder();
        writeFileSync(path.join(folder, '.git'), 'gitdir: /nowhere/at/all\n');
        return folder;
      },
    ],
    [
      'a missing commit',
      /damaged|objects are not on this machine|cannot be read/i,
      () => {
        const folder = repository();
        rmSync(path.join(folder, '.git/objects'), { recursive: true });
        mkdirSync(path.join(folder, '.git/objects'));
        return folder;
      },
    ],
  ])('of %s is refused, in a message without a path', async (_, words, made) => {
    const error = await refusal(made());
    expect(error).toMatchObject({ code: 'usage', message: expect.stringMatching(words) as string });
    expect((error as Error).message).not.toMatch(/\/tmp|\/nowhere/);
  });

  test.runIf(process.getuid?.() === 0)(
    'belongs to the user of the run, whatever bytes its file names contain',
    async () => {
      const folder = repository();
      writeFileSync(Buffer.concat([Buffer.from(`${folder}/`), Buffer.from([0x66, 0xff, 0x0a])]), 'odd');
      git(folder, 'add', '-A');
      git(folder, 'commit', '-q', '-m', 'odd');
      chmodSync(path.dirname(folder), 0o700);
      const stage = stageFor();
      const clone = await cloneFor(folder, stage, options);
      // No other user can enter that folder, so its objects were copied.
      expect(clone.mounts).toEqual([]);
      giveStage(stage, 61_190);
      expect(execFileSync('find', [stage, '!', '-uid', '61190'], { encoding: 'utf8' })).toBe('');
    },
  );
});

describe('a copy of a folder that is not a repository', () => {
  test('has its files, folders and symlinks, and a commit of them', async () => {
    const folder = path.join(temporaryFolder(), 'plain');
    put(folder, {
      'a.txt': 'a',
      '.gitignore': 'a.txt\n',
      '.proctor/runs/x': 'x',
      'nested/.git/HEAD': 'x',
      'nested/b': 'b',
    });
    chmodSync(path.join(folder, 'a.txt'), 0o755);
    symlinkSync('/etc/hostname', path.join(folder, 'link'));
    execFileSync('mkfifo', [path.join(folder, 'pipe')]);
    const { clone, tree, took } = await given(folder);
    expect(readdirSync(tree).sort()).toEqual(['.git', '.gitignore', 'a.txt', 'link', 'nested']);
    expect(readdirSync(path.join(tree, 'nested'))).toEqual(['b']);
    expect(readlinkSync(path.join(tree, 'link'))).toBe('/etc/hostname');
    expect(git(tree, 'log', '--format=%s')).toBe('the folder as it was');
    expect(git(tree, 'status', '--porcelain')).toBe('');
    expect(clone).toMatchObject({ kind: 'copy', startIn: '.', mounts: [] });
    expect(clone.notes).toHaveLength(2);
    put(tree, { 'a.txt': 'b' });
    expect(await took()).toMatchObject({ changed: [{ path: 'a.txt', change: 'update', mode: '100755' }] });
  });

  test('is refused if it is too large', async () => {
    const folder = path.join(temporaryFolder(), 'plain');
    put(folder, { small: 'x' });
    writeFileSync(path.join(folder, 'large'), '');
    truncateSync(path.join(folder, 'large'), 1_100 * 1024 ** 2);
    expect(await refusal(folder)).toMatchObject({
      code: 'usage',
      message: expect.stringContaining('1024 MiB') as string,
    });
  });

  test('may be empty', async () => {
    const { tree, took } = await given(temporaryFolder());
    expect(await took()).toMatchObject({ changed: [], diff: { bytes: 0 } });
    put(tree, { new: 'n' });
    expect(await took()).toMatchObject({ changed: [{ path: 'new', change: 'add' }] });
  });
});
