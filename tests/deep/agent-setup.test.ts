import { existsSync, mkdirSync, readdirSync, readFileSync, truncateSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import type { AgentOutcome } from '../../src/contracts/agent-step/index.ts';
import type { WorkspaceStatus } from '../../src/contracts/workspace/index.ts';
import { gitIn } from '../../stand-ins/git.ts';
import { AgentWorld, completed, placePrograms } from '../run/agent/world.ts';

placePrograms();

const sh = (script: string): string => `DO=sh:${Buffer.from(script).toString('hex')}`;

const json = (folder: string, file: string): unknown => JSON.parse(readFileSync(path.join(folder, file), 'utf8'));
const statusIn = (folder: string): WorkspaceStatus =>
  json(folder, 'evidence/steps/agent/workspace_status.json') as WorkspaceStatus;
const setupIn = (folder: string): NonNullable<AgentOutcome['base']>['setup'] =>
  (json(folder, 'evidence/outcome.json') as AgentOutcome).base?.setup;

function put(folder: string, files: Record<string, string>): void {
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(path.dirname(path.join(folder, name)), { recursive: true });
    writeFileSync(path.join(folder, name), text);
  }
}

/** Gives a world its own state folder, so that its cache is empty. */
function emptyCache(world: AgentWorld): { env: NodeJS.ProcessEnv; cache: string } {
  const state = path.join(world.place.cwd, 'state');
  mkdirSync(state, { mode: 0o700 });
  return { env: { XDG_STATE_HOME: state }, cache: path.join(state, 'proctor', 'setup-cache') };
}

const FILES = { 'README.md': 'A project.\n', '.gitignore': 'node_modules\nbuild\n', 'src/x.txt': 'wrong\n' };
const INSTALL = [
  'mkdir -p node_modules/dep node_modules/.bin build',
  "printf 'grep -q right src/x.txt\\n' > node_modules/dep/test.sh",
  'ln -s ../dep/test.sh node_modules/.bin/node',
  'chmod 755 node_modules/dep/test.sh',
  'echo made > build/out; echo lock > lock.txt; rm README.md',
].join('; ');

