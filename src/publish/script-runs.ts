import { closeSync, lstatSync, readdirSync, rmSync } from 'node:fs';
import path from 'node:path';
import * as z from 'zod/mini';
import { syncFolder } from '../base/atomic.ts';
import { systemClock } from '../base/clock.ts';
import { Fault, fullDisk, orWriteFault } from '../base/fault.ts';
import { makeFolders } from '../base/private.ts';
import { formOf } from '../contracts/form.ts';
import { type PublishedRequest, publishedRequestShape } from '../contracts/published-request/index.ts';
import { publishedVersion } from '../contracts/published-script/shape.ts';
import { codeWord, contentHashText, instant, record } from '../contracts/shape.ts';
import { chainedLines, JournalChain } from '../evidence/run-folder/chain.ts';
import { Journal, JOURNAL, openJournal, parsedLine } from '../evidence/run-folder/journal.ts';
import { makeServerFolder, scriptRunsFolder } from './server-folder.ts';

/** A person as the server knows them. Evidence never contains it. */
const person = () => z.string().check(z.minLength(1), z.maxLength(200));

const orderedLine = record({
  is: z.literal('ordered'),
  at: instant(),
  by: person(),
  published: publishedVersion,
  title: z.string(),
  /** Its author tries a draft. */
  is_trial: z.boolean(),
  /** The key with which a client repeats its order, and the hash of the whole order. */
  repeat: z.optional(record({ key: z.string(), digest: contentHashText() })),
});

/** Why the scan withholds a file, in a word that its user may see. */
export const withheldBecause = z.enum(['rejected', 'not_checked']);

const lineShape = z.union([
  orderedLine,
  record({
    is: z.literal('refused'),
    at: instant(),
    code: codeWord(),
    message: z.string(),
    /** For those who may see all runs. */
    why: z.optional(z.string()),
  }),
  /** From here on, only a worker may run the script. */
  record({ is: z.literal('sent'), at: instant(), request: publishedRequestShape }),
  /** Its user stops a run that was sent. */
  record({ is: z.literal('stopping'), at: instant() }),
  /** The run of a worker was verified, and is complete here. */
  record({
    is: z.literal('taken'),
    at: instant(),
    worker: z.string(),
    /** The key that it signed with. */
    key_id: contentHashText(),
  }),
  record({
    is: z.literal('scanned'),
    at: instant(),
    files: z.array(
      record({
        path: z.string(),
        sha256: contentHashText(),
        verdict: z.enum(['offered', 'withheld']),
        /** For admins; null if the file is offered. */
        why: z.nullable(z.string()),
        /** Whether the scan rejected the file, or could not check it. Older records of withheld files do not say. */
        withheld_because: z.optional(withheldBecause),
      }),
    ),
  }),
  record({ is: z.literal('expired'), at: instant(), what: z.enum(['outputs', 'logs']) }),
]);

export type OrderedRunLine = z.infer<typeof orderedLine>;
export type ScriptRunLine = z.infer<typeof lineShape>;
export type ScannedLine = Extract<ScriptRunLine, { is: 'scanned' }>;

/** What the server knows about a run of a published script. */
export interface ScriptRunRecord {
  readonly runId: string;
  readonly ordered: OrderedRunLine;
  readonly refused: Extract<ScriptRunLine, { is: 'refused' }> | undefined;
  /** The run that workers may make. */
  readonly sent: PublishedRequest | undefined;
  readonly isStopping: boolean;
  readonly taken: Extract<ScriptRunLine, { is: 'taken' }> | undefined;
  readonly scanned: ScannedLine | undefined;
  readonly expired: { readonly outputs: string | undefined; readonly logs: string | undefined };
}

/**
 * Begins the record of a run in a new folder. `store` fills its folder `input` before the line `ordered` is written, so
 * a folder without that line is no order.
 */
export function beginRecord(
  home: string,
  runId: string,
  ordered: OrderedRunLine,
  store: (input: string) => void,
): void {
  const root = scriptRunsFolder(home);
  makeServerFolder(home, root);
  const folder = recordFolder(home, runId);
  if (orWriteFault('order_failed', 'The order', () => makeFolders(folder)) === undefined)
    throw new Fault('run_exists', 'A run with this id exists.');
  try {
    makeFolders(path.join(folder, 'input'));
    store(path.join(folder, 'input'));
    const journal = Journal.open<ScriptRunLine>(folder);
    try {
      journal.append(ordered);
      journal.sync();
    } finally {
      journal.close();
    }
    syncFolder(folder);
    syncFolder(root);
  } catch (cause) {
    rmSync(folder, { recursive: true, force: true });
    if (cause instanceof Fault) throw cause;
    throw new Fault('order_failed', `The order could not be stored${fullDisk(cause)}.`, { cause });
  }
}

