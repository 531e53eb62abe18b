import { existsSync, readdirSync, rmSync } from 'node:fs';
import path from 'node:path';
import { instantText } from '../../base/clock.ts';
import { Fault } from '../../base/fault.ts';
import { bytesHash } from '../../base/hash.ts';
import { readRegular } from '../../base/regular.ts';
import { check } from '../../contracts/check.ts';
import type { Contract } from '../../contracts/contract.ts';
import type { RecoveredNote } from '../../contracts/script-outcome/shape.ts';
import type { Document } from '../document.ts';
import type { Interrupted } from './kind.ts';
import { lastSeenMs } from '../run-folder/last-seen.ts';
import type { CaptureNote, StoredStreams, StreamNote } from '../step/capture-note.ts';
import { storedStream } from '../step/stored-stream.ts';

/** Files that exist only until the documents do. */
export const PARTS = {
  stdout: 'evidence/internal/stdout.part',
  stderr: 'evidence/internal/stderr.part',
  /** What follows the kept head of each stream, for viewers of a running program. */
  stdoutMore: 'evidence/internal/stdout.more',
  stderrMore: 'evidence/internal/stderr.more',
  /** How many requests an agent has sent to its model so far. */
  door: 'evidence/internal/door.part',
  /** The agent's changes, saved by the launcher after Proctor died: the facts, and the diff. */
  workspace: 'evidence/internal/workspace.part',
  diff: 'evidence/internal/diff.part',
} as const;

export const PASSING: readonly string[] = Object.values(PARTS);

export function oddJournal(cause?: unknown): Fault {
  return new Fault('odd_journal', 'The journal does not describe a run.', { cause });
}

/** Whether documents made from a journal satisfy their contracts. */
export function areSound(documents: readonly Document[], contracts: ReadonlyMap<string, Contract>): boolean {
  return documents.every(([file, bytes]) => {
    const contract = contracts.get(file);
    if (!contract) return true;
    return check(contract, JSON.parse(String(bytes)), { strict: false, internal: false }).violations.length === 0;
  });
}

/**
 * Removes what a dead process left half-written: temporary files, output that was being stored, and the runner record,
 * which recovery may be unable to write again.
 */
export function removeUnfinished(folder: string, stepFolder: string): void {
  rmSync(path.join(folder, 'evidence/runner.json'), { force: true });
  rmSync(path.join(folder, 'output.partial'), { recursive: true, force: true });
  for (const below of ['.', 'evidence', 'evidence/internal', stepFolder]) {
    const within = path.join(folder, below);
    const names = existsSync(within) ? readdirSync(within) : [];
    for (const name of names) if (name.endsWith('.tmp')) rmSync(path.join(within, name), { recursive: true });
  }
}

/** When a run was last seen alive. `growing` are files that grow while its program runs. */
export function seenAtMs(left: Interrupted, timeoutMs: number, growing: readonly string[]): number {
  const { folder, plan, started, captured, read, nowMs } = left;
  const stated = [started, captured, read].flatMap(line => line?.atMs ?? []);
  return lastSeenMs(folder, { startedAtMs: plan.startedAtMs, timeoutMs, files: growing, stated, nowMs });
}

/** The capture of a run that stores its streams as text in its step folder, and when the run was last seen alive. */
export function captureLeft(
  left: Interrupted,
  stepFolder: string,
  timeoutMs: number,
): { readonly capture: CaptureNote; readonly streams: StoredStreams; readonly completedAtMs: number } {
  const { folder } = left;
  const captured = left.captured?.capture;
  const completedAtMs = seenAtMs(left, timeoutMs, [PARTS.stdout, PARTS.stderr]);
  const stdout = streamLeft(folder, stepFolder, 'stdout', captured?.stdout);
  const stderr = streamLeft(folder, stepFolder, 'stderr', captured?.stderr);
  const notes = { stdout: stdout.note, stderr: stderr.note };
  return {
    capture: captured ? { ...captured, ...notes } : lostCapture(left, completedAtMs, notes),
    streams: { stdout: stdout.bytes, stderr: stderr.bytes },
    completedAtMs,
  };
}

/** The stored part of a stream: its document if there is one, else the part file that was written during the run. */
function streamLeft(
  folder: string,
  stepFolder: string,
  name: 'stdout' | 'stderr',
  captured: StreamNote | undefined,
): Stored {
  const bytesLeft = readRegular(path.join(folder, PARTS[name]), STREAM_BYTES_MAX);
  const left = bytesLeft && storedPart(bytesLeft, captured);
  const bytes = readRegular(path.join(folder, stepFolder, `${name}.txt`), STREAM_BYTES_MAX);
  if (!bytes) return left ?? storedPart(Buffer.alloc(0), captured);
  // An earlier, interrupted recovery made this document from the part file alone.
  if (left && bytes.equals(left.bytes)) return left;
  return captured ? { bytes, note: captured } : storedPart(bytes);
}

const STREAM_BYTES_MAX = 128 * 1024 * 1024;

type Stored = ReturnType<typeof storedStream>;

/** The head of a stream. Only a capture states how many bytes there were in total. */
function storedPart(part: Buffer, captured?: StreamNote): Stored {
  const { bytesTotal, sha256 } = captured ?? { bytesTotal: part.length, sha256: bytesHash(part) };
  const head = part.subarray(0, bytesTotal);
  const stored = storedStream({ head, tail: Buffer.alloc(0), bytesTotal, sha256, masked: 0 });
  if (!captured) return stored;
  const { masked, kinds } = captured;
  return { ...stored, note: { ...stored.note, masked, ...(kinds && { kinds }) } };
}

/** The capture of a program that died with Proctor. Proctor did not see how it ended. */
export function lostCapture(
  { plan, started }: Interrupted,
  completedAtMs: number,
  streams: Pick<CaptureNote, 'stdout' | 'stderr'>,
): CaptureNote {
  const startedAtMs = started?.atMs;
  const setupMs = Math.max(0, (startedAtMs ?? completedAtMs) - plan.startedAtMs);
  return {
    ending: { how: 'lost' },
    phases: [
      { name: 'setup', startedAtMs: plan.startedAtMs, durationMs: setupMs },
      ...(startedAtMs === undefined
        ? []
        : [{ name: 'execute', startedAtMs, durationMs: Math.max(0, completedAtMs - startedAtMs) } as const]),
    ],
    ...streams,
  };
}

/** Lists what is unknown about an interrupted run. If the program never started, nothing is unknown. */
export function recoveredNote(
  { nowMs, started, captured }: Interrupted,
  further: RecoveredNote['unknown'],
): RecoveredNote {
  const unseen: RecoveredNote['unknown'] = captured ? [] : ['ending', 'usage', 'streams'];
  return { at: instantText(nowMs), unknown: started ? [...unseen, ...further] : [] };
}
