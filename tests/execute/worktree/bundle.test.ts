import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { bytesHash } from '../../../src/base/hash.ts';
import { bundleHeader } from '../../../src/execute/worktree/bundle-header.ts';
import { checkSource, cloneFor } from '../../../src/execute/worktree/clone.ts';
import { temporaryFolder } from '../../support/support.ts';
import { git, put, repository, RUN, stageFor } from './clone-world.ts';

const options = { runId: RUN, allowDirty: false, readOnly: false };

/** A bundle of two commits on `main`; the first has a tag. */
function bundled(...args: string[]): { file: string; first: string; second: string } {
  const folder = repository();
  const first = git(folder, 'rev-parse', 'HEAD');
  git(folder, 'tag', 'v1');
  put(folder, { 'later.txt': 'later\n' });
  git(folder, 'add', '-A');
  git(folder, 'commit', '-q', '-m', 'second');
  const file = path.join(temporaryFolder(), 'x.bundle');
  git(folder, 'bundle', 'create', '-q', file, ...(args.length > 0 ? args : ['--all']));
  return { file, first, second: git(folder, 'rev-parse', 'HEAD') };
}

const told = (file: string, base?: string): Promise<unknown> =>
  cloneFor({ repository: file }, stageFor(), { ...options, ...(base !== undefined && { base }) }).then(
    () => 'accepted',
    (error: Error) => error.message,
  );

/** Copies a bundle, with another header and the same pack. */
function rewritten(file: string, change: (header: string) => string): string {
  const bytes = readFileSync(file);
  const end = bytes.indexOf('\n\nPACK') + 1;
  const other = path.join(temporaryFolder(), 'other.bundle');
  writeFileSync(other, Buffer.concat([Buffer.from(change(bytes.toString('latin1', 0, end))), bytes.subarray(end)]));
  return other;
}

