import { existsSync, readdirSync, rmSync } from 'node:fs';
import path from 'node:path';
import { bytesHash } from '../base/hash.ts';
import { readRegular } from '../base/regular.ts';
import type { RecoveredNote } from '../contracts/script-outcome/shape.ts';
import type { CaptureNote, StreamNote } from './script-run.ts';
import { storedStream } from './stored-stream.ts';

/** Why a run is completed by somebody else than who began it. */
export interface Because {
  readonly reason: string;
  readonly message: string;
  readonly detail: string;
}

/** Files that are there only until the documents are. */
export const PARTS = {
  stdout: 'evidence/internal/stdout.part',
  stderr: 'evidence/internal/stderr.part',
  /** How often an agent has asked its model so far. */
  door: 'evidence/internal/door.part',
  /** What an agent changed, saved by the launcher after Proctor died: the facts, and the diff. */
  workspace: 'evidence/internal/workspace.part',
  diff: 'evidence/internal/diff.part',
} as const;

export const PASSING: readonly string[] = Object.values(PARTS);

/** The last line of a kind. */
export function lineOf<Line extends { readonly is: string }, Is extends Line['is']>(
  lines: readonly Line[],
  is: Is,
): Extract<Line, { is: Is }> | undefined {
  return lines.findLast((line): line is Extract<Line, { is: Is }> => line.is === is);
}

/**
 * Takes away what was being written when its writer died: half a document, files that were not yet all there, and a
 * record that a recovery may not be able to state again.
 */
export function removeUnfinished(folder: string, streams: string): void {
  rmSync(path.join(folder, 'evidence/runner.json'), { force: true });
  rmSync(path.join(folder, 'output.partial'), { recursive: true, force: true });
  for (const below of ['.', 'evidence', 'evidence/internal', streams]) {
    const within = path.join(folder, below);
    const names = existsSync(within) ? readdirSync(within) : [];
    for (const name of names) if (name.endsWith('.tmp')) rmSync(path.join(within, name), { recursive: true });
  }
}

/** A stream as far as it was stored: as a document already, else as the part that was kept while the program lived. */
export function streamLeft(
  folder: string,
  streams: string,
  name: 'stdout' | 'stderr',
  captured: StreamNote | undefined,
): Stored {
  const document = path.join(folder, streams, `${name}.txt`);
  const part = path.join(folder, 'evidence/internal', `${name}.part`);
  const bytesLeft = readRegular(part, STREAM_BYTES_MAX);
  const left = bytesLeft && storedPart(bytesLeft, captured);
  const bytes = readRegular(document, STREAM_BYTES_MAX);
  if (!bytes) return left ?? storedPart(Buffer.alloc(0), captured);
  // A recovery that was interrupted, too, made the document of no more than the part.
  if (left && bytes.equals(left.bytes)) return left;
  return captured ? { bytes, note: captured } : storedPart(bytes);
}

const STREAM_BYTES_MAX = 128 * 1024 * 1024;

type Stored = ReturnType<typeof storedStream>;

/** The head of a stream, of which only a capture knows how much more there was. */
function storedPart(part: Buffer, captured?: StreamNote): Stored {
  const { bytesTotal, sha256 } = captured ?? { bytesTotal: part.length, sha256: bytesHash(part) };
  const head = part.subarray(0, bytesTotal);
  const stored = storedStream({ head, tail: Buffer.alloc(0), bytesTotal, sha256, masked: 0 });
  if (!captured) return stored;
  const { masked, kinds } = captured;
  return { ...stored, note: { ...stored.note, masked, ...(kinds && { kinds }) } };
}

/** What is known of a program that died with Proctor: it was seen until then, and its end was not. */
export function lostCapture(
  plannedAtMs: number,
  startedAtMs: number | undefined,
  stdout: StreamNote,
  stderr: StreamNote,
  seenMs: number,
): CaptureNote {
  return {
    ending: { how: 'lost' },
    phases: [
      {
        name: 'setup',
        startedAtMs: plannedAtMs,
        durationMs: Math.max(0, (startedAtMs ?? seenMs) - plannedAtMs),
      },
      ...(startedAtMs === undefined
        ? []
        : [{ name: 'execute', startedAtMs, durationMs: Math.max(0, seenMs - startedAtMs) } as const]),
    ],
    stdout,
    stderr,
  };
}

/** What Proctor did not see of a run that it can no longer ask. Nothing is unknown of a program that never started. */
export function unknownOf(
  isStarted: boolean,
  isCaptured: boolean,
  further: readonly RecoveredNote['unknown'][number][],
): RecoveredNote['unknown'] {
  if (!isStarted) return [];
  return [...(isCaptured ? [] : (['ending', 'usage', 'streams'] as const)), ...further];
}
