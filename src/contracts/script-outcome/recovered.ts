import { firstRepeated } from '../lists.ts';
import { type Finding, must } from '../rule.ts';
import type { RecoveredNote } from './shape.ts';

/** The requirements for `recovered` in the outcomes of scripts, agents and intents. */
export const RECOVERED_ASKS: readonly string[] = [
  'recovered is present only if the run was interrupted and completed later; it has at (an instant) and unknown',
  'unknown lists what Proctor could not observe: ending, usage, streams, output, checks, requests or workspace',
  'unknown has no duplicates',
  'a count listed as unknown covers only the time until the interruption, and may be too low',
];

export function* recoveredFindings(recovered: RecoveredNote | undefined): Generator<Finding> {
  const repeated = firstRepeated(recovered?.unknown ?? []);
  if (repeated !== undefined) yield must(`recovered.unknown[${repeated}]`, 'is a duplicate');
}
