import { parseInstant } from '../../base/clock.ts';
import { must, rulesFor, should } from '../rule.ts';
import type { Runner } from './shape.ts';

const rule = rulesFor<Runner>();

export const RN9 = rule({
  id: 'RN9',
  title: 'Timing Consistent',
  why: 'Contradictory times prove nothing.',
  asks: [
    'started_at and completed_at are valid instants in UTC, with Z and at most millisecond precision',
    'completed_at is not before started_at',
    'duration_ms is their difference, ± 1',
    'phases, if present, are in the order of started_at, and each duration_ms is at least 0',
    'should: phases are within the run',
  ],
  fields: ['timing'],
  parts: [
    {
      over: ['timing.started_at', 'timing.completed_at', 'timing.duration_ms'],
      *check({ timing: { started_at, completed_at, duration_ms } }) {
        const elapsed = instantMs(completed_at) - instantMs(started_at);
        if (elapsed < 0) yield must('timing.completed_at', 'is before started_at');
        else if (Math.abs(duration_ms - elapsed) > 1) {
          yield must('timing.duration_ms', `must be ${elapsed} ± 1, but is ${duration_ms}`);
        }
      },
    },
    {
      over: ['timing.started_at', 'timing.completed_at', 'timing.phases'],
      *check({ timing: { started_at, completed_at, phases = [] } }) {
        let previous = Number.NEGATIVE_INFINITY;
        for (const [index, phase] of phases.entries()) {
          const start = instantMs(phase.started_at);
          const path = `timing.phases[${index}].started_at`;
          if (start < previous) yield must(path, 'is before that of the previous phase');
          if (start < instantMs(started_at) || start + phase.duration_ms > instantMs(completed_at) + 1) {
            yield should(path, 'puts part of the phase outside the run');
          }
          previous = start;
        }
      },
    },
  ],
  breach: ({ timing, ...rest }) => ({ ...rest, timing: { ...timing, duration_ms: timing.duration_ms + 2 } }),
});

/** The shape has been checked, so the text is valid. */
function instantMs(text: string): number {
  return parseInstant(text) ?? Number.NaN;
}
