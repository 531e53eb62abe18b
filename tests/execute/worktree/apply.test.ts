import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { codeOf } from '../../../src/base/fault.ts';
import { applyDiff } from '../../../src/execute/worktree/apply.ts';
import { temporaryFolder } from '../../support/support.ts';
import { given, git, put, repository } from './clone-world.ts';

const HOME = { fromTop: true, isTrial: false };
const applied = (diff: string, folder: string, how = HOME) =>
  applyDiff(Buffer.from(diff), folder, how).then(
    () => 'applied',
    (error: Error) => error.message,
  );

/** The mode and bytes of every file and symlink outside of .git, by the bytes of its name. */
function treeOf(folder: string): Record<string, string> {
  const found: Record<string, string> = {};
  const look = (below: Buffer, at: string): void => {
    for (const name of readdirSync(below, { encoding: 'buffer' })) {
      const place = Buffer.concat([below, Buffer.from('/'), name]);
      const key = `${at}/${name.toString('latin1')}`;
      const stat = lstatSync(place);
      if (key === '/.git') continue;
      if (stat.isDirectory()) look(place, key);
      else if (stat.isSymbolicLink()) found[key] = `link ${readlinkSync(place, 'buffer').toString('latin1')}`;
      else found[key] = `${(stat.mode & 0o100) === 0 ? '' : 'x'} ${readFileSync(place).toString('latin1')}`;
    }
  };
  look(Buffer.from(folder), '');
  return found;
}

const name = fc.constantFrom(
  'a',
  'b',
  'dir',
  'dir/x',
  'dir/deep/y',
  'ä',
  'sp ace',
  'new\nline',
  '"quoted"',
  'back\\slash',
  'a.log',
  '.gitattributes',
);
const content = fc.oneof(
  fc.uint8Array({ maxLength: 300 }).map(bytes => Buffer.from(bytes)),
  fc
    .array(fc.constantFrom('one\n', 'two\r\n', 'three', '\n', '$Id$\n', '-- \n', 'diff --git a/x b/x\n'), {
      maxLength: 40,
    })
    .map(lines => Buffer.from(lines.join(''))),
  fc.constant(Buffer.from('* text=auto eol=crlf ident\n*.log filter=x working-tree-encoding=UTF-16\n')),
);
const edit = fc.oneof(
  fc.record({ does: fc.constant('write' as const), name, content, isExecutable: fc.boolean() }),
  fc.record({ does: fc.constant('link' as const), name, content: fc.constantFrom('a', '../x', '/nowhere', 'ä') }),
  fc.record({ does: fc.constant('remove' as const), name }),
);

function make(folder: string, edits: readonly (typeof edit extends fc.Arbitrary<infer Edit> ? Edit : never)[]): void {
  for (const each of edits) {
    const place = path.join(folder, each.name);
    // A file exists where this one needs a folder.
    const names = each.name.split('/').slice(0, -1);
    for (const [index] of names.entries()) {
      const above = path.join(folder, ...names.slice(0, index + 1));
      if (lstatSync(above, { throwIfNoEntry: false })?.isDirectory() === false) rmSync(above);
    }
    rmSync(place, { recursive: true, force: true });
    mkdirSync(path.dirname(place), { recursive: true });
    if (each.does === 'link') symlinkSync(each.content, place);
    if (each.does !== 'write') continue;
    writeFileSync(place, each.content);
    chmodSync(place, each.isExecutable ? 0o755 : 0o644);
  }
}

/** Git cannot replace a link to itself by a folder. */
function hasLoop(folder: string): boolean {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' }).some(name => {
    try {
      statSync(path.join(folder, name));
      return false;
    } catch (error) {
      return codeOf(error) === 'ELOOP';
    }
  });
}

