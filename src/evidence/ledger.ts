import {
  appendFileSync,
  closeSync,
  constants,
  fdatasync,
  fstatSync,
  ftruncateSync,
  openSync,
  readSync,
  writeSync,
} from 'node:fs';
import path from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { promisify } from 'node:util';
import { syncFolder } from '../base/atomic.ts';
import { canonicalize } from '../base/canonical.ts';
import { instantText, monotonicMs, systemClock } from '../base/clock.ts';
import { codeOf, Fault } from '../base/fault.ts';
import { bytesHash, type ContentHash } from '../base/hash.ts';
import { chance } from '../base/ids.ts';
import { readJson } from '../base/json.ts';
import { linesOf } from '../base/lines.ts';
import { isMineOrRoots } from '../base/owner.ts';
import { OWN_FILE } from '../base/private.ts';
import { check } from '../contracts/check.ts';
import { type LedgerLine, ledgerLine, ledgerName } from '../contracts/ledger/index.ts';

export const LEDGER = 'ledger.ndjson';
const LOCK = 'ledger.lock';

/** What was left of lines that were never finished, and cut off. */
export const REPAIRS = 'ledger-repairs.ndjson';

/** A run that was sealed, as its line tells of it. */
export type Entry = Omit<LedgerLine, 'schema_version' | 'sequence' | 'previous_sha256'>;

/** Where runs are written down once they are sealed. */
export interface Ledger {
  /** Never fails: a run that is sealed stays so, and who can tell people of it is told. */
  enter(entry: Entry): Promise<void>;
}

/**
 * Takes the lock of a name in a folder, or returns undefined if another process holds it. It must be free when its holder
 * dies, however it dies.
 */
export type Hold = (folder: string, name: string) => Held | undefined | Promise<Held | undefined>;

interface Held {
  close(): unknown;
}

export interface Appended {
  /** The names of the runs that have a line now and had none. */
  readonly added: readonly string[];
  /** The last line had never been finished, and was cut off. */
  readonly isRepaired: boolean;
}

/**
 * Appends a line for each run that has none yet, so that they last. One process at a time writes; what it writes is whole
 * or cut off again, by itself or by whoever comes next. Only the end of the ledger is read, unless all of it is asked for:
 * a run that was just sealed stands nowhere else.
 */
export async function appendLines(
  home: string,
  entries: readonly Entry[],
  hold: Hold,
  search: 'its end' | 'all of it' = 'its end',
): Promise<Appended> {
  let lock: Held | undefined;
  let fd: number | undefined;
  try {
    lock = await alone(home, hold);
    fd = openLedger(home, entries.length > 0);
    if (fd === undefined) return { added: [], isRepaired: false };
    const end = endOf(fd);
    if (end.torn.length > 0) cut(home, fd, end);
    const known = search === 'its end' ? namesIn(end.tail) : namesFrom(fd, new Set(entries.flatMap(takenBy)));
    const added = entries.filter(entry => !takenBy(entry).some(name => known.has(name)));
    write(fd, end, added);
    // Others may go on: whoever syncs later syncs these lines, too.
    lock.close();
    lock = undefined;
    if (added.length > 0) await sync(fd);
    if (end.sequence === 0) syncFolder(home);
    return { added: added.map(ledgerName), isRepaired: end.torn.length > 0 };
  } catch (cause) {
    if (cause instanceof Fault) throw cause;
    throw new Fault('ledger_failed', 'The ledger could not be written.', { cause });
  } finally {
    lock?.close();
    if (fd !== undefined) closeSync(fd);
  }
}

const sync = promisify(fdatasync);

/** Waits until no other process writes. The lock lies beside the ledger, so only who can write there can take it. */
async function alone(home: string, hold: Hold): Promise<Held> {
  const untilMs = monotonicMs() + WAIT_MS;
  for (;;) {
    const lock = await hold(home, LOCK);
    if (lock) return lock;
    if (monotonicMs() > untilMs) throw new Fault('ledger_busy', 'Others were writing to the ledger for too long.');
    await wait(1 + 4 * chance());
  }
}

/** A line takes milliseconds, and who is stopped in the middle of one must not stop everybody for good. */
const WAIT_MS = 30_000;

function openLedger(home: string, mayMake: boolean): number | undefined {
  try {
    return openOwn(path.join(home, LEDGER), mayMake ? constants.O_RDWR | constants.O_CREAT : constants.O_RDWR);
  } catch (error) {
    if (codeOf(error) === 'ENOENT' && !mayMake) return undefined;
    throw error;
  }
}

/** Opens a file to append to it. A link is not followed, and a FIFO not waited for. */
function openOwn(file: string, flags: number): number {
  const fd = openSync(file, flags | constants.O_APPEND | constants.O_NOFOLLOW | constants.O_NONBLOCK, OWN_FILE);
  const stat = fstatSync(fd);
  if (stat.isFile() && isMineOrRoots(stat)) return fd;
  closeSync(fd);
  throw new Fault('foreign_ledger', 'The ledger is not a file of this user.');
}

