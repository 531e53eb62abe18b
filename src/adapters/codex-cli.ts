import type { AgentAdapter } from './agent.ts';
import { CODEX_NEWEST, CODEX_ROWS, invokeCodex } from './codex-invoke.ts';
import { codexLogin } from './codex-login.ts';
import { CodexProtocol } from './codex-reader.ts';
import { agentReader } from './stream.ts';
import { versionStanding } from './versions.ts';

/** Codex in exec mode. */
export const codexCli: AgentAdapter = {
  family: 'codex_cli',
  agent: 'codex',
  capabilities: {
    workspace_write: true,
    read_only: true,
    structured_event_stream: true,
    final_response_file: true,
    native_approval_controls: false,
    prompt_suppression: true,
    tool_allow_deny: false,
    path_constraints: false,
    network_controls: true,
    // Codex has no turn limit. Proctor counts turns and stops the agent.
    turn_limit: 'proctor',
    // Codex does not report its cost.
    budget_limit: false,
  },
  api: {
    kind: 'openai',
    credentials: [{ name: 'OPENAI_API_KEY', as: 'key' }],
    urlVariable: 'OPENAI_BASE_URL',
    defaultUrl: 'https://api.openai.com/v1',
    keyHeader: 'authorization',
    login: codexLogin,
  },
  context: {
    instructions: [['AGENTS.override.md', 'AGENTS.md']],
    rules: [],
    skills: ['.agents/skills', '.codex/skills'],
    imports: false,
  },
  versionIn: text => /^codex-cli (\d{1,6}\.\d{1,6}\.\d{1,6}[\w.+-]{0,40})\s*$/m.exec(text)?.[1],
  standing: version => versionStanding(CODEX_ROWS, CODEX_NEWEST, version),
  knownVersions: CODEX_NEWEST,
  newestTried: CODEX_NEWEST,
  install: 'npm install --global @openai/codex@0.166',
  // In exec mode this tool fails without a line in the stream.
  questionTools: ['request_user_input'],
  // The shell starts only if the sandbox starts.
  sandboxProbe: ['sandbox', '--', '/bin/sh', '-c', 'exit 0'],
  invoke: invokeCodex,
  reader: options => agentReader(new CodexProtocol(options), options),
};
