import { firstRepeated } from '../lists.ts';
import { type Finding, must } from '../rule.ts';
import type { RecoveredNote } from './shape.ts';

/** What the outcomes of scripts, agents and intents ask of `recovered`, in words. */
export const RECOVERED_ASKS: readonly string[] = [
  'recovered is there only where the run was interrupted and completed later; it has at, an instant, and unknown',
  'unknown lists what Proctor did not see: ending, usage, streams, output, checks, requests or workspace, each at most once',
  'a count of something unknown holds what was seen until the interruption, and may be too low',
];

export function* doubtRecovered(recovered: RecoveredNote | undefined): Generator<Finding> {
  const repeated = firstRepeated(recovered?.unknown ?? []);
  if (repeated !== undefined) yield must(`recovered.unknown[${repeated}]`, 'stands here twice');
}
