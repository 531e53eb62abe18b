import { existsSync, lstatSync, readdirSync, rmdirSync, rmSync, type Stats } from 'node:fs';
import path from 'node:path';
import { Fault } from '../base/fault.ts';
import { completeAgent, type JudgeAgent } from './agent-recover.ts';
import { type Document, documentsOf } from './documents.ts';
import { isTime } from './endings.ts';
import { fileHash } from '../base/file-hash.ts';
import { instantText } from '../base/clock.ts';
import { lastSeenMs } from './last-seen.ts';
import { finish, SEAL, type Sealing } from './finish.ts';
import { completeIntent } from './intent-recover.ts';
import { JOURNAL, readJournal } from './journal.ts';
import { type Because, lineOf, lostCapture, PARTS, PASSING, removeUnfinished, streamLeft, unknownOf } from './left.ts';
import type { Ledger } from './ledger.ts';
import { oddFolder, refuseForeign, refuseOdd } from './own-file.ts';
import { RUN_ID } from './runs.ts';
import { sealedEntry } from './sealed-entry.ts';
import { storedFiles } from './sealed-files.ts';
import { areSound, CONTRACTS, isScriptLine } from './script-line.ts';
import type { CaptureNote, ScriptLine, ScriptPlan, ScriptReading } from './script-run.ts';

/** A run whose journal is still there. */
export interface OpenRun {
  readonly plan: ScriptPlan | undefined;
  readonly isSealed: boolean;
  /** This user's Proctor began it on this machine; see `Chain`. */
  readonly isOurs: boolean;
}

/** Whether something lies where a run that is open has its journal. */
export function hasJournal(folder: string): boolean {
  return entryAt(path.join(folder, JOURNAL)) !== undefined;
}

export function openRun(folder: string): OpenRun {
  const { lines, isOurs } = readJournal<unknown>(folder);
  return { plan: lineOf(lines.filter(isScriptLine), 'planned')?.plan, isSealed: isSealed(folder), isOurs };
}

/** Whether everything was written: the seal comes last. */
export function isSealed(folder: string): boolean {
  return entryAt(path.join(folder, SEAL))?.isFile() === true;
}

/** Takes away the journal of a run that is sealed. Whoever left it may have died before the run stood in the ledger. */
export async function removeJournal(folder: string, ledger?: Ledger): Promise<void> {
  const entry = ledger && sealedEntry(folder);
  if (entry) await ledger.enter(entry);
  // The launcher may have saved a work tree in the moment in which the run was sealed.
  for (const file of [...PASSING, JOURNAL]) rmSync(path.join(folder, file), { force: true });
}

/** What lies at a path, which may lead through what is no folder at all. */
function entryAt(file: string): Stats | undefined {
  try {
    return lstatSync(file);
  } catch {
    return undefined;
  }
}

/**
 * The lines of the journal that say what they should; the others are as good as not written. A checkout may hold any
 * journal, so one that is not ours is no reason to seal. The process that made the folder needs no proof.
 */
function linesIn(folder: string, whose: 'made by us' | 'found'): ScriptLine[] {
  const { lines, isOurs } = readJournal<unknown>(folder);
  if (isOurs) return lines.filter(isScriptLine);
  if (whose === 'made by us') return [];
  throw new Fault('not_started_here', 'It was interrupted, and not started here.');
}

/**
 * Turns what is left of an interrupted run into a folder that is valid and says what happened. Returns what it became;
 * `removed` if the run had not even begun to be written down, so that nothing had run. What cannot be a run of ours is
 * left as it is.
 */
export async function recoverRun(
  folder: string,
  nowMs: number,
  sealing: Sealing = { signer: undefined },
  because = INTERRUPTED,
  whose: 'made by us' | 'found' = 'found',
  judgeAgent?: JudgeAgent,
): Promise<'sealed' | 'recovered' | 'removed'> {
  try {
    if (!hasJournal(folder)) {
      if (isSealed(folder)) return 'sealed';
      throw new Fault('no_journal', 'This is not the folder of a run that was interrupted.');
    }
    const lines = linesIn(folder, whose);
    // A folder with a seal is whole, whatever became of its journal.
    if (isSealed(folder)) {
      await removeJournal(folder, sealing.ledger);
      return 'sealed';
    }
    refuseOdd(folder);
    refuseForeign(folder);
    const plan = lineOf(lines, 'planned')?.plan;
    if (!plan) {
      removeEmpty(folder);
      return 'removed';
    }
    const kind = kindOf(plan);
    if (kind === 'intent') {
      if (!(await completeIntent(folder, lines, nowMs, because, sealing))) return 'removed';
    } else if (kind === 'agent') {
      if (!judgeAgent) throw new Error('Only a caller that can judge an agent may complete its run.');
      await completeAgent(folder, lines, nowMs, because, sealing, judgeAgent);
    } else await complete(folder, lines, plan, nowMs, because, sealing);
    rmSync(path.join(folder, JOURNAL), { force: true });
    return 'recovered';
  } catch (cause) {
    if (cause instanceof Fault) throw cause;
    throw new Fault('recovery_failed', 'The folder of the run could not be completed.', { cause });
  }
}

/** Takes away the folder of a run that had not begun: its journal and empty folders, and nothing that holds more. */
function removeEmpty(folder: string): void {
  const names = readdirSync(folder, { recursive: true, encoding: 'utf8' });
  const isUnbegun = RUN_ID.test(path.basename(folder)) && names.every(name => EMPTY_RUN.has(name));
  if (!isUnbegun) throw oddFolder();
  rmSync(path.join(folder, JOURNAL));
  for (const below of ['evidence/internal', 'evidence', '.']) {
    const within = path.join(folder, below);
    if (existsSync(within)) rmdirSync(within);
  }
}

