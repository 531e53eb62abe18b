import { setTimeout as wait } from 'node:timers/promises';
import type { Asset } from '../../evidence/suite/suite-store.ts';
import type { Served, ServedLog } from '../../execute/served/served.ts';
import type { AttemptResult, CaseQuestion, Target } from './target.ts';

/** A target that Proctor started itself. Its output is evidence, and it ends with the run. */
export function servedTarget(target: Target, served: Served, log: () => ServedLog | undefined): Target {
  return {
    async ask(question: CaseQuestion): Promise<AttemptResult> {
      const result = await target.ask(question);
      return isLost(result) && (await hasEnded(served)) ? { ...result, outcome: endedOutcome(result) } : result;
    },
    cancel: () => target.cancel(),
    async evidence(): Promise<readonly Asset[]> {
      await served.stop();
      const written = log();
      return written ? [{ href: 'assets/target.log', kind: 'other', caseId: null, bytes: written.bytes }] : [];
    },
    async close(): Promise<void> {
      try {
        await target.close();
      } finally {
        await served.stop();
      }
    },
  };
}

function isLost({ outcome }: AttemptResult): boolean {
  return !outcome.ok && outcome.class === 'network_error';
}

/** A connection may break some milliseconds before the process is known to have ended. */
async function hasEnded(served: Served): Promise<boolean> {
  if (served.hasEnded()) return true;
  await Promise.race([served.exited, wait(GRACE_MS)]);
  return served.hasEnded();
}

const GRACE_MS = 200;

function endedOutcome({ outcome }: AttemptResult): AttemptResult['outcome'] {
  if (outcome.ok) return outcome;
  return {
    ...outcome,
    message: 'The agent that Proctor started has ended.',
    errorName: 'AGENT_ENDED',
    mayRetry: false,
  };
}
