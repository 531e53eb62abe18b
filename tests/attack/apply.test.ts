import { execFileSync } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ACTIVE_FILES } from '../../src/policy/active-files.ts';
import type { ApplyOptions, applyRun as ApplyRun } from '../../src/verbs/apply.ts';
import { agentFolder, AGENT_RUN } from '../evidence/agent/agent-world.ts';
import { git, put } from '../execute/worktree/clone-world.ts';
import { proctor, ROOT, temporaryFolder } from '../support/support.ts';

let usual: string | undefined;

beforeAll(() => {
  usual = mkdtempSync(path.join(tmpdir(), 'proctor-test-'));
  git(usual, 'init', '-q', '-b', 'main', '--template=');
  put(usual, { 'readme.md': 'hello\n', 'package.json': PACKAGE });
  commit(usual);
});

afterAll(() => {
  if (usual !== undefined) rmSync(usual, { recursive: true, force: true });
});

/** A user's repository. */
function project(files: Record<string, string> = {}): string {
  const home = path.join(temporaryFolder(), 'project');
  cpSync(usual as string, home, { recursive: true });
  put(home, files);
  if (Object.keys(files).length > 0) commit(home);
  return home;
}

function commit(home: string): void {
  git(home, 'add', '-A', '-f');
  git(home, 'commit', '-q', '-m', 'first');
}

const PACKAGE = `${JSON.stringify({ name: 'x', scripts: { test: 'vitest', postinstall: 'node a.js' } }, null, 2)}\n`;

/** Stores a sealed agent run with this diff. Its other statements about changes are false. */
async function ran(home: string, diff: string): Promise<void> {
  const base = { ref: 'main', sha: git(home, 'rev-parse', 'HEAD'), branch: 'x' };
  const changed = { total: 1, listed: [{ path: 'src/a.ts', change: 'add' as const, bytes: 2, mode: '100644' }] };
  rmSync(path.join(home, '.proctor', 'runs'), { recursive: true, force: true });
  await agentFolder(path.join(home, '.proctor'), { diff, workspace: { base, changed } });
}

/** Returns the diff that `change` makes in a copy of the project. */
function diffOf(home: string, change: (folder: string) => void): string {
  const copy = path.join(temporaryFolder(), 'copy');
  git(path.dirname(copy), 'clone', '-q', home, copy);
  change(copy);
  git(copy, 'add', '-A', '-f');
  return execFileSync('git', ['diff', '--cached', '--binary', '--full-index', '--no-renames', 'HEAD'], {
    cwd: copy,
    encoding: 'utf8',
    env: { PATH: process.env.PATH, GIT_CONFIG_NOSYSTEM: '1', GIT_CONFIG_GLOBAL: '/dev/null' },
  });
}

const LIBRARY: string = path.join(ROOT, 'dist', 'index.js');

/** Calls the built library, which returns the same answer as the command. */
async function apply(home: string, options: ApplyOptions = {}): Promise<{ code: number; stderr: string }> {
  const { applyRun } = (await import(LIBRARY)) as { applyRun: typeof ApplyRun };
  return applyRun(AGENT_RUN, { cwd: home, ...options }).then(
    () => ({ code: 0, stderr: '' }),
    (error: Error) => ({ code: 1, stderr: error.message }),
  );
}

function command(home: string, ...allowed: string[]) {
  return proctor(['apply', AGENT_RUN, ...allowed.flatMap(at => ['--allow-active', at])], { cwd: home });
}

/** A name that matches a pattern in the table. */
function nameFor(pattern: string): string {
  const name = pattern.replaceAll('*', 'x');
  return name.endsWith('/') ? `${name}file` : name;
}

const added = (file: string, text: string): string =>
  `diff --git a/${file} b/${file}\nnew file mode 100644\n--- /dev/null\n+++ b/${file}\n@@ -0,0 +1 @@\n+${text}\n`;