/** Removes orders that a process left half stored when it died. Their clients got no answer. */
export function dropUnordered(home: string, runId: string): void {
  const folder = recordFolder(home, runId);
  const journal = lstatSync(path.join(folder, JOURNAL), { throwIfNoEntry: false });
  const isEmpty = !journal || (journal.isFile() && journal.size === 0);
  // A terminal may be storing one now.
  const isOld = systemClock.now() - lstatSync(folder).mtimeMs > STORING_MS_MAX;
  if (isEmpty && isOld) rmSync(folder, { recursive: true, force: true });
}

const STORING_MS_MAX = 60_000;

/** Adds a line to the record of a run. */
export function noteRun(home: string, runId: string, line: ScriptRunLine): void {
  const folder = recordFolder(home, runId);
  const chain = JournalChain.read(folder);
  const { bytes } = provenLines(folder, chain);
  if (!chain || bytes === 0) throw noRun();
  const journal = Journal.reopen<ScriptRunLine>(folder, bytes, chain);
  try {
    journal.append(line);
    journal.sync();
  } finally {
    journal.close();
  }
}

/** The record of a run; undefined if there is none that this user's Proctor wrote here. */
export function readRecord(home: string, runId: string): ScriptRunRecord | undefined {
  if (!SCRIPT_RUN.test(runId)) return undefined;
  const folder = recordFolder(home, runId);
  let lines: readonly ScriptRunLine[];
  try {
    ({ lines } = provenLines(folder, JournalChain.read(folder)));
  } catch {
    return undefined;
  }
  const [ordered] = lines;
  if (ordered?.is !== 'ordered') return undefined;
  const expiredAt = (what: 'outputs' | 'logs') => lines.find(line => line.is === 'expired' && line.what === what)?.at;
  return {
    runId,
    ordered,
    refused: lines.find(line => line.is === 'refused'),
    sent: lines.find(line => line.is === 'sent')?.request,
    isStopping: lines.some(line => line.is === 'stopping'),
    taken: lines.find(line => line.is === 'taken'),
    scanned: lines.findLast(line => line.is === 'scanned'),
    expired: { outputs: expiredAt('outputs'), logs: expiredAt('logs') },
  };
}

/** Whether there is a record of a run, readable or not. */
export function isRecorded(home: string, runId: string): boolean {
  return SCRIPT_RUN.test(runId) && lstatSync(recordFolder(home, runId), { throwIfNoEntry: false }) !== undefined;
}

/** The ids of all recorded runs, newest first. */
export function recordedRuns(home: string): string[] {
  try {
    const names = readdirSync(scriptRunsFolder(home)).filter(name => SCRIPT_RUN.test(name));
    return names.sort().reverse();
  } catch {
    return [];
  }
}

/** The folder with the inputs of a run that has not ended. */
export function stagedFolder(home: string, runId: string): string {
  return path.join(recordFolder(home, runId), 'input');
}

/** Where the run of a worker lies until the server has accepted it. */
export function takingFolder(home: string, runId: string): string {
  return path.join(recordFolder(home, runId), 'taking');
}

/** Removes the inputs of a run that has ended, and what is left of a run that was taken over. */
export function dropStaged(home: string, runId: string): void {
  rmSync(stagedFolder(home, runId), { recursive: true, force: true });
  rmSync(takingFolder(home, runId), { recursive: true, force: true });
}

export function noRun(): Fault {
  return new Fault('no_run', 'There is no such run.');
}

const SCRIPT_RUN = /^script_\d{8}_\d{6}_[0-9a-f]{12}$/;
const LINE_BYTES_MAX = 16 * 1024 ** 2;

function recordFolder(home: string, runId: string): string {
  return path.join(scriptRunsFolder(home), runId);
}

function provenLines(folder: string, chain: JournalChain | undefined) {
  const fd = openJournal(folder);
  try {
    const lines: ScriptRunLine[] = [];
    let bytes = 0;
    for (const { text, isOurs, end } of chainedLines(fd, chain, LINE_BYTES_MAX)) {
      const value = parsedLine(text);
      if (!isOurs || !formOf(lineShape).fits(value)) break;
      lines.push(value as ScriptRunLine);
      bytes = end;
    }
    return { lines, bytes };
  } finally {
    closeSync(fd);
  }
}
