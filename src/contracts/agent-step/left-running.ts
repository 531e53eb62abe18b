import * as z from 'zod/mini';
import { must, type Finding } from '../rule.ts';
import { count, filledText, record } from '../shape.ts';

const PROGRAMS_MAX = 20;

/** What an agent had started and not ended when it ended, or was ended. */
export const leftRunningShape = record({
  processes: count(),
  programs: z.array(filledText()).check(z.maxLength(PROGRAMS_MAX)),
});

/** What rules ask of it. */
export const LEFT_RUNNING_ASKS = [
  'left_running, if present, has processes, how many there were besides the agent, and programs, the names of the first 20',
  'programs repeats no name, and is empty exactly where processes is 0',
] as const;

export function* doubtLeftRunning({ processes, programs }: z.infer<typeof leftRunningShape>): Generator<Finding> {
  if (new Set(programs).size < programs.length) yield must('left_running.programs', 'must not repeat a name');
  if (programs.length > processes || (programs.length === 0 && processes > 0))
    yield must('left_running.programs', 'must have a name for what was running, and no more names than processes');
}