describe('apply on files that run automatically', () => {
  const entries = ACTIVE_FILES.filter(({ partsOf }) => !partsOf).map(({ paths }) => [paths.join(' '), paths] as const);
  test.each(entries)('refuses %s', async (_, paths) => {
    const home = project();
    const files = paths.map(nameFor);
    await ran(home, files.map(file => added(file, 'x')).join(''));
    const { code, stderr } = await apply(home);
    expect(code).toBe(1);
    expect(files.filter(file => !stderr.includes(`\n  ${file}: `))).toEqual([]);
    expect(files.filter(file => existsSync(path.join(home, file)))).toEqual([]);
  });

  test('applies each file that is named exactly, and no other', async () => {
    const home = project();
    await ran(home, added('.claude/settings.json', '{}') + added('.envrc', 'x') + added('src/a.ts', 'x'));
    const some = command(home, '.envrc', '.claude', '.claude/*');
    expect(some).toMatchObject({ code: 1, stderr: expect.stringContaining('.claude/settings.json') as string });
    expect(some.stderr).not.toContain('.envrc:');
    expect(existsSync(path.join(home, '.envrc'))).toBe(false);
    expect(command(home, '.envrc', '.claude/settings.json').code).toBe(0);
    expect(existsSync(path.join(home, '.claude/settings.json'))).toBe(true);
  });
});

describe('apply on files whose content makes them active', () => {
  const edited = (edit: (document: { scripts: Record<string, string> } & Record<string, unknown>) => void) => {
    const document = JSON.parse(PACKAGE) as { scripts: Record<string, string> } & Record<string, unknown>;
    edit(document);
    return `${JSON.stringify(document, null, 2)}\n`;
  };
  const HARMLESS: [string, string][] = [
    ['a script that npm runs on request', edited(one => (one.scripts.build = 'tsc'))],
    ['a dependency', edited(one => (one.dependencies = { left: '1.0.0' }))],
    ['the removal of a script', edited(one => delete one.scripts.postinstall)],
  ];
  test.each(HARMLESS)('applies a package.json with %s', async (_, text) => {
    const home = project();
    await ran(
      home,
      diffOf(home, folder => put(folder, { 'package.json': text })),
    );
    expect(await apply(home)).toMatchObject({ code: 0 });
  });

  const ACTIVE: [string, string][] = [
    ...['preinstall', 'install', 'prepare', 'prepublishOnly', 'prepack', 'postpack', 'dependencies'].map(
      (name): [string, string] => [`the script ${name}`, edited(one => (one.scripts[name] = 'node x.js'))],
    ),
    ['a different postinstall script', edited(one => (one.scripts.postinstall = 'node b.js'))],
    ['an escaped key', PACKAGE.replace('"test"', '"pre\\u0069nstall"')],
    [
      'a duplicate key',
      PACKAGE.replace('"test"', '"postinstall": "node b.js", "test"').replace('node a.js', 'node c.js'),
    ],
    ['husky hooks', edited(one => (one.husky = { hooks: { 'pre-commit': 'node x.js' } }))],
    ['another package manager', edited(one => (one.packageManager = 'yarn@https://example.org/yarn.js'))],
    ['a byte order mark and a script', `\ufeff${edited(one => (one.scripts.install = 'x'))}`],
    ['text that is not JSON', '{'],
  ];
  test.each(ACTIVE)('refuses a package.json with %s', async (_, text) => {
    const home = project();
    await ran(
      home,
      diffOf(home, folder => put(folder, { 'package.json': text })),
    );
    expect(await apply(home)).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('package.json: npm') as string,
    });
    expect(readFileSync(path.join(home, 'package.json'), 'utf8')).toBe(PACKAGE);
  });

  test('refuses a script in a nested package.json, in another spelling, and in composer.json', async () => {
    const home = project();
    const script = '{"scripts":{"postinstall":"x","post-install-cmd":"x"}}';
    for (const file of ['packages/a/package.json', 'Package.JSON', 'composer.json']) {
      await ran(
        home,
        diffOf(home, folder => put(folder, { [file]: script })),
      );
      expect(await apply(home), file).toMatchObject({ code: 1, stderr: expect.stringContaining(`${file}:`) as string });
    }
  });
});

