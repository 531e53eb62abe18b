import { lstatSync, readlinkSync, renameSync, symlinkSync, unlinkSync } from 'node:fs';
import path from 'node:path';
import { systemClock } from '../base/clock.ts';
import { codeOf, Fault, fullDisk } from '../base/fault.ts';
import { newCorrelationId } from '../base/ids.ts';
import { ownFolder } from '../base/own-folder.ts';
import { bootId } from './machine.ts';
import { isDead, NAME, ownName } from './processes.ts';

/** What only one process has at a time. */
export interface Lock {
  close(): void;
}

/** Takes a lock of this user on this machine, or returns undefined if another process holds it. */
export function takeOwnLock(name: string): Lock | undefined {
  const folder = ownFolder('locks');
  try {
    return takeLock(folder, name);
  } catch (cause) {
    if (cause instanceof Fault) throw cause;
    throw new Fault('lock_failed', `Proctor cannot write to its state folder${fullDisk(cause)}.`, { cause });
  }
}

/**
 * Takes the lock of that name in a folder, or returns undefined if another process holds it. Whoever cannot write to the
 * folder cannot take its locks. A lock whose holder died is free.
 *
 * A lock is a symbolic link whose text names its holder; it leads nowhere. Making a link fails if there is one, so one
 * process gets it. The name of a dead holder never comes back, so the right to succeed it is a link, too, by that name:
 * of several that find it dead, one makes that link, and its renaming gives the lock a new holder at once.
 */
export function takeLock(folder: string, name: string): Lock | undefined {
  const lock = path.join(folder, name);
  const me = newHolder();
  for (let round = 0; round < ROUNDS_MAX; round++) {
    const holder = holderAt(lock, lock);
    // Most often it is free, or its holder lives. Only the dead have heirs.
    if (holder && !isGone(holder)) return undefined;
    const line = holder ? lineOf(lock) : [];
    const last = line.at(-1);
    if (last && last.name !== holder?.name && !isGone(last)) return undefined;
    if (last ? succeed(lock, line, me) : link(me, lock)) return { close: () => release(lock, me) };
  }
  // Others were faster each time.
  return undefined;
}

const ROUNDS_MAX = 100;

/** One who holds a lock or has the right to it, and the link that says so. */
interface Holder {
  readonly name: string;
  readonly link: string;
}

function newHolder(): string {
  return `${ME}.${BOOT}.${newCorrelationId()}`;
}

const ME = ownName();
const BOOT = bootId().slice(0, 8);
const HOLDER = new RegExp(String.raw`^(${NAME.source})\.(\w{1,8})\.[0-9a-f]{16}$`);

/** The holder of a lock, then the heirs: each died before it could make the lock its own, but perhaps for the last. */
function lineOf(lock: string): Holder[] {
  const line: Holder[] = [];
  for (let at = lock; line.length < HEIRS_MAX; ) {
    const holder = holderAt(lock, at);
    if (!holder) return line;
    line.push(holder);
    at = heirLink(lock, holder.name);
  }
  throw foreign(lock);
}

/** Who has a link; undefined if there is none. */
function holderAt(lock: string, at: string): Holder | undefined {
  const name = textOf(at);
  if (name === undefined) return undefined;
  if (!HOLDER.test(name)) throw foreign(lock);
  return { name, link: at };
}

function foreign(lock: string): Fault {
  return new Fault('foreign_lock', `Proctor did not make ${path.basename(lock)}. Remove it, if no run is under way.`);
}

const HEIRS_MAX = 1_000;
const heirLink = (lock: string, holder: string): string => `${lock}.${holder}`;

/** Becomes the holder after the last of a line, who is dead. False if another was faster. */
function succeed(lock: string, line: readonly Holder[], me: string): boolean {
  const right = heirLink(lock, line.at(-1)?.name ?? '');
  if (!link(me, right)) return false;
  try {
    // The right that we found free may be one that was used and removed. Then the lock has moved on, and not to us.
    if (lineOf(lock).at(-1)?.name === me) {
      renameSync(right, lock);
      for (const { link: used } of line.slice(1)) remove(used);
      return true;
    }
  } catch (error) {
    remove(right);
    throw error;
  }
  remove(right);
  return false;
}

function release(lock: string, me: string): void {
  // Not that of another, who thought us gone.
  if (textOf(lock) === me) remove(lock);
}

/**
 * Whether a holder is dead. Of one on another machine, before the last start of this one, or in another container nobody
 * can tell; it counts as dead after a time in which everything that needs a lock shared so far is done.
 */
function isGone({ name, link: at }: Holder): boolean {
  const [, process = '', boot] = HOLDER.exec(name) ?? [];
  if (boot === BOOT && isDead(process)) return true;
  if (boot === BOOT && process.split('.')[0] === ME.split('.')[0]) return false;
  const takenAtMs = lstatSync(at, { throwIfNoEntry: false })?.mtimeMs;
  return takenAtMs === undefined || Math.abs(systemClock.now() - takenAtMs) > UNSEEN_MS_MAX;
}

const UNSEEN_MS_MAX = 60_000;

/** The text of a link; undefined if there is none. */
function textOf(file: string): string | undefined {
  try {
    return readlinkSync(file);
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined;
    // Something that is no link.
    if (codeOf(error) === 'EINVAL') return '';
    throw error;
  }
}

/** Makes a link; false if there is one already. */
function link(text: string, file: string): boolean {
  try {
    symlinkSync(text, file);
    return true;
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return false;
    throw error;
  }
}

function remove(file: string): void {
  try {
    unlinkSync(file);
  } catch {
    // Another has removed it, or it stays until this process ends.
  }
}