describe('run agent --setup', () => {
  test('gives the agent and its checks one prepared base, and caches it until the entry or the commit changes', () => {
    const world = new AgentWorld(FILES);
    const { env, cache } = emptyCache(world);
    const script =
      'git status --porcelain; sh node_modules/.bin/node && exit 9; echo right > src/x.txt; echo y > build/own';
    const checks = path.join(world.place.cwd, 'checks.yaml');
    writeFileSync(checks, 'checks:\n  - name: unit\n    command: sh node_modules/.bin/node\n    paths: [src]\n');
    const flags = ['--setup', INSTALL, '--checks', checks];
    const first = world.run('claude', sh(script), flags, env);
    expect(first.answer, first.stderr).toMatchObject({
      ...completed,
      changes: { files: 1 },
      checks: [{ verdict: 'passed', restored: { total: 0 }, second_look: { verdict: 'passed' } }],
      base: { kind: 'folder', setup: { cached: false, network: 'blocked', changed: 2, ignored: 3, exit_code: 0 } },
    });
    const status = statusIn(first.folder);
    expect(status.changed.listed.map(({ path: at }) => at)).toEqual(['src/x.txt']);
    expect(status.ignored.listed).toEqual(['build/own']);
    expect(world.tried(['verify', first.folder], env)).toMatchObject({ code: 0 });
    expect(world.tried(['show', 'latest'], env).stdout).toMatch(/setup {5}mkdir.*network blocked/);

    const second = world.run('claude', sh(script), flags, env);
    expect(second.answer).toMatchObject({ changes: { files: 1 }, base: { setup: { cached: true } } });
    expect(statusIn(second.folder).base.sha).toBe(status.base.sha);
    expect(setupIn(second.folder)?.sha256).toBe(setupIn(first.folder)?.sha256);

    const [entry = ''] = readdirSync(cache);
    truncateSync(path.join(cache, entry), 100);
    const third = world.run('claude', 'DO=write', ['--setup', INSTALL], env);
    expect(third.answer).toMatchObject({ base: { setup: { cached: false } } });
    put(world.repository, { 'package-lock.json': '{}\n' });
    gitIn(world.repository, 'add', '--all');
    gitIn(world.repository, 'commit', '-q', '-m', 'lock');
    const fourth = world.run('claude', 'DO=write', ['--setup', INSTALL], env);
    expect(fourth.answer).toMatchObject({ base: { setup: { cached: false } } });
    expect(readdirSync(cache)).toHaveLength(2);
  });

  test('restores a dependency that the agent changed, before a check runs', () => {
    const world = new AgentWorld(FILES);
    const { env } = emptyCache(world);
    const flags = ['--setup', INSTALL, '--check', 'unit=sh node_modules/.bin/node'];
    const { answer, folder } = world.run('claude', sh('echo true > node_modules/dep/test.sh'), flags, env);
    expect(answer).toMatchObject({ changes: { files: 0 }, checks: [{ verdict: 'failed', restored: { total: 1 } }] });
    expect(statusIn(folder).ignored.listed).toEqual(['node_modules/dep/test.sh']);
  });

  test('does not change the base commit if it creates only ignored files, so that apply --branch works', () => {
    const world = new AgentWorld(FILES);
    const { env } = emptyCache(world);
    const { answer, folder } = world.run('claude', 'DO=write', ['--setup', 'mkdir build && echo 1 > build/a'], env);
    expect(answer).toMatchObject({ ...completed, base: { setup: { changed: 0, ignored: 1 } } });
    expect(statusIn(folder).base.from_sha).toBeUndefined();
    const branch = ['apply', 'latest', '--dir', world.repository, '--branch', 'fix'];
    expect(world.tried(branch, env)).toMatchObject({ code: 0 });
  });

  test('creates no run if it fails or leaves too much, and caches nothing', () => {
    const world = new AgentWorld(FILES);
    const { env, cache } = emptyCache(world);
    const refused = (command: string): string => {
      const { code, stdout } = world.tried(world.args('claude', 'DO=write', ['--setup', command]), env);
      expect(code, command).toBe(2);
      return stdout;
    };
    const failed = refused('echo one; echo no such package >&2; exit 3');
    expect(failed).toContain('failed with exit code 3, so the agent did not start');
    expect(failed).toContain('no such package');
    expect(refused('truncate -s 1100M build.bin')).toContain('exceeded a limit on its result');
    expect(refused('kill -9 $$')).toContain('so the agent did not start');
    expect(existsSync(cache) ? readdirSync(cache) : []).toEqual([]);
    expect(existsSync(path.join(world.place.cwd, '.proctor', 'runs', 'agent'))).toBe(false);
  });

  test('keeps only regular files, folders and links from a hostile command, and counts the rest', () => {
    const world = new AgentWorld(FILES);
    const { env } = emptyCache(world);
    const command = [
      'mkdir -p build sub/.git .git/hooks .GIT git~1; ln -s /etc .gitmodules; echo plain > sub/plain',
      'for at in .git/hooks/post-checkout .git/config .GIT/config git~1/config sub/.git/config; do echo evil >> $at; done',
      'mkfifo build/pipe; mknod build/null c 1 3 && exit 9',
      'ln -s /etc/passwd build/link; ln -s ../../.. build/up; ln -s /agent/home out',
      'printf x > build/tool; chmod 6755 build/tool; chmod 3777 build',
      'chown 12345 build/tool && exit 9',
      'echo alive > build/alive; (while :; do echo alive > build/alive; sleep 0.1; done) > /dev/null 2>&1 &',
      'true',
    ].join('\n');
    const script = [
      'rm -f build/alive; sleep 0.5',
      "find . -mindepth 1 -path ./.git -prune -o -printf '%y %P %l\\n' | LC_ALL=C sort > /tmp/seen",
      'find . \\( ! -user "$(id -u)" -o ! -type l -perm /7000 \\) >> /tmp/seen; grep -rl evil . >> /tmp/seen; mv /tmp/seen seen.txt',
    ].join('\n');
    const { answer, folder, stderr } = world.run('claude', sh(script), ['--setup', command], env);
    expect(answer, stderr).toMatchObject({ ...completed, changes: { files: 1 } });
    const diff = readFileSync(path.join(folder, 'workspace.diff'), 'utf8');
    expect(diff.split('\n').flatMap(line => /^\+([^+].*)/.exec(line)?.[1]?.trimEnd() ?? [])).toEqual([
      'd build',
      'd src',
      'd sub',
      'f .gitignore',
      'f README.md',
      'f build/tool',
      'f src/x.txt',
      'f sub/plain',
      // The agent's sandbox resolves these links. Proctor never follows them.
      'l build/link /etc/passwd',
      'l build/up ../../..',
      'l out /agent/home',
    ]);
    // Left out: the pipe, .GIT, git~1, the link .gitmodules, and sub/.git.
    expect(setupIn(folder)).toMatchObject({ changed: 2, ignored: 4, left_out: 5 });
  });

  test('sees no secrets, and no network under a policy without one', () => {
    const world = new AgentWorld(FILES);
    const { env } = emptyCache(world);
    const command =
      'mkdir build; env > build/env; cat /proc/net/dev > build/net; grep -q TOPSECRET build/env && exit 1; true';
    const flags = ['--setup', `${command} # hidden-value-1`, '--secret', 'TOPSECRET'];
    const all = { ...env, TOPSECRET: 'hidden-value-1', ANTHROPIC_API_KEY: 'sk-ant-test-0000000000' };
    const { answer, folder } = world.run('claude', sh('cat build/env build/net > seen.txt'), flags, all);
    expect(answer).toMatchObject(completed);
    expect(readFileSync(path.join(folder, 'workspace.diff'), 'utf8')).not.toMatch(/hidden-value|sk-ant|eth0/);
    expect(setupIn(folder)?.command).not.toContain('hidden-value-1');
    expect(setupIn(folder)?.network).toBe('blocked');
  });
});
