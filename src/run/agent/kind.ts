import { agentKindWith } from '../../evidence/agent/agent-recover.ts';

/** Agent runs. Only recovery of a run that was not judged loads the adapters. */
export const agentKind = agentKindWith(async left => (await import('./interrupted.ts')).judgeInterrupted(left));
