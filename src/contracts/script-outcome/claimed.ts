import type { ScriptOutcome } from './shape.ts';

/** What the script said about its own run, after "the script". The reason shows whether Proctor looked for a result. */
export function claimedText({ claimed_status, reason }: Pick<ScriptOutcome, 'claimed_status' | 'reason'>): string {
  if (claimed_status !== null) return `reported: ${claimed_status}`;
  return LOOKED_AT.test(reason ?? '')
    ? 'wrote no valid result'
    : 'may have written a result, but Proctor did not read it';
}

/** Reasons given after Proctor looked for a result. The others are faults in Proctor or the machine. */
const LOOKED_AT =
  /^(?:result|schema|version|artifact)_|_timeout$|^(?:policy|cancelled|oom_killed|killed_by_signal|not_started)$/;
