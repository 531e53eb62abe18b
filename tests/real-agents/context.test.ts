import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { gitIn } from '../../stand-ins/git.ts';
import { EDIT } from './behaviours.ts';
import { agentsFolder, expectInOrder, type World, world } from './world.ts';

/** The prefix of the files that these settings would create in the clone if they took effect. */
const ran = '/work/ran';
const SKILL = [
  '---',
  'name: greet',
  'description: MARK-SKILL',
  'allowed-tools: Bash',
  `hooks: { PreToolUse: [{ hooks: [{ type: command, command: touch ${ran}-hook }] }] }`,
  '---',
  `MARK-BODY !\`touch ${ran}-skill\``,
].join('\n');

/** Everything a repository can contain for an agent: instructions, and settings that would change the policy. */
const FILES: Readonly<Record<string, string>> = {
  'CLAUDE.md': 'MARK-CLAUDE, see @docs/style.md\n',
  'docs/style.md': 'MARK-IMPORT\n',
  'AGENTS.md': 'MARK-AGENTS\n',
  'app/CLAUDE.md': 'MARK-CLAUDE-APP\n',
  'app/AGENTS.md': 'MARK-AGENTS-APP\n',
  '.claude/rules/tests.md': 'MARK-RULE\n',
  '.claude/skills/greet/SKILL.md': SKILL,
  '.agents/skills/greet/SKILL.md': SKILL,
  '.claude/agents/helper.md': '---\nname: helper\ndescription: MARK-SETTING\n---\nx\n',
  '.claude/commands/go.md': '---\ndescription: MARK-SETTING\n---\nx\n',
  '.claude/settings.json': JSON.stringify({
    env: { MARK_SETTING: '1' },
    permissions: { deny: ['Write', 'Read'] },
    hooks: { SessionStart: [{ hooks: [{ type: 'command', command: `touch ${ran}-settings; echo MARK-SETTING` }] }] },
  }),
  '.mcp.json': JSON.stringify({ mcpServers: { x: { command: 'touch', args: [`${ran}-mcp`] } } }),
  '.codex/config.toml': `model = "MARK-SETTING"\n[mcp_servers.x]\ncommand = "touch"\nargs = ["${ran}-mcp"]\n`,
};

function filled(made: World): void {
  for (const [name, text] of Object.entries(FILES)) {
    mkdirSync(path.dirname(path.join(made.repository, name)), { recursive: true });
    writeFileSync(path.join(made.repository, name), text);
  }
  gitIn(made.repository, 'add', '--all');
  gitIn(made.repository, 'commit', '-q', '-m', 'For agents');
  writeFileSync(path.join(made.repository, 'CLAUDE.local.md'), 'MARK-UNCOMMITTED\n');
}

function marks({ api }: World): string[] {
  return [...new Set(api.asked.flatMap(({ text }) => text.match(/MARK-[A-Z]+(?:-APP)?/g) ?? []))].sort();
}

const OF_CLAUDE = ['MARK-CLAUDE', 'MARK-IMPORT', 'MARK-RULE', 'MARK-SKILL'];
const OF_CODEX = ['MARK-AGENTS', 'MARK-SKILL'];

describe.runIf(agentsFolder !== '')('the project', () => {
  test.each([
    ['claude', OF_CLAUDE, ['MARK-CLAUDE', 'MARK-CLAUDE-APP', 'MARK-RULE', 'MARK-SKILL']],
    ['codex', OF_CODEX, ['MARK-AGENTS', 'MARK-AGENTS-APP', 'MARK-SKILL']],
  ] as const)('instructs the real %s, but does not change its policy', async (agent, top, below) => {
    const made = await world();
    filled(made);
    const run = await made.run(agent, 'SCENARIO=write', EDIT);
    expect(run.answer, run.stderr).toMatchObject({ termination: 'completed', changes: { files: 1 }, violations: [] });
    expect(marks(made)).toEqual(top);
    made.api.asked.length = 0;
    const deeper = await made.run(agent, 'SCENARIO=say', [...EDIT, '--dir', path.join(made.repository, 'app')]);
    expect(deeper.answer, deeper.stderr).toMatchObject({ termination: 'completed', changes: { files: 0 } });
    expect(marks(made)).toEqual(below);
    await expectInOrder(made);
  });

  test.each(['claude', 'codex'] as const)('does not instruct the real %s if it is excluded', async agent => {
    const made = await world();
    filled(made);
    const run = await made.run(agent, 'SCENARIO=write', [...EDIT, '--no-project-context']);
    expect(run.answer, run.stderr).toMatchObject({ termination: 'completed' });
    expect(marks(made)).toEqual([]);
    await expectInOrder(made);
  });

  test.each(['edit', 'read-only'])(
    'has skills that the real claude can open and that run nothing, under %s',
    async policy => {
      const made = await world();
      filled(made);
      const run = await made.run('claude', 'SCENARIO=skill', ['--policy', policy]);
      expect(run.answer, run.stderr).toMatchObject({ termination: 'completed', denials: 0, changes: { files: 0 } });
      expect(marks(made)).toEqual([...OF_CLAUDE, 'MARK-BODY'].sort());
      await expectInOrder(made);
    },
  );

  test('instructs the real claude the same way in a replay', async () => {
    const made = await world();
    filled(made);
    const flags = (mode: string): string[] => [...EDIT, '--model-mode', mode, '--recording', 'run.json'];
    await made.run('claude', 'SCENARIO=write', flags('record'));
    await made.api.close();
    const again = await made.run('claude', 'SCENARIO=write', flags('replay'), null);
    expect(again.answer, again.stderr).toMatchObject({ termination: 'completed', model_access: { mode: 'replay' } });
    await expectInOrder(made);
  });
});
