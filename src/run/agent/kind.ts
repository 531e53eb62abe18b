import { agentKindWith } from '../../evidence/agent/agent-recover.ts';

/** Runs of agents. Only a recovery that has to judge one loads the adapters. */
export const agentKind = agentKindWith(async left => (await import('./interrupted.ts')).judgeInterrupted(left));
