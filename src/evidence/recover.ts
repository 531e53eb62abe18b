import { existsSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import path from 'node:path';
import { Fault } from '../base/fault.ts';
import { bytesHash } from '../base/hash.ts';
import { documentsOf } from './documents.ts';
import { isTime } from './endings.ts';
import { finish, SEAL } from './finish.ts';
import { JOURNAL, readJournal } from './journal.ts';
import type { CaptureNote, ScriptLine, ScriptPlan, ScriptReading, StreamNote } from './script-run.ts';
import { storedStream } from './stored-stream.ts';

/** A run whose journal is still there. */
export interface OpenRun {
  readonly plan: ScriptPlan | undefined;
  /** What its launcher may have left on the machine. */
  readonly leftovers: unknown;
  readonly isSealed: boolean;
}

export function hasJournal(folder: string): boolean {
  return existsSync(path.join(folder, JOURNAL));
}

export function openRun(folder: string): OpenRun {
  const lines = readJournal<ScriptLine>(folder);
  return {
    plan: lineOf(lines, 'planned')?.plan,
    leftovers: lineOf(lines, 'opened')?.leftovers,
    isSealed: existsSync(path.join(folder, SEAL)),
  };
}

/**
 * Turns what is left of an interrupted run into a folder that is valid and says what happened. Returns what it became;
 * `removed` if the run had not even begun to be written down, so that nothing had run.
 */
export async function recoverRun(
  folder: string,
  nowMs: number,
  because = INTERRUPTED,
): Promise<'sealed' | 'recovered' | 'removed'> {
  // A folder with a seal is whole, whatever became of its journal.
  if (existsSync(path.join(folder, SEAL))) {
    rmSync(path.join(folder, JOURNAL), { force: true });
    return 'sealed';
  }
  if (!hasJournal(folder)) throw new Fault('no_journal', 'This is not the folder of a run that was interrupted.');
  const lines = readJournal<ScriptLine>(folder);
  const plan = lineOf(lines, 'planned')?.plan;
  if (!plan) {
    rmSync(folder, { recursive: true, force: true });
    return 'removed';
  }
  await complete(folder, lines, plan, nowMs, because);
  rmSync(path.join(folder, JOURNAL), { force: true });
  return 'recovered';
}

interface Because {
  readonly reason: string;
  readonly message: string;
  readonly detail: string;
}

const INTERRUPTED: Because = {
  reason: 'interrupted',
  message: 'The run was interrupted, which was not its own doing.',
  detail: 'Proctor ended before the run did; the folder was completed from its journal.',
};

async function complete(
  folder: string,
  lines: readonly ScriptLine[],
  plan: ScriptPlan,
  nowMs: number,
  because: Because,
): Promise<void> {
  const captured = lineOf(lines, 'captured');
  const read = lineOf(lines, 'read');
  const stdout = streamLeft(folder, 'stdout', captured?.capture.stdout);
  const stderr = streamLeft(folder, 'stderr', captured?.capture.stderr);
  const capture = captured
    ? { ...captured.capture, stdout: stdout.note, stderr: stderr.note }
    : lostCapture(lines, plan, stdout.note, stderr.note, nowMs);
  removeUnfinished(folder);
  // What was stored without having been judged to the end is not shown.
  if (!read) rmSync(path.join(folder, 'output'), { recursive: true, force: true });
  const reading = read?.reading ?? unread(capture, plan, because);
  const completedAtMs = Math.max(read?.atMs ?? captured?.atMs ?? nowMs, plan.startedAtMs);
  const streams = { stdout: stdout.bytes, stderr: stderr.bytes };
  await finish(folder, {
    runId: plan.request.run_id,
    kind: 'script',
    documents: documentsOf({ plan, capture, reading, completedAtMs }, streams),
    stored: [],
    passing: PASSING,
    sealedAtMs: nowMs,
  });
}

/** Files that are there only until the documents are. */
export const PASSING: readonly string[] = ['evidence/internal/stdout.part', 'evidence/internal/stderr.part'];

function lineOf<Is extends ScriptLine['is']>(
  lines: readonly ScriptLine[],
  is: Is,
): Extract<ScriptLine, { is: Is }> | undefined {
  return lines.findLast((line): line is Extract<ScriptLine, { is: Is }> => line.is === is);
}

/** What was being written when we died: half a document, or files of the script that were not yet all there. */
function removeUnfinished(folder: string): void {
  rmSync(path.join(folder, 'output.partial'), { recursive: true, force: true });
  for (const below of ['.', 'evidence', 'evidence/internal', STREAMS]) {
    const within = path.join(folder, below);
    const names = existsSync(within) ? readdirSync(within) : [];
    for (const name of names) if (name.endsWith('.tmp')) rmSync(path.join(within, name), { recursive: true });
  }
}

const STREAMS = 'evidence/steps/script';

/** A stream as far as it was stored: as a document already, else as the part that was kept while the program lived. */
function streamLeft(folder: string, name: 'stdout' | 'stderr', captured?: StreamNote): Stored {
  const document = path.join(folder, STREAMS, `${name}.txt`);
  const part = path.join(folder, 'evidence/internal', `${name}.part`);
  const left = existsSync(part) ? storedPart(readFileSync(part), captured) : undefined;
  if (!existsSync(document)) return left ?? storedPart(Buffer.alloc(0), captured);
  const bytes = readFileSync(document);
  // A recovery that was interrupted, too, made the document of no more than the part.
  if (left && bytes.equals(left.bytes)) return left;
  return captured ? { bytes, note: captured } : storedPart(bytes);
}

type Stored = ReturnType<typeof storedStream>;

/** The head of a stream, of which only a capture knows how much more there was. */
function storedPart(part: Buffer, captured?: StreamNote): Stored {
  const { bytesTotal, sha256 } = captured ?? { bytesTotal: part.length, sha256: bytesHash(part) };
  const head = part.subarray(0, bytesTotal);
  const stored = storedStream({ head, tail: Buffer.alloc(0), bytesTotal, sha256, masked: 0 });
  return captured ? { ...stored, note: { ...stored.note, masked: captured.masked } } : stored;
}

function lostCapture(
  lines: readonly ScriptLine[],
  plan: ScriptPlan,
  stdout: StreamNote,
  stderr: StreamNote,
  nowMs: number,
): CaptureNote {
  const startedAtMs = lineOf(lines, 'started')?.atMs;
  return {
    ending: { how: 'lost' },
    phases: [
      {
        name: 'setup',
        startedAtMs: plan.startedAtMs,
        durationMs: Math.max(0, (startedAtMs ?? nowMs) - plan.startedAtMs),
      },
      ...(startedAtMs === undefined
        ? []
        : [{ name: 'execute', startedAtMs, durationMs: Math.max(0, nowMs - startedAtMs) } as const]),
    ],
    stdout,
    stderr,
  };
}

/** A run whose files are gone. What its clocks had already decided stays decided. */
function unread({ ending }: CaptureNote, plan: ScriptPlan, because: Because): ScriptReading {
  const isOver = isTime(ending);
  return {
    status: isOver ? 'timed_out' : 'failed',
    claimedStatus: null,
    reason: because.reason,
    publicMessage: because.message,
    timeoutSource: isOver ? 'proctor' : null,
    salvaged: false,
    htmlOutput: '',
    errorSummary: `${because.message} Reference: ${plan.correlationId}.`,
    result: null,
    files: [],
    artifacts: { files: 0, bytes: 0, declared_missing: [], undeclared: 0, size_mismatches: 0 },
    cuts: [],
    replaced: [],
    warnings: [],
    remarks: [{ level: 'error', code: because.reason, detail: because.detail }],
  };
}
