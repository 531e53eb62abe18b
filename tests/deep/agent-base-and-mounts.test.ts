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

function put(folder: string, files: Record<string, string>): void {
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(path.dirname(path.join(folder, name)), { recursive: true });
    writeFileSync(path.join(folder, name), text);
  }
}

describe('run agent --base', () => {
  test('starts from an earlier commit beside a dirty tree, records both, and brings commits home', () => {
    const world = new AgentWorld({ 'README.md': 'A project.\n' });
    const first = gitIn(world.repository, 'rev-parse', 'HEAD').trim();
    put(world.repository, { 'later.txt': 'later\n' });
    gitIn(world.repository, 'add', '--all');
    gitIn(world.repository, 'commit', '-q', '-m', 'Two');
    put(world.repository, { 'README.md': 'not committed\n' });
    const task = `${sh('ls > seen.txt; cat README.md >> seen.txt')} DO=commit DO=append`;
    const { answer, folder, stderr } = world.run('claude', task, ['--base', 'HEAD~1']);
    expect(answer, stderr).toMatchObject({ ...completed, changes: { commits: 1 } });
    const status = statusIn(folder);
    expect(status.base).toMatchObject({ ref: 'HEAD~1', sha: first });
    expect(status.commits.series).toMatchObject({ why: null, listed: [{ author: { name: 'agent' } }] });

    const args = ['apply', 'latest', '--dir', world.repository, '--branch', 'agent/fix'];
    const applied = world.tried(args);
    expect(applied, applied.stderr).toMatchObject({ code: 0 });
    expect(applied.stdout).toMatch(/2 commits on the new branch agent\/fix/);
    const log = gitIn(world.repository, 'log', '--format=%H %s', 'agent/fix').trim().split('\n');
    expect(log).toHaveLength(3);
    expect(log[0]).toMatch(/Uncommitted changes of the Proctor run agent_/);
    expect(log[1]).toContain(status.commits.listed[0]?.sha);
    expect(log[2]).toContain(first);
    expect(gitIn(world.repository, 'show', 'agent/fix:seen.txt')).toBe('README.md\nseen.txt\nA project.\n');
    expect(gitIn(world.repository, 'status', '--porcelain').trim()).toBe('M README.md');
    expect(world.tried(args)).toMatchObject({ code: 1, stderr: expect.stringContaining('already exists') as string });
  });

  test('refuses an unknown commit with exit code 2', () => {
    const world = new AgentWorld();
    expect(world.tried(world.args('claude', 'DO=write', ['--base', 'no-such']))).toMatchObject({
      code: 2,
      stdout: expect.stringContaining('has no commit \\"no-such\\"') as string,
    });
  });
});

describe('run agent --mount', () => {
  test('lets the agent read a folder but not change, commit or apply it, and records its hash', () => {
    const world = new AgentWorld({ 'README.md': 'A project.\n' });
    const shared = path.join(world.place.cwd, 'data');
    put(world.repository, { 'node_modules/dep/index.js': 'module.exports = 1;\n' });
    put(shared, { 'words.txt': 'words\n' });
    const script = [
      'cat node_modules/dep/index.js /agent/mounts/data/words.txt > seen.txt',
      'for f in node_modules/x node_modules/dep/index.js /agent/mounts/data/x; do echo x 2>/dev/null > $f && echo wrote >> seen.txt; done',
      'rm -rf node_modules; mv node_modules gone && echo moved >> seen.txt',
      'git add --all && git add --force node_modules; git commit -q -m all; git status --porcelain >> seen.txt',
    ].join('\n');
    const mounts = ['--mount', path.join(world.repository, 'node_modules'), '--mount', shared];
    const { answer, folder, stderr } = world.run('claude', sh(script), mounts);
    expect(answer, stderr).toMatchObject({ ...completed, changes: { files: 1, commits: 1 } });
    const { changed, commits, ignored } = statusIn(folder);
    expect(changed.listed.map(({ path: at }) => at)).toEqual(['seen.txt']);
    expect(ignored.total).toBe(0);
    expect(commits.series?.why).toBeNull();
    expect(readFileSync(path.join(folder, 'commits.diff'), 'utf8')).not.toContain('node_modules');
    expect(readFileSync(path.join(folder, 'workspace.diff'), 'utf8')).toMatch(
      /\+module\.exports = 1;\n\+words\n(?![^]*(?:wrote|moved))/,
    );
    expect((json(folder, 'evidence/outcome.json') as AgentOutcome).mounts).toEqual([
      { path: 'work/node_modules', sha256: expect.stringMatching(/^sha256:/) as string, entries: 2, bytes: 20 },
      { path: 'agent/mounts/data', sha256: expect.stringMatching(/^sha256:/) as string, entries: 1, bytes: 6 },
    ]);
    expect(readFileSync(path.join(world.repository, 'node_modules/dep/index.js'), 'utf8')).toBe(
      'module.exports = 1;\n',
    );
    expect(world.tried(['show', 'latest']).stdout).toMatch(/mounted {3}work\/node_modules, read-only: 2 entries, 20 B/);
  });

  test('works under a read-only policy, at another path', () => {
    const world = new AgentWorld();
    const shared = path.join(world.place.cwd, 'vendor');
    put(shared, { x: 'x\n' });
    const { answer, stderr } = world.run('codex', sh('cat lib/deep/x'), [
      '--policy',
      'read-only',
      '--mount',
      `${shared}:lib/deep`,
    ]);
    expect(answer, stderr).toMatchObject({ ...completed, changes: { files: 0 }, mounts: [{ path: 'work/lib/deep' }] });
  });

  test('refuses a folder with a link that leaves it', () => {
    const world = new AgentWorld();
    const evil = path.join(world.place.cwd, 'evil');
    put(evil, { x: '' });
    symlinkSync('/etc/passwd', path.join(evil, 'link'));
    expect(world.tried(world.args('claude', 'DO=write', ['--mount', evil]))).toMatchObject({
      code: 2,
      stdout: expect.stringContaining('link is a symlink that leaves the folder') as string,
    });
  });
});
