import type { AgentAdapter } from './agent.ts';
import { CLAUDE_NEWEST, CLAUDE_ROWS, invokeClaude, QUESTIONS } from './claude-invoke.ts';
import { claudeLogin } from './claude-login.ts';
import { ClaudeProtocol } from './claude-reader.ts';
import { claudeTurn } from './claude-turn.ts';
import { agentReader } from './stream.ts';
import { versionStanding } from './versions.ts';

/** Claude Code in print mode. */
export const claudeCli: AgentAdapter = {
  family: 'claude_cli',
  agent: 'claude',
  capabilities: {
    workspace_write: true,
    read_only: true,
    structured_event_stream: true,
    final_response_file: false,
    native_approval_controls: true,
    prompt_suppression: true,
    tool_allow_deny: true,
    // Its path rules cover only its file tools, not its shell.
    path_constraints: false,
    // It can disable its web tools, but not the network access of its shell.
    network_controls: false,
    turn_limit: 'agent',
    budget_limit: true,
  },
  api: {
    kind: 'anthropic',
    credentials: [
      { name: 'ANTHROPIC_API_KEY', as: 'key' },
      { name: 'ANTHROPIC_AUTH_TOKEN', as: 'bearer' },
      { name: 'CLAUDE_CODE_OAUTH_TOKEN', as: 'oauth' },
    ],
    urlVariable: 'ANTHROPIC_BASE_URL',
    defaultUrl: 'https://api.anthropic.com',
    keyHeader: 'x-api-key',
    login: claudeLogin,
  },
  context: {
    instructions: [['CLAUDE.md'], ['.claude/CLAUDE.md']],
    rules: ['.claude/rules'],
    skills: ['.claude/skills'],
    imports: true,
  },
  versionIn: text => /^(\d{1,6}\.\d{1,6}\.\d{1,6}[\w.+-]{0,40}) \(Claude Code\)/m.exec(text)?.[1],
  standing: version => versionStanding(CLAUDE_ROWS, CLAUDE_NEWEST, version),
  knownVersions: `2.1.190 to 2.1.209, and 2.1.300 to ${CLAUDE_NEWEST}`,
  newestTried: CLAUDE_NEWEST,
  install: 'npm install --global @anthropic-ai/claude-code@2.1',
  questionTools: QUESTIONS,
  sandboxProbe: undefined,
  invoke: invokeClaude,
  reader: options => agentReader(new ClaudeProtocol(), options),
  turnIn: claudeTurn,
};
