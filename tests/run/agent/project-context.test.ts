/** Project instructions for agents, and how the evidence records them. */
import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { claudeCli } from '../../../src/adapters/claude-cli.ts';
import { codexCli } from '../../../src/adapters/codex-cli.ts';
import type { Clone } from '../../../src/execute/worktree/clone.ts';
import { projectContext } from '../../../src/run/agent/project-context.ts';
import { temporaryFolder } from '../../support/support.ts';
import { AgentWorld, placePrograms } from './world.ts';

placePrograms();

const SKILL = '---\nname: greet\ndescription: Greets people\n---\nSay hello.\n';

const FILES = {
  'CLAUDE.md': 'Be brief. See @docs/style.md\n',
  'docs/style.md': 'Short lines, as in @more.md\n',
  'docs/more.md': 'Shorter lines.\n',
  'docs/other.md': 'Nobody imports this.\n',
  '.claude/settings.json': '{"hooks":{}}',
  '.claude/rules/tests.md': 'Test first.\n',
  '.claude/skills/greet/SKILL.md': SKILL,
  'AGENTS.md': 'Be kind.\n',
  '.agents/skills/greet/SKILL.md': SKILL,
  'app/AGENTS.md': 'Be kinder.\n',
  'app/AGENTS.override.md': 'Be kindest.\n',
  'app/CLAUDE.md': 'Be briefer, and see @notes.md and @../docs/more.md\n',
  'app/notes.md': 'Notes.\n',
};

function treeOf(files: Readonly<Record<string, string>>): string {
  const folder = temporaryFolder();
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(path.dirname(path.join(folder, name)), { recursive: true });
    writeFileSync(path.join(folder, name), text);
  }
  return folder;
}

const found = (adapter: typeof claudeCli, tree: string, startIn = '.') =>
  projectContext(adapter, { tree, startIn } as Clone, true);
const listed = (...of: Parameters<typeof found>): string[] => found(...of).told.files.map(file => file.path);

test('each agent gets the files that its program reads, from the root to its work folder', () => {
  const tree = treeOf(FILES);
  const claude = ['.claude/rules/tests.md', '.claude/skills/greet/SKILL.md', 'CLAUDE.md'];
  expect(listed(claudeCli, tree)).toEqual([...claude, 'docs/more.md', 'docs/style.md']);
  // Claude does not follow imports out of its work folder.
  expect(listed(claudeCli, tree, 'app')).toEqual([...claude, 'app/CLAUDE.md', 'app/notes.md']);
  expect(found(claudeCli, tree, 'app').given?.folders).toEqual(['/work', '/work/app']);
  expect(listed(codexCli, tree)).toEqual(['.agents/skills/greet/SKILL.md', 'AGENTS.md']);
  expect(listed(codexCli, tree, 'app')).toEqual([
    '.agents/skills/greet/SKILL.md',
    'AGENTS.md',
    'app/AGENTS.override.md',
  ]);
});

test('follows symlinks only inside the tree', () => {
  const tree = treeOf({
    'AGENTS.md': 'Be kind.\n',
    'shared/greet/SKILL.md': SKILL,
    '.git/CLAUDE.md': 'x',
    'a/.keep': '',
  });
  mkdirSync(path.join(tree, '.claude'));
  symlinkSync('AGENTS.md', path.join(tree, 'CLAUDE.md'));
  symlinkSync('../shared', path.join(tree, '.claude', 'skills'));
  symlinkSync('/etc/hostname', path.join(tree, '.claude', 'CLAUDE.md'));
  symlinkSync('../.git/CLAUDE.md', path.join(tree, 'a', 'CLAUDE.md'));
  expect(listed(claudeCli, tree, 'a')).toEqual(['.claude/skills/greet/SKILL.md', 'CLAUDE.md']);
});

test('omits files and skills beyond its limits, and states the total', () => {
  const many = Object.fromEntries(
    Array.from({ length: 300 }, (_, index) => [`.claude/rules/${String(index).padStart(3, '0')}.md`, 'x']),
  );
  const tree = treeOf({ ...many, 'CLAUDE.md': 'x'.repeat(1024 * 1024 + 1) });
  const { total, files } = found(claudeCli, tree).told;
  expect([total, files.length]).toEqual([300, 200]);
  const skills = Array.from({ length: 150 }, (_, index) => [`.claude/skills/s${index}/SKILL.md`, SKILL]);
  expect(found(claudeCli, treeOf(Object.fromEntries(skills))).given?.skills).toHaveLength(100);
});

test.each(['claude', 'codex'] as const)(
  'the evidence of %s lists the files, or states that they were omitted',
  agent => {
    const world = new AgentWorld(FILES);
    writeFileSync(path.join(world.repository, 'CLAUDE.local.md'), 'Not committed.\n');
    const outcome = (folder: string): { project_context: { files: { path: string; sha256: string }[] } } =>
      JSON.parse(readFileSync(path.join(folder, 'evidence/outcome.json'), 'utf8'));
    const first = agent === 'claude' ? 'CLAUDE.md' : 'AGENTS.md';
    const run = world.run(agent, 'DO=write');
    const sha256 = `sha256:${createHash('sha256').update(FILES[first]).digest('hex')}`;
    const bytes = FILES[first].length;
    expect(outcome(run.folder).project_context).toMatchObject({ state: 'offered' });
    expect(outcome(run.folder).project_context.files).toContainEqual({ path: first, sha256, bytes });
    expect(JSON.stringify(outcome(run.folder))).not.toMatch(/local\.md|settings\.json/);
    expect(world.tried(['show', 'latest']).stdout).toMatch(new RegExp(`context .*${first}`));
    const without = world.run(agent, 'DO=write', ['--no-project-context']);
    expect(outcome(without.folder).project_context).toEqual({ state: 'left_out', total: 0, files: [] });
    expect(without.answer['project_context']).toEqual({ state: 'left_out', total: 0, files: [] });
    expect(world.tried(['show', 'latest']).stdout).toContain('project instructions hidden');
  },
);
