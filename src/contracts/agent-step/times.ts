import { parseInstant } from '../../base/clock.ts';
import { must, type Rule } from '../rule.ts';
import { AG } from './invariants.ts';
import { STEP_ASKS } from './words.ts';

/** Compares two valid instants. */
export function isBefore(instant: string, other: string): boolean {
  return (parseInstant(instant) ?? Number.NaN) < (parseInstant(other) ?? Number.NaN);
}

/** AG12 for a document with started_at and ended_at. */
export const startAndEnd: Rule = {
  ...AG.AG12,
  asks: ['started_at and ended_at are instants', ...STEP_ASKS.instant, 'ended_at is not before started_at'],
  fields: ['started_at', 'ended_at'],
  *check({ started_at, ended_at }: { readonly started_at: string; readonly ended_at: string }) {
    if (isBefore(ended_at, started_at)) yield must('ended_at', 'is before started_at');
  },
  breach: (example: object) => ({ ...example, ended_at: '2000-01-01T00:00:00.000Z' }),
};