describe('the diff of a run', () => {
  test("reproduces the agent's tree exactly, whatever the agent did", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(edit, { maxLength: 8 }),
        fc.array(edit, { minLength: 1, maxLength: 8 }),
        async (before, after) => {
          const folder = path.join(temporaryFolder(), 'plain');
          mkdirSync(folder);
          make(folder, before);
          fc.pre(!hasLoop(folder));
          // Git does not track empty folders.
          execFileSync('find', [folder, '-mindepth', '1', '-type', 'd', '-empty', '-delete']);
          const { tree, took } = await given(folder);
          make(tree, after);
          const changes = await took();
          expect(changes.diff.cut).toBeNull();
          if (changes.changed.length > 0) {
            const allowActive = changes.needsReview.map(({ path: at }) => at);
            const how = { fromTop: false, isTrial: false, allowActive };
            expect(await applyDiff(readFileSync(changes.out), folder, how)).toEqual(changes.needsReview);
          }
          expect(treeOf(folder)).toEqual(treeOf(tree));
        },
      ),
      { numRuns: 8 },
    );
  });

  test('names the file that replaces a link to itself, and changes nothing', async () => {
    const folder = path.join(temporaryFolder(), 'plain');
    mkdirSync(folder);
    symlinkSync('loop', path.join(folder, 'loop'));
    const { tree, took } = await given(folder);
    rmSync(path.join(tree, 'loop'));
    put(tree, { 'loop/x': 'new' });
    const { out } = await took();
    const before = treeOf(folder);
    await expect(applyDiff(readFileSync(out), folder, HOME)).rejects.toThrow(
      'loop/x replaces a link to itself, which git cannot do, so nothing was changed.',
    );
    expect(treeOf(folder)).toEqual(before);
  });

  test('applies at the top of a repository, even from a subfolder', async () => {
    const folder = repository();
    const { tree, took } = await given(folder);
    put(tree, { 'readme.md': 'changed\n', 'src/b.bin': Buffer.from([9, 9, 9, 0]), 'new/file': 'n' });
    rmSync(path.join(tree, 'src/a.ts'));
    const { out } = await took();
    const before = treeOf(folder);
    await applyDiff(readFileSync(out), path.join(folder, 'src'), { ...HOME, isTrial: true });
    expect(treeOf(folder)).toEqual(before);
    await applyDiff(readFileSync(out), path.join(folder, 'src'), HOME);
    expect(treeOf(folder)).toEqual(treeOf(tree));
    expect(git(folder, 'log', '--format=%s')).toBe('first');
    expect(git(folder, 'diff', '--cached', '--name-only')).toBe('');
  });

  test('also applies to a copy inside another repository', async () => {
    const outer = repository();
    const folder = path.join(temporaryFolder(), 'plain');
    put(folder, { a: 'a\n' });
    const { tree, took } = await given(folder);
    put(tree, { a: 'b\n' });
    const { out } = await took();
    cpSync(folder, path.join(outer, 'inside'), { recursive: true });
    await applyDiff(readFileSync(out), path.join(outer, 'inside'), { fromTop: false, isTrial: false });
    expect(readFileSync(path.join(outer, 'inside/a'), 'utf8')).toBe('b\n');
  });

  test('changes nothing if one of its files has changed, and names that file', async () => {
    const folder = repository();
    const { tree, took } = await given(folder);
    put(tree, { 'readme.md': 'changed\n', 'src/a.ts': 'changed\n', new: 'n\n' });
    const diff = readFileSync((await took()).out, 'utf8');
    put(folder, { 'src/a.ts': 'one\ntwo\nthree\nfour\n' });
    const before = treeOf(folder);
    expect(await applied(diff, folder)).toMatch(/^src\/a\.ts has uncommitted changes/);
    git(folder, 'commit', '-qam', 'meanwhile');
    expect(await applied(diff, folder)).toMatch(/^src\/a\.ts has changed since the agent started/);
    git(folder, 'reset', '-q', '--hard', 'HEAD~1');
    put(folder, { new: 'mine' });
    expect(await applied(diff, folder)).toMatch(/^new already exists/);
    git(folder, 'checkout', '-q', '.');
    expect(readFileSync(path.join(folder, 'readme.md'), 'utf8')).toBe(before['/readme.md']?.slice(1));
  });
});

test('detects a folder in the way of a file before it changes anything', async () => {
  const folder = path.join(temporaryFolder(), 'plain');
  put(folder, { a: 'a\n' });
  mkdirSync(path.join(folder, 'way/in'), { recursive: true });
  const { tree, took } = await given(folder);
  rmSync(path.join(tree, 'way'), { recursive: true });
  put(tree, { a: 'b\n', way: 'a file' });
  const { out } = await took();
  expect(await applied(readFileSync(out, 'utf8'), folder, { fromTop: false, isTrial: false })).toBe(
    'way is a folder in the target.',
  );
  expect(readFileSync(path.join(folder, 'a'), 'utf8')).toBe('a\n');
});

describe('a forged diff', () => {
  const adding = (file: string): string =>
    `diff --git a/${file} b/${file}\nnew file mode 100644\n--- /dev/null\n+++ b/${file}\n@@ -0,0 +1 @@\n+x\n`;

  test.each([
    '../outside',
    'src/../../outside',
    '.git/hooks/pre-commit',
    '.GIT/config',
    'sub/.git/config',
    'git~1/x',
    'away/file',
  ])('cannot reach %s', async file => {
    const folder = repository();
    const outside = temporaryFolder();
    symlinkSync(outside, path.join(folder, 'away'));
    expect(await applied(adding(file), folder)).not.toBe('applied');
    expect(readdirSync(outside)).toEqual([]);
    expect(existsSync(path.join(folder, file))).toBe(false);
  });

  test.each(['copy', 'rename'])('cannot read another file with a %s', async does => {
    const folder = repository();
    const outside = temporaryFolder();
    put(outside, { secret: 'of this machine\n' });
    for (const from of [path.relative(folder, path.join(outside, 'secret')), '.git/config', 'readme.md']) {
      const diff = `diff --git a/${from} b/got\nsimilarity index 100%\n${does} from ${from}\n${does} to got\n`;
      expect(await applied(diff, folder)).toBe("The diff copies or renames a file, which a run's diff never does.");
    }
    expect(await applied(adding('new').replace('+x', '+x\n+copy from a').replace('+1 ', '+1,2 '), folder)).toBe(
      'applied',
    );
  });

  test('cannot write through a symlink that it creates, and is refused if it is not a diff', async () => {
    const folder = repository();
    const outside = temporaryFolder();
    const link = `diff --git a/l b/l\nnew file mode 120000\n--- /dev/null\n+++ b/l\n@@ -0,0 +1 @@\n+${outside}\n\\ No newline at end of file\n`;
    expect(await applied(link + adding('l/x'), folder)).not.toBe('applied');
    expect(readdirSync(outside)).toEqual([]);
    expect(await applied('no diff at all\n', folder)).toBe('The diff does not apply here, so nothing was changed.');
  });

  test("does not run the user's git filters", async () => {
    const folder = repository();
    const canary = path.join(temporaryFolder(), 'canary');
    for (const key of ['clean', 'smudge']) git(folder, 'config', `filter.bite.${key}`, `touch ${canary}; cat`);
    put(folder, { '.gitattributes': '* filter=bite\n' });
    expect(await applied(adding('new'), folder)).toBe('applied');
    expect(existsSync(canary)).toBe(false);
    // A plain git command would have run it.
    execFileSync('git', ['add', 'new'], { cwd: folder });
    expect(existsSync(canary)).toBe(true);
  });
});
