import { parseInstant } from '../../base/clock.ts';

/** Only called on instants whose shape was judged. */
export function liesBefore(instant: string, other: string): boolean {
  return (parseInstant(instant) ?? Number.NaN) < (parseInstant(other) ?? Number.NaN);
}