describe('a clone of a bundle', () => {
  test('starts from its HEAD or the named ref, has its own objects, and records the hash', async () => {
    const { file, first, second } = bundled();
    const whole = await cloneFor({ repository: file }, stageFor(), options);
    expect(whole).toMatchObject({ kind: 'clone', baseSha: second, baseRef: 'main', startIn: '.', mounts: [] });
    expect(whole.bundle).toBe(bytesHash(readFileSync(file)));
    expect(git(whole.tree, 'log', '--format=%s').split('\n')).toHaveLength(2);
    expect(existsSync(path.join(whole.tree, '.git/objects/info/alternates'))).toBe(false);
    const old = await cloneFor({ repository: file }, stageFor(), { ...options, base: 'v1' });
    expect(old).toMatchObject({ baseSha: first, baseRef: 'v1' });
    expect(existsSync(path.join(old.tree, 'later.txt'))).toBe(false);
    await expect(checkSource({ repository: file }, false, 'main~1')).resolves.toBe(first);
  });

  test('may come from a symlink, and may have the object format sha256', async () => {
    const folder = path.join(temporaryFolder(), 'r');
    git('/', 'init', '-q', '--object-format=sha256', '-b', 'main', folder);
    put(folder, { a: 'a\n' });
    git(folder, 'add', '-A');
    git(folder, 'commit', '-q', '-m', 'first');
    const file = path.join(temporaryFolder(), 'x.bundle');
    git(folder, 'bundle', 'create', '-q', `${file}.real`, '--all');
    symlinkSync(`${file}.real`, file);
    const clone = await cloneFor({ repository: file }, stageFor(), options);
    expect(clone).toMatchObject({ format: 'sha256', baseRef: 'main' });
  });

  test('names the refs that exist if the requested ref does not', async () => {
    const { file } = bundled();
    expect(await told(file, 'no-such')).toBe(
      'The repository has no commit "no-such". It has main, v1. Name one with --base.',
    );
    expect(await told(file, '--all')).toMatch(/--base needs the name of one commit/);
  });

  test('is refused if the bundle is hostile or damaged', async () => {
    const { file, first, second } = bundled();
    const cut = rewritten(file, header => header);
    truncateSync(cut, readFileSync(cut).length - 40);
    expect(await told(cut)).toMatch(/git cannot read its pack/);
    const flipped = rewritten(file, header => header);
    const bytes = readFileSync(flipped);
    bytes.writeUInt8(bytes.readUInt8(bytes.length - 60) ^ 1, bytes.length - 60);
    writeFileSync(flipped, bytes);
    expect(await told(flipped)).toMatch(/git cannot read its pack/);

    const option = rewritten(file, header => header.replace('refs/tags/v1', '--upload-pack=touch'));
    expect(await told(option)).toMatch(/a name that is not allowed: "--upload-pack=touch"/);
    const climbs = rewritten(file, header => header.replace('refs/tags/v1', 'refs/tags/../../config'));
    expect(await told(climbs)).toMatch(/a name that is not allowed/);
    const wrong = rewritten(file, header => header.replaceAll(second, 'a'.repeat(40)));
    expect(await told(wrong)).toMatch(/names an object that it does not contain/);
    const needs = rewritten(file, header => header.replace('bundle\n', `bundle\n-${first} first\n`));
    expect(await told(needs)).toMatch(/needs commits that it does not contain/);
    const partial = rewritten(file, header =>
      header.replace('# v2 git bundle\n', '# v3 git bundle\n@filter=blob:none\n'),
    );
    expect(await told(partial)).toMatch(/unsupported capability "filter=blob:none"/);
  });

  test('is refused if the pack is thin, even if the header hides it', async () => {
    const { file, first } = bundled('main', '^v1');
    const thin = rewritten(file, header => header.replace(new RegExp(`-${first}.*\n`), ''));
    expect(await told(thin)).toMatch(/git cannot read its pack/);
  });

  test('is refused if its commit has too many files, or too many to list', async () => {
    const folder = repository();
    const blob = git(folder, 'rev-parse', 'HEAD:readme.md');
    /** A tree with 80 entries, each of which is the same object. */
    const treeOf = (of: string, name: string): string => {
      const lines = Array.from({ length: 80 }, (_, index) => `${of}\t${name}${index}\n`).join('');
      return execFileSync('git', ['mktree'], { cwd: folder, input: lines, encoding: 'utf8' }).trim();
    };
    const made = (name: string): string => {
      const file = path.join(temporaryFolder(), 'x.bundle');
      const inner = treeOf(`100644 blob ${blob}`, name);
      const top = treeOf(`040000 tree ${treeOf(`040000 tree ${inner}`, name)}`, name);
      git(folder, 'update-ref', 'HEAD', git(folder, 'commit-tree', '-m', 'large', top));
      git(folder, 'bundle', 'create', '-q', file, 'HEAD');
      return file;
    };
    expect(await told(made('a'))).toMatch(/its commit has more than 2 GiB or 500,000 files/);
    expect(await told(made('a'.repeat(200)))).toMatch(/git cannot list the files of its commit, or the list is longer/);
  });

  test('is refused if the file is not a bundle, is too large, or has no pack or an endless header', async () => {
    const place = temporaryFolder();
    const made = (name: string, text: string): string => {
      writeFileSync(path.join(place, name), text);
      return path.join(place, name);
    };
    expect(await told(made('text', 'hello\n'))).toMatch(/not a git bundle/);
    expect(await told(made('empty', '# v2 git bundle\n\nPACK'))).toMatch(/has no refs/);
    expect(await told(made('no-pack', `# v2 git bundle\n${'a'.repeat(40)} HEAD\n\n`))).toMatch(/its pack is missing/);
    expect(await told(made('no-end', `# v2 git bundle\n${'a'.repeat(40)} HEAD\n`))).toMatch(/cut off/);
    // A sparse file: a header of 1 GiB that never ends.
    const endless = made('endless', '# v2 git bundle\n');
    truncateSync(endless, 1024 ** 3);
    expect(await told(endless)).toMatch(/longer than 1 MiB/);
    truncateSync(endless, 1024 ** 3 + 1);
    expect(await told(endless)).toMatch(/larger than 1 GiB/);
    expect(await told('/dev/zero')).toMatch(/not a regular file/);
    expect(await told(path.join(place, 'missing'))).toMatch(/does not exist/);
    const many = Array.from({ length: 10_001 }, (_, index) => `${'a'.repeat(40)} refs/heads/b${index}\n`).join('');
    expect(() => bundleHeader(Buffer.from(`# v2 git bundle\n${many}\nPACK`))).toThrow('more than 10,000 refs');
  });
});

describe('a clone of a named repository', () => {
  test('may come from a bare repository, and ignores uncommitted changes', async () => {
    const folder = repository();
    put(folder, { 'readme.md': 'not committed\n' });
    const bare = path.join(temporaryFolder(), 'bare.git');
    git('/', 'clone', '-q', '--bare', folder, bare);
    for (const place of [folder, bare, path.join(folder, '.git')]) {
      const clone = await cloneFor({ repository: place }, stageFor(), options);
      expect(clone, place).toMatchObject({ baseSha: git(folder, 'rev-parse', 'HEAD'), baseRef: 'main', notes: [] });
      expect(readFileSync(path.join(clone.tree, 'readme.md'), 'utf8')).toBe('hello\n');
    }
  });

  test('is refused if the folder is not the top of a repository, or the repository has no such commit', async () => {
    const folder = repository();
    put(folder, { 'sub/x': '' });
    expect(await told(path.join(folder, 'sub'))).toMatch(/neither a git repository nor a git bundle/);
    expect(await told(temporaryFolder())).toMatch(/neither a git repository nor a git bundle/);
    const empty = path.join(temporaryFolder(), 'empty');
    git('/', 'init', '-q', empty);
    expect(await told(empty)).toMatch(/has no current commit. It has no branch or tag/);
    expect(await told(folder, 'no-such')).toMatch(/has no commit "no-such". It has main/);
  });
});