/** How a ledger ends. */
interface End {
  /** Of the last whole line; 0 where there is none. */
  readonly sequence: number;
  /** Over the last whole line with its line feed. */
  readonly hash: ContentHash | null;
  /** How long it is up to the end of that line. */
  readonly bytes: number;
  /** The last lines. */
  readonly tail: Buffer;
  /** What stands after the last whole line. */
  readonly torn: Buffer;
}

function endOf(fd: number): End {
  const { size } = fstatSync(fd);
  const from = Math.max(0, size - TAIL_BYTES);
  const tail = Buffer.alloc(size - from);
  if (readSync(fd, tail, 0, tail.length, from) !== tail.length) throw broken();
  const feed = tail.lastIndexOf(LINE_FEED);
  const torn = tail.subarray(feed + 1);
  const start = feed < 1 ? 0 : tail.lastIndexOf(LINE_FEED, feed - 1) + 1;
  // No line of ours is so long that its beginning is not among these bytes.
  if (torn.length > ledgerLine.bytesMax || feed + 1 - start > ledgerLine.bytesMax) throw broken();
  if (feed < 0) return { sequence: 0, hash: null, bytes: 0, tail, torn };
  const last = tail.subarray(start, feed);
  return {
    sequence: sequenceOf(last),
    hash: bytesHash(tail.subarray(start, feed + 1)),
    bytes: size - torn.length,
    tail,
    torn,
  };
}

const TAIL_BYTES = 64 * 1024;
const LINE_FEED = 0x0a;

/** Nothing is chained to a line that is none. */
function sequenceOf(bytes: Buffer): number {
  const reading = readJson(bytes, { bytesMax: ledgerLine.bytesMax });
  if (!reading.ok) throw broken();
  const { violations } = check(ledgerLine, reading.value, { strict: false, internal: false });
  if (violations.length > 0) throw broken();
  return (reading.value as LedgerLine).sequence;
}

function broken(): Fault {
  return new Fault(
    'ledger_broken',
    `The ledger does not end in a line of a run, and is left as it is. proctor verify .proctor/${LEDGER} says more.`,
  );
}

/** Takes away what somebody who was killed had begun to write. What it was is noted first. */
function cut(home: string, fd: number, { sequence, bytes, torn }: End): void {
  const repairs = openOwn(path.join(home, REPAIRS), constants.O_WRONLY | constants.O_CREAT);
  try {
    if (fstatSync(repairs).size < REPAIRS_BYTES_MAX) {
      const at = instantText(systemClock.now());
      const note = { after_sequence: sequence, at, cut_base64: torn.toString('base64'), cut_bytes: torn.length };
      appendFileSync(repairs, `${canonicalize(note)}\n`, { flush: true });
    }
  } finally {
    closeSync(repairs);
  }
  ftruncateSync(fd, bytes);
}

const REPAIRS_BYTES_MAX = 1024 * 1024;

/** All lines or none of them. A disk that is almost full takes a part before it refuses the rest. */
function write(fd: number, end: End, entries: readonly Entry[]): void {
  let { sequence, hash } = end;
  const lines = entries.map(entry => {
    const line: LedgerLine = {
      schema_version: 'ledger-line.v1',
      sequence: ++sequence,
      previous_sha256: hash,
      ...entry,
    };
    const text = `${canonicalize(line)}\n`;
    hash = bytesHash(text);
    return text;
  });
  const bytes = Buffer.from(lines.join(''));
  try {
    for (let from = 0; from < bytes.length; ) from += writeSync(fd, bytes, from);
  } catch (error) {
    ftruncateSync(fd, end.bytes);
    throw error;
  }
}

/** Names that no other run may have. An older line does not say its side, and keeps its name on both. */
function takenBy(entry: Entry): string[] {
  return [ledgerName(entry), entry.run_id];
}

/** The names of runs that have a line among these. */
function namesIn(lines: Buffer): Set<string> {
  const found = lines.toString('latin1').matchAll(RUN);
  return new Set(Array.from(found, ([, id = '', version]) => (version === undefined ? id : `${version}/${id}`)));
}

/** Those of some names that have a line anywhere. Only these are held, however long the ledger is. */
function namesFrom(fd: number, wanted: ReadonlySet<string>): Set<string> {
  const names = new Set<string>();
  for (const { bytes } of linesOf(fd, ledgerLine.bytesMax, 0)) {
    for (const name of bytes ? namesIn(bytes) : []) if (wanted.has(name)) names.add(name);
  }
  return names;
}

/** As canonical JSON has it, in which version comes last; no text in a line can hold a quotation mark. */
const RUN = /"run_id":"([^"]*)"(?:[^\n]*,"version":"([a-z]+)"\}$)?/gm;
