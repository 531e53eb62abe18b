import { instantText } from '../../base/clock.ts';
import { addedKinds } from '../../base/masker.ts';
import type { Runner } from '../../contracts/runner/shape.ts';
import type { MaskingNote } from '../../contracts/script-outcome/masking.ts';
import type { ScriptOutcome } from '../../contracts/script-outcome/shape.ts';
import type { CaptureNote, StreamNote } from './capture-note.ts';
import { exitOf } from './endings.ts';

/** Builds the runner record, or says why there is none: record 1.0.0 cannot leave the exit unknown. */
export function recordOf(planned: Omit<Runner, 'timing' | 'exit'>, ...rest: RunFacts): Runner | string {
  const [{ ending }] = rest;
  return ending.how === 'lost' ? EXIT_UNKNOWN : runnerOf(planned, ...rest);
}

const EXIT_UNKNOWN =
  'Proctor was interrupted and did not see how the program ended. A runner record must state an exit.';

type RunFacts = [capture: CaptureNote, further: readonly string[], startedAtMs: number, completedAtMs: number];

function runnerOf(
  planned: Omit<Runner, 'timing' | 'exit'>,
  ...[capture, further, startedAtMs, completedAtMs]: RunFacts
): Runner {
  const warnings = [...(planned.warnings ?? []), ...further].sort();
  const end = capture.phases.at(-1);
  const torn = end ? end.startedAtMs + end.durationMs : startedAtMs;
  const phases = [
    ...capture.phases,
    { name: 'teardown', startedAtMs: torn, durationMs: Math.max(0, completedAtMs - torn) },
  ];
  return {
    ...planned,
    timing: {
      started_at: instantText(startedAtMs),
      completed_at: instantText(completedAtMs),
      duration_ms: completedAtMs - startedAtMs,
      phases: phases.map(({ name, startedAtMs, durationMs }) => ({
        name,
        started_at: instantText(startedAtMs),
        duration_ms: durationMs,
      })),
    },
    exit: exitOf(capture.ending),
    ...(warnings.length > 0 && { warnings }),
  };
}

export function streamOf(
  name: 'stdout' | 'stderr',
  { bytesTotal, sha256, bytesKept, masked }: StreamNote,
): ScriptOutcome['streams'][number] {
  return { name, bytes_total: bytesTotal, sha256, bytes_kept: bytesKept, truncated: bytesKept < bytesTotal, masked };
}

/** Adds the kinds of secrets masked in the streams. */
export function recordedMasking(note: MaskingNote | undefined, capture: CaptureNote): { masking?: MaskingNote } {
  if (!note) return {};
  return { masking: { ...note, kinds: addedKinds(note.kinds, capture.stdout.kinds, capture.stderr.kinds) } };
}
