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
import { syncFolder } from '../../base/atomic.ts';
import { canonicalize } from '../../base/canonical.ts';
import { instantText, monotonicMs, systemClock } from '../../base/clock.ts';
import { codeOf, Fault } from '../../base/fault.ts';
import { bytesHash, type ContentHash } from '../../base/hash.ts';
import { random } from '../../base/ids.ts';
import { linesOf } from '../../base/lines.ts';
import { isMineOrRoots } from '../../base/owner.ts';
import { OWN_FILE } from '../../base/private.ts';
import { type LedgerLine, ledgerLine, ledgerName } from '../../contracts/ledger/index.ts';
import { soundDocument } from '../document.ts';

export const LEDGER = 'ledger.ndjson';
const LOCK = 'ledger.lock';

/** Incomplete lines that were cut off the ledger. */
export const REPAIRS = 'ledger-repairs.ndjson';

export type LedgerEntry = Omit<LedgerLine, 'schema_version' | 'sequence' | 'previous_sha256'>;

/** Records sealed runs. */
export interface Ledger {
  /** Never rejects, because the run is already sealed. Implementations report failures to the user. */
  enter(entry: LedgerEntry): Promise<void>;
}

/**
 * Takes a named lock in a folder; undefined if another process holds it. The lock must become free when its holder
 * dies.
 */
export type Hold = (folder: string, name: string) => Held | undefined | Promise<Held | undefined>;

interface Held {
  close(): unknown;
}

export interface Appended {
  /** The names of the runs that were added. */
  readonly added: readonly string[];
  /** The last line was incomplete and was cut off. */
  readonly isRepaired: boolean;
}

/**
 * Appends a durable line for each run that has none. One process writes at a time. A partial line is cut off by its
 * writer, or by the next one. By default, it searches only the end of the ledger for existing lines: the line of a run
 * that was just sealed cannot be anywhere else.
 */
export async function appendLines(
  home: string,
  entries: readonly LedgerEntry[],
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
    // Release the lock early: a later sync by another process covers these lines too.
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

/**
 * Waits until no other process writes. The lock is next to the ledger, so only users who can write there can take it.
 */
async function alone(home: string, hold: Hold): Promise<Held> {
  const untilMs = monotonicMs() + WAIT_MS;
  for (;;) {
    const lock = await hold(home, LOCK);
    if (lock) return lock;
    if (monotonicMs() > untilMs)
      throw new Fault('ledger_busy', 'Other processes kept the ledger locked for more than 30 seconds.');
    await wait(1 + 4 * random());
  }
}

/** Writing a line takes milliseconds. The limit keeps one stopped process from blocking all others. */
const WAIT_MS = 30_000;

function openLedger(home: string, mayMake: boolean): number | undefined {
  try {
    return openOwn(path.join(home, LEDGER), mayMake ? constants.O_RDWR | constants.O_CREAT : constants.O_RDWR);
  } catch (error) {
    if (codeOf(error) === 'ENOENT' && !mayMake) return undefined;
    throw error;
  }
}

/** Opens a file for appending. Neither follows a link nor waits for a FIFO. */
function openOwn(file: string, flags: number): number {
  const fd = openSync(file, flags | constants.O_APPEND | constants.O_NOFOLLOW | constants.O_NONBLOCK, OWN_FILE);
  const stat = fstatSync(fd);
  if (stat.isFile() && isMineOrRoots(stat)) return fd;
  closeSync(fd);
  throw new Fault('foreign_ledger', 'The ledger is not a regular file that you own.');
}

interface End {
  /** The sequence number of the last complete line; 0 if there is none. */
  readonly sequence: number;
  /** The hash of the last complete line, including its line feed. */
  readonly hash: ContentHash | null;
  /** The size of the ledger up to the end of that line. */
  readonly bytes: number;
  /** The last 64 KiB. */
  readonly tail: Buffer;
  /** The bytes after the last complete line. */
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
  // Proctor never writes a longer line.
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

/** Refuses to chain a line to something that is not a ledger line. */
function sequenceOf(bytes: Buffer): number {
  const line = soundDocument(bytes, ledgerLine) as LedgerLine | undefined;
  if (!line) throw broken();
  return line.sequence;
}

function broken(): Fault {
  return new Fault(
    'ledger_broken',
    `The last line of the ledger is not valid, so Proctor does not append to it. Run \`proctor verify .proctor/${LEDGER}\`.`,
  );
}

/** Cuts off an incomplete line that a killed process left, and records it first. */
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

/** Writes all lines or none. A disk that is almost full accepts part of them before it fails. */
function write(fd: number, end: End, entries: readonly LedgerEntry[]): void {
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

/** The names that this run occupies. Older lines do not state a side, so they occupy their run id on both sides. */
function takenBy(entry: LedgerEntry): string[] {
  return [ledgerName(entry), entry.run_id];
}

function namesIn(lines: Buffer): Set<string> {
  const found = lines.toString('latin1').matchAll(RUN);
  return new Set(Array.from(found, ([, id = '', version]) => (version === undefined ? id : `${version}/${id}`)));
}

/** Searches the whole ledger for some names. Memory use depends on `wanted`, not on the size of the ledger. */
function namesFrom(fd: number, wanted: ReadonlySet<string>): Set<string> {
  const names = new Set<string>();
  for (const { bytes } of linesOf(fd, ledgerLine.bytesMax, 0)) {
    for (const name of bytes ? namesIn(bytes) : []) if (wanted.has(name)) names.add(name);
  }
  return names;
}

/** In canonical JSON, version comes last. No value in a line can contain a quotation mark. */
const RUN = /"run_id":"([^"]*)"(?:[^\n]*,"version":"([a-z]+)"\}$)?/gm;
