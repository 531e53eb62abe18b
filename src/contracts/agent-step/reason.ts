import { type Finding, must } from '../rule.ts';
import { type Reason, REASONS } from './reading.ts';
import type { Termination } from './words.ts';

/** The possible reasons for each termination. `error` allows any reason but `ok`. */
const REASONS_OF: Readonly<Record<Exclude<Termination, 'error'>, readonly Reason[]>> = {
  completed: ['ok'],
  killed_timeout: ['wall_clock'],
  killed_idle: ['stalled'],
  killed_policy: ['denied_tool', 'prompt_detected', 'forbidden_path', 'forbidden_operation', 'protected_branch'],
};

export const REASON_ASKS = [
  `reason is one of ${REASONS.join(', ')}`,
  'reason is ok if and only if termination is completed',
  'reason is wall_clock for killed_timeout, and stalled for killed_idle',
  'reason is denied_tool, prompt_detected, forbidden_path, forbidden_operation or protected_branch for killed_policy',
] as const;

export function* reasonFindings(ended: {
  readonly termination: Termination;
  readonly reason?: Reason | undefined;
}): Generator<Finding> {
  const { termination, reason } = ended;
  if (reason === undefined) return;
  const fits = termination === 'error' ? reason !== 'ok' : REASONS_OF[termination].includes(reason);
  if (!fits) yield must('reason', `does not match the termination "${termination}"`);
}
