import * as z from 'zod/mini';
import { must, type Finding } from '../rule.ts';
import { count, filledText, record } from '../shape.ts';

const PROGRAMS_MAX = 20;

/** Processes that were still running when the agent ended or was stopped. */
export const leftRunningShape = record({
  processes: count(),
  programs: z.array(filledText()).check(z.maxLength(PROGRAMS_MAX)),
});

export const LEFT_RUNNING_ASKS = [
  'left_running, if present, has processes (how many besides the agent) and programs (the names of the first 20)',
  'programs has no duplicates, and is empty if and only if processes is 0',
] as const;

export function* leftRunningFindings({ processes, programs }: z.infer<typeof leftRunningShape>): Generator<Finding> {
  if (new Set(programs).size < programs.length) yield must('left_running.programs', 'must not have duplicates');
  if (programs.length > processes || (programs.length === 0 && processes > 0))
    yield must(
      'left_running.programs',
      'must name at least one program if any was running, and at most one per process',
    );
}
