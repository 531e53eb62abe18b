import { parseInstant } from '../../base/clock.ts';
import { must, rulesFor, should } from '../rule.ts';
import type { Runner } from './shape.ts';

const rule = rulesFor<Runner>();

export const RN9 = rule({
  id: 'RN9',
  title: 'Timing Consistent',
  why: 'Times that contradict each other prove nothing.',
  asks: [
    'started_at and completed_at are instants in UTC, written with Z and at most milliseconds, on a day that exists',
    'completed_at is not before started_at',
    'duration_ms is their difference, give or take 1',
    'phases, if present, come in the order of their instants, and none lasts less than 0',
    'should: phases lie within the run',
  ],
  fields: ['timing'],
  parts: [
    {
      over: ['timing.started_at', 'timing.completed_at', 'timing.duration_ms'],
      *check({ timing: { started_at, completed_at, duration_ms } }) {
        const elapsed = instantMs(completed_at) - instantMs(started_at);
        if (elapsed < 0) yield must('timing.completed_at', 'lies before started_at');
        else if (Math.abs(duration_ms - elapsed) > 1) {
          yield must('timing.duration_ms', `must be ${elapsed}, give or take 1, is ${duration_ms}`);
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
          if (start < previous) yield must(path, 'lies before that of the phase above it');
          if (start < instantMs(started_at) || start + phase.duration_ms > instantMs(completed_at) + 1) {
            yield should(path, 'and its duration lie outside the run');
          }
          previous = start;
        }
      },
    },
  ],
  breach: ({ timing, ...rest }) => ({ ...rest, timing: { ...timing, duration_ms: timing.duration_ms + 2 } }),
});

/** Only called on instants whose shape was judged. */
function instantMs(text: string): number {
  return parseInstant(text) ?? Number.NaN;
}