describe('apply on .proctor', () => {
  const SPELLINGS = [
    '.proctor/runs/script/x/journal.ndjson',
    '.proctor',
    'packages/a/.proctor/settings.json',
    '.Proctor/x',
    '.PROCTOR/x',
    '.proctor./x',
    '.proctor /x',
    '.proctor::$INDEX_ALLOCATION/x',
    'PROCTO~1/x',
    '.proc\u200dtor/x',
    '.proc\u00adtor/x',
    '.\uff50roctor/x',
    '.proctor\\x',
  ];
  test.each(SPELLINGS)('never writes to %j, even if it is named', async file => {
    const home = project();
    await ran(
      home,
      diffOf(home, folder => put(folder, { [file]: 'x\n' })),
    );
    const { code, stderr } = await apply(home, { allowActive: [file], anyway: true });
    expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringContaining('apply never writes') as string });
    expect(existsSync(path.join(home, file)) && file !== '.proctor').toBe(false);
  });

  test('never writes to it through an existing symlink or one from the diff', async () => {
    const home = project({ '.gitignore': '.proctor/\n' });
    mkdirSync(path.join(home, '.proctor', 'runs'), { recursive: true });
    symlinkSync('.proctor', path.join(home, 'evidence'));
    await ran(home, added('evidence/runs/x', 'x'));
    expect(await apply(home)).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('through a symlink') as string,
    });
    await ran(
      home,
      diffOf(home, folder => symlinkSync('.proctor/runs', path.join(folder, 'later'))),
    );
    expect(await apply(home, { allowActive: ['later'] })).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('apply never writes') as string,
    });
    expect(existsSync(path.join(home, '.proctor', 'runs', 'x'))).toBe(false);
  });

  test('never writes to the target of a symlinked .proctor, nor applies into it', async () => {
    const home = project({ 'kept/readme': 'x\n' });
    symlinkSync('kept', path.join(home, '.proctor'));
    await ran(home, added('kept/runs/x', 'x'));
    expect(await apply(home)).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('apply never writes') as string,
    });
    const inside = path.join(temporaryFolder(), '.proctor');
    mkdirSync(inside);
    await ran(home, added('x', 'x'));
    expect(await apply(home, { anyway: true, dir: inside })).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('is in .git or .proctor') as string,
    });
  });
});

