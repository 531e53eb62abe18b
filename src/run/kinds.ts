import type { Kinds } from '../evidence/recovery/kind.ts';

/** Every kind of run that has a journal, by name. To add one, write its folder and add a line here. */
export const KINDS = {
  script: async () => (await import('../evidence/script/script-recover.ts')).scriptKind,
  agent: async () => (await import('./agent/kind.ts')).agentKind,
  intent: async () => (await import('../evidence/intent/intent-recover.ts')).intentKind,
} satisfies Kinds;
