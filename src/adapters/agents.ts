import type { AgentAdapter } from './agent.ts';
import { claudeCli } from './claude-cli.ts';
import { codexCli } from './codex-cli.ts';

export const AGENTS: readonly AgentAdapter[] = [claudeCli, codexCli];

/** Finds an agent by its name or its family. */
export function agentNamed(word: string): AgentAdapter | undefined {
  return AGENTS.find(({ agent, family }) => word === agent || word === family);
}