describe('apply on disguised changes', () => {
  const refuses = async (home: string, diff: string, named: string): Promise<void> => {
    await ran(home, diff);
    const before = git(home, 'status', '--porcelain');
    expect(await apply(home)).toMatchObject({ code: 1, stderr: expect.stringContaining(named) as string });
    expect(git(home, 'status', '--porcelain')).toBe(before);
  };

  test('refuses spellings that differ by case, invisible characters, dots, streams or short names', async () => {
    for (const file of [
      '.CLAUDE/x',
      '.cl\u200daude/x',
      '.claude./x',
      '.claude /x',
      '.claude::$DATA/x',
      'CLAUDE~1/x',
      'agents.MD',
    ]) {
      const home = project();
      await refuses(
        home,
        diffOf(home, folder => put(folder, { [file]: 'x\n' })),
        'need review',
      );
    }
  });

  test('refuses names that git quotes', async () => {
    const home = project();
    await refuses(
      home,
      diffOf(home, folder => put(folder, { 'ä "b"/.envrc': 'x\n' })),
      '.envrc:',
    );
  });

  test('refuses a rename and a copy', async () => {
    const home = project();
    const moved = (how: string) =>
      `diff --git a/readme.md b/.envrc\nsimilarity index 100%\n${how} from readme.md\n${how} to .envrc\n`;
    await refuses(home, moved('rename'), 'copies or renames a file');
    await refuses(home, moved('copy'), 'copies or renames a file');
  });

  test('refuses a bare mode change, and a deletion', async () => {
    const home = project({ '.envrc': 'x\n', '.npmrc': 'ignore-scripts=true\n' });
    await refuses(home, 'diff --git a/.envrc b/.envrc\nold mode 100644\nnew mode 100755\n', '.envrc:');
    await refuses(
      home,
      diffOf(home, folder => git(folder, 'rm', '-q', '.npmrc')),
      '.npmrc:',
    );
  });

  test('refuses a diff without a git header', async () => {
    await refuses(project(), '--- /dev/null\n+++ b/.envrc\n@@ -0,0 +1 @@\n+x\n', '.envrc:');
  });

  test('refuses a file whose hunk looks like the header of another file', async () => {
    const text = 'diff --git a/src/a.ts b/src/a.ts';
    await refuses(project(), added('.envrc', text), '.envrc:');
  });

  const LINKS: [string, string][] = [
    ['out', '../..'],
    ['out', '/etc/passwd'],
    ['out', 'src/../../x'],
    ['hooks', '.git/hooks'],
    ['hooks', 'src/../.GIT/hooks'],
  ];
  test.each(LINKS)('refuses a symlink named %s to %s', async (name, target) => {
    const home = project({ 'src/a': 'x\n' });
    await refuses(
      home,
      diffOf(home, folder => symlinkSync(target, path.join(folder, name))),
      `${name}: it is a symlink`,
    );
  });

  test('refuses a symlink whose mode is written differently', async () => {
    const link =
      'diff --git a/x b/x\nnew file mode 120777\n--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+/etc\n\\ No newline at end of file\n';
    await refuses(project(), link, 'x');
  });

  test('refuses a symlink that leaves the tree through another symlink', async () => {
    const home = project({ 'a/b/readme': 'x\n' });
    symlinkSync('b', path.join(home, 'a', 'near'));
    commit(home);
    const diff = diffOf(home, folder => {
      symlinkSync('a/b', path.join(folder, 'deep'));
      symlinkSync('deep/../../../x', path.join(folder, 'far'));
    });
    await refuses(home, diff, 'far: it is a symlink that leaves the tree');
  });

  test('refuses a symlink that replaces a folder with active files', async () => {
    const home = project();
    const diff = diffOf(home, folder => {
      put(folder, { 'gh/workflows/x.yml': 'on: push\n' });
      symlinkSync('gh', path.join(folder, '.github'));
    });
    await refuses(home, diff, '.github: it is a symlink in place of a folder');
  });

  test('refuses a change behind an existing symlink to an active file or folder', async () => {
    const home = project({ 'tools/claude/settings.json': '{}\n', 'docs/agent.md': 'x\n' });
    symlinkSync('tools/claude', path.join(home, '.claude'));
    symlinkSync('docs/agent.md', path.join(home, 'AGENTS.md'));
    commit(home);
    await refuses(
      home,
      diffOf(home, folder => put(folder, { 'tools/claude/new.json': '{}\n' })),
      'tools/claude/new.json:',
    );
    await refuses(
      home,
      diffOf(home, folder => put(folder, { 'docs/agent.md': 'y\n' })),
      'docs/agent.md:',
    );
  });

  test('refuses a hook in a folder that git is configured to use, or that its hooks folder links to', async () => {
    const home = project({ 'tools/check.sh': 'true\n', 'tools/linked.sh': 'true\n', 'own.config': '\n' });
    git(home, 'config', 'core.hooksPath', 'my/gates');
    git(home, 'config', 'include.path', '../own.config');
    mkdirSync(path.join(home, '.git', 'hooks'), { recursive: true });
    symlinkSync('../../tools/linked.sh', path.join(home, '.git', 'hooks', 'pre-commit'));
    await refuses(home, added('my/gates/anything', 'x'), 'my/gates/anything: your git configuration');
    const linked = diffOf(home, folder => put(folder, { 'tools/linked.sh': 'false\n' }));
    await refuses(home, linked, 'tools/linked.sh: your git configuration');
    await refuses(
      home,
      diffOf(home, folder => put(folder, { 'own.config': '[x]\n' })),
      'own.config: your git configuration',
    );
    await ran(
      home,
      diffOf(home, folder => put(folder, { 'tools/check.sh': 'false\n' })),
    );
    expect((await apply(home)).code).toBe(0);
  });

  test('refuses the settings of a repository nested in the tree', async () => {
    const home = project({ 'fixtures/bare/HEAD': 'ref: refs/heads/main\n', 'fixtures/bare/config': '\n' });
    const change = (folder: string): void => put(folder, { 'fixtures/bare/config': '[core]\n\tfsmonitor = x\n' });
    await refuses(home, diffOf(home, change), 'fixtures/bare/config: git treats the folder');
  });

  test('applies a symlink within the tree, and ordinary files', async () => {
    const home = project({ 'src/hooks/useX.ts': 'x\n' });
    const change = (folder: string): void => {
      put(folder, { 'src/hooks/useX.ts': 'y\n', Makefile: 'all:\n', 'bin/update': 'x\n', '.env.example': 'A=\n' });
      symlinkSync('../src', path.join(folder, 'bin', 'src'));
    };
    await ran(home, diffOf(home, change));
    expect(await apply(home)).toMatchObject({ code: 0, stderr: '' });
    expect(readlinkSync(path.join(home, 'bin', 'src'))).toBe('../src');
  });

  test('does not change a folder that is not a repository', async () => {
    const home = project();
    const plain = path.join(temporaryFolder(), 'plain');
    mkdirSync(plain);
    writeFileSync(path.join(plain, 'readme.md'), 'hello\n');
    await ran(home, added('.envrc', 'x'));
    expect(await apply(home, { anyway: true, dir: plain })).toMatchObject({ code: 1 });
    expect(existsSync(path.join(plain, '.envrc'))).toBe(false);
  });
});