const EMPTY_RUN: ReadonlySet<string> = new Set([JOURNAL, 'evidence', 'evidence/internal']);

/**
 * Removes the folder of a run whose process died before it wrote the first line of its journal. No line can prove who began
 * it, and none is needed: the folder is this user's and holds not a single byte. Returns whether it did.
 */
export function removeUnwritten(folder: string): boolean {
  const journal = entryAt(path.join(folder, JOURNAL));
  if (journal && (!journal.isFile() || journal.size > 0)) return false;
  try {
    refuseOdd(folder);
    refuseForeign(folder);
    if (journal) removeEmpty(folder);
    else if (RUN_ID.test(path.basename(folder))) rmdirSync(folder);
    else return false;
    return true;
  } catch {
    // It holds something, or it is gone.
    return false;
  }
}
const INTERRUPTED: Because = {
  reason: 'interrupted',
  message: 'The run was interrupted, which was not its own doing.',
  detail: 'Proctor ended before the run did; the folder was completed from its journal.',
};

/** Journals of intents and agents begin as those of scripts do. */
function kindOf({ request }: ScriptPlan): string {
  return (request as { kind: string }).kind;
}

async function complete(
  folder: string,
  lines: readonly ScriptLine[],
  plan: ScriptPlan,
  nowMs: number,
  because: Because,
  sealing: Sealing,
): Promise<void> {
  const { documents, isJudged } = soundly(() => made(folder, lines, plan, nowMs, because));
  removeUnfinished(folder, STREAMS);
  // What was stored without having been judged to the end is not shown.
  if (!isJudged) rmSync(path.join(folder, 'output'), { recursive: true, force: true });
  await finish(folder, {
    runId: plan.request.run_id,
    kind: 'script',
    documents,
    stored: storedFiles([]),
    passing: PASSING,
    sealedAtMs: nowMs,
    ...sealing,
  });
}

/** The documents that the journal and the streams lead to. Touches nothing. */
function made(
  folder: string,
  lines: readonly ScriptLine[],
  plan: ScriptPlan,
  nowMs: number,
  because: Because,
): { readonly documents: Document[]; readonly isJudged: boolean } {
  const started = lineOf(lines, 'started');
  const captured = lineOf(lines, 'captured');
  const read = lineOf(lines, 'read');
  const completedAtMs = lastSeenMs(folder, {
    startedAtMs: plan.startedAtMs,
    timeoutMs: plan.runner.limits.timeout_ms,
    files: [PARTS.stdout, PARTS.stderr],
    stated: [started?.atMs, captured?.atMs, read?.atMs],
    nowMs,
  });
  const stdout = streamLeft(folder, STREAMS, 'stdout', captured?.capture.stdout);
  const stderr = streamLeft(folder, STREAMS, 'stderr', captured?.capture.stderr);
  const capture = captured
    ? { ...captured.capture, stdout: stdout.note, stderr: stderr.note }
    : lostCapture(plan.startedAtMs, started?.atMs, stdout.note, stderr.note, completedAtMs);
  const judged = read && isThere(folder, read.reading.files) ? read.reading : undefined;
  const reading = judged ? notSucceeded(judged, plan, because) : unread(capture, plan, because);
  const unknown = unknownOf(started !== undefined, captured !== undefined, judged ? [] : ['output']);
  const recovered = { at: instantText(nowMs), unknown };
  const streams = { stdout: stdout.bytes, stderr: stderr.bytes };
  const documents = documentsOf({ plan, capture, reading, completedAtMs, recovered }, streams);
  return { documents, isJudged: judged !== undefined };
}

/** Nothing is touched for a journal of which no evidence can be made: a run of ours has not written it. */
function soundly<Made extends { readonly documents: Document[] }>(make: () => Made): Made {
  try {
    const made = make();
    if (areSound(made.documents, CONTRACTS)) return made;
  } catch (cause) {
    throw new Fault('odd_journal', ODD_JOURNAL, { cause });
  }
  throw new Fault('odd_journal', ODD_JOURNAL);
}

const STREAMS = 'evidence/steps/script';

const ODD_JOURNAL = 'The journal of the run does not say what that of a run does.';

/** Whether `output/` holds the files that were judged; a power cut can take what was not on the disk yet. */
function isThere(folder: string, files: ScriptReading['files']): boolean {
  const output = path.join(folder, 'output');
  const names = existsSync(output) ? readdirSync(output, { recursive: true, withFileTypes: true }) : [];
  const isWhole = ({ path: file, sha256 }: ScriptReading['files'][number]): boolean =>
    fileHash(path.join(folder, file)) === sha256;
  return names.filter(entry => entry.isFile()).length === files.length && files.every(isWhole);
}

/** A journal is no seal: what was judged good before the interruption is interrupted, and its files are salvaged. */
function notSucceeded(judged: ScriptReading, plan: ScriptPlan, because: Because): ScriptReading {
  const { reason, message, detail } = because;
  const remarks = [...judged.remarks, { level: 'error', code: reason, detail } as const];
  if (judged.status !== 'succeeded') return { ...judged, remarks };
  return {
    ...judged,
    status: 'failed',
    reason,
    publicMessage: message,
    errorSummary: `${message} Reference: ${plan.correlationId}.`,
    salvaged: judged.files.length > 0,
    remarks,
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
