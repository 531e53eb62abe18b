import type { AgentAdapter } from './agent.ts';
import { claudeCli } from './claude-cli.ts';
import { codexCli } from './codex-cli.ts';

/** Every agent that can be run. */
export const AGENTS: readonly AgentAdapter[] = [claudeCli, codexCli];

/** An agent by what people call it, or by the word for its family. */
export function agentNamed(word: string): AgentAdapter | undefined {
  return AGENTS.find(({ agent, family }) => word === agent || word === family);
}
