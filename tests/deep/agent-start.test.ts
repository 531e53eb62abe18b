import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
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
const baseIn = (folder: string): AgentOutcome['base'] => (json(folder, 'evidence/outcome.json') as AgentOutcome).base;

function put(folder: string, files: Record<string, string>): void {
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(path.dirname(path.join(folder, name)), { recursive: true });
    writeFileSync(path.join(folder, name), text);
  }
}

/** The world's arguments without the --dir that it adds. */
function elsewhere(world: AgentWorld, agent: 'claude' | 'codex', task: string, flags: readonly string[]): string[] {
  const args = world.args(agent, task, flags);
  args.splice(args.indexOf('--dir'), 2);
  return args;
}

describe('run agent --repository', () => {
  test('clones a bundle and records its hash and commit; the changes apply to the original repository', () => {
    const world = new AgentWorld({ 'README.md': 'A project.\n' });
    const head = gitIn(world.repository, 'rev-parse', 'HEAD').trim();
    gitIn(world.repository, 'bundle', 'create', '-q', path.join(world.place.cwd, 'task.bundle'), '--all');
    const { answer, folder, stderr } = world.ran(
      world.tried(
        elsewhere(world, 'claude', sh('git log --format=%s > seen.txt; git fsck >> seen.txt 2>&1'), [
          '--repository',
          'task.bundle',
          '--base',
          'main',
        ]),
      ),
    );
    expect(answer, stderr).toMatchObject({ ...completed, changes: { files: 1 }, base: { kind: 'bundle' } });
    expect(baseIn(folder)).toEqual({
      kind: 'bundle',
      name: 'task.bundle',
      bundle_sha256: expect.stringMatching(/^sha256:/) as string,
      commit: head,
      base_commit: head,
      files: null,
    });
    expect(readFileSync(path.join(folder, 'workspace.diff'), 'utf8')).not.toMatch(/missing|broken|error/);
    expect(world.tried(['verify', folder])).toMatchObject({ code: 0 });
    expect(world.tried(['show', 'latest']).stdout).toMatch(/base {6}bundle task\.bundle, commit [0-9a-f]{12}/);
    expect(world.tried(['apply', 'latest', '--dir', world.repository])).toMatchObject({ code: 0 });
  });

  test('refuses a missing ref and names those that exist, and refuses --dir beside --repository', () => {
    const world = new AgentWorld();
    const args = ['--repository', world.repository];
    expect(world.tried(elsewhere(world, 'claude', 'DO=write', [...args, '--base', 'no-such']))).toMatchObject({
      code: 2,
      stdout: expect.stringContaining('It has main.') as string,
    });
    expect(world.tried(world.args('claude', 'DO=write', args))).toMatchObject({ code: 2 });
  });
});

describe('run agent --files', () => {
  test('adds files to the base, so they are not changes; a check uses them, and apply works without --branch', () => {
    const world = new AgentWorld({ 'README.md': 'A project.\n', lib: 'a file\n' });
    const head = gitIn(world.repository, 'rev-parse', 'HEAD').trim();
    const files = path.join(world.place.cwd, 'given');
    put(files, { 'tests/a.test.sh': 'grep -q fixed README.md\n', 'lib/x.txt': 'x\n', '.gitignore': 'out\n' });
    const script = [
      'git status --porcelain > seen.txt',
      'cat lib/x.txt >> seen.txt',
      'echo fixed >> README.md',
      'echo true > tests/a.test.sh',
    ].join('\n');
    const flags = ['--files', files, '--check', 'unit=sh tests/a.test.sh'];
    const { answer, folder, stderr } = world.run('claude', sh(script), flags);
    expect(answer, stderr).toMatchObject({
      ...completed,
      changes: { files: 3 },
      checks: [{ verdict: 'passed', restored: { total: 1, listed: [{ path: 'tests/a.test.sh', change: 'changed' }] } }],
    });
    const status = statusIn(folder);
    expect(status.changed.listed.map(({ path: at }) => at)).toEqual(['README.md', 'seen.txt', 'tests/a.test.sh']);
    expect(status.base).toMatchObject({ from_sha: head });
    expect(status.base.sha).not.toBe(head);
    expect(baseIn(folder)).toMatchObject({
      kind: 'folder',
      name: null,
      commit: head,
      base_commit: status.base.sha,
      files: { total: 3 },
    });
    expect(readFileSync(path.join(folder, 'workspace.diff'), 'utf8')).toMatch(/^\+x$/m);
    expect(world.tried(['verify', folder])).toMatchObject({ code: 0 });

    const again = world.run('claude', 'DO=write', ['--files', files]);
    expect(statusIn(again.folder).base.sha).toBe(status.base.sha);
    expect(world.tried(['apply', 'latest', '--dir', world.repository, '--branch', 'fix'])).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('Proctor added files') as string,
    });
    expect(world.tried(['apply', 'latest', '--dir', world.repository])).toMatchObject({ code: 0 });
    expect(gitIn(world.repository, 'status', '--porcelain')).not.toContain('given');
  });

  test('starts from a new repository with one commit if there is no other source', () => {
    const world = new AgentWorld();
    put(path.join(world.place.cwd, 'given'), { 'a.txt': 'a\n', 'sub/b.txt': 'b\n' });
    const script = sh(
      'git log --format=%an,%ad,%s --date=unix > seen.txt; git status --porcelain >> seen.txt; ls >> seen.txt',
    );
    const { answer, folder, stderr } = world.ran(world.tried(elsewhere(world, 'codex', script, ['--files', 'given'])));
    expect(answer, stderr).toMatchObject({ ...completed, changes: { files: 1 } });
    expect(baseIn(folder)).toMatchObject({ kind: 'files', name: null, commit: null, files: { total: 2 } });
    const diff = readFileSync(path.join(folder, 'workspace.diff'), 'utf8');
    expect(diff).toMatch(
      /\+proctor-agent,0,the base, as Proctor prepared it\n\+\?\? seen\.txt\n\+a\.txt\n\+seen\.txt\n\+sub\n$/,
    );
    expect(world.tried(['verify', folder])).toMatchObject({ code: 0 });
  });

  test('refuses a folder that is missing or empty, or that contains a link, .GIT or .proctor', () => {
    const world = new AgentWorld();
    const refused = (files: string): string => world.tried(world.args('claude', 'DO=write', ['--files', files])).stdout;
    const at = (name: string): string => path.join(world.place.cwd, name);
    put(at('linked'), { x: '' });
    symlinkSync('/etc/passwd', path.join(at('linked'), 'link'));
    expect(refused('linked')).toContain('The folder of files contains a link');
    put(at('gits'), { '.GIT/config': '' });
    expect(refused('gits')).toContain('a name that is not allowed');
    put(at('ours'), { 'a/.proctor/x': '' });
    expect(refused('ours')).toContain('a name that is not allowed');
    mkdirSync(at('none'));
    expect(refused('none')).toContain('is empty');
    expect(refused('missing')).toContain('is not a folder');
  });
});
