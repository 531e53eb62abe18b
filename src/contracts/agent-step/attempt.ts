import { between, matching, record } from '../shape.ts';
import { type Finding, must } from '../rule.ts';

export const ATTEMPTS_MIN = 2;
export const ATTEMPTS_MAX = 20;

/** Which of several attempts at one task a run is. The runs of a group share its id. */
export const attemptShape = record({
  group: matching(/^attempts_\d{8}_\d{6}_[0-9a-f]{12}$/, 'the id of a group of attempts'),
  number: between(1, ATTEMPTS_MAX),
  of: between(ATTEMPTS_MIN, ATTEMPTS_MAX),
});

export interface TaskAttempt {
  readonly group: string;
  readonly number: number;
  readonly of: number;
}

export const ATTEMPT_ASKS = [
  'attempt, if present, has group, number and of',
  'attempt.group is attempts_ followed by a date, a time and 12 hexadecimal digits',
  `attempt.of is from ${ATTEMPTS_MIN} to ${ATTEMPTS_MAX}, and attempt.number is from 1 to attempt.of`,
] as const;

export function* attemptFindings(attempt: TaskAttempt | undefined): Generator<Finding> {
  if (attempt && attempt.number > attempt.of) yield must('attempt.number', 'is greater than attempt.of');
}
