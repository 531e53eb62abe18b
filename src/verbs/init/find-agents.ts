import path from 'node:path';
import { isExecutable } from '../../execute/host/programs.ts';
import type { AgentName, Look } from './look.ts';

/** The agents on the PATH. Their programs are not started. */
export function findAgents({ environment }: Look): AgentName[] {
  const folders = (environment['PATH'] ?? '').split(path.delimiter).filter(folder => path.isAbsolute(folder));
  return AGENT_NAMES.filter(name => folders.some(folder => isExecutable(path.join(folder, name))));
}

export const AGENT_NAMES: readonly AgentName[] = ['claude', 'codex'];
