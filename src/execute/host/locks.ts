import { lstatSync, readlinkSync, renameSync, symlinkSync, unlinkSync } from 'node:fs';
import path from 'node:path';
import { systemClock } from '../../base/clock.ts';
import { codeOf, Fault, fullDisk } from '../../base/fault.ts';
import { newCorrelationId } from '../../base/ids.ts';
import { ownFolder } from '../../base/own-folder.ts';
import { bootId } from './machine.ts';
import { isDead, NAME, ownName } from './processes.ts';

export interface Lock {
  close(): void;
}

/** Returns undefined if another process holds the lock. */
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
 * Acquires the named lock in a writable folder. Returns undefined if another process holds it. A lock whose holder died
 * is free.
 *
 * A lock is a dangling symlink whose target names its holder. Creating it fails if it exists, so only one process
 * succeeds. Process names are never reused. To take over from a dead holder, a process first creates a second symlink
 * named after that holder, which again only one process can do. It then renames that symlink over the lock.
 */
export function takeLock(folder: string, name: string): Lock | undefined {
  const lock = path.join(folder, name);
  const me = newHolder();
  for (let round = 0; round < ROUNDS_MAX; round++) {
    const holder = holderAt(lock, lock);
    // Most locks are free or held by a live process. Only a dead holder has successors.
    if (holder && !isGone(holder)) return undefined;
    const line = holder ? lineOf(lock) : [];
    const last = line.at(-1);
    if (last && last.name !== holder?.name && !isGone(last)) return undefined;
    if (last ? succeed(lock, line, me) : link(me, lock)) return { close: () => release(lock, me) };
  }
  // Other processes won every round.
  return undefined;
}

const ROUNDS_MAX = 100;

/** A process that holds a lock or may take it over, and the symlink that names it. */
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

/** The holder of a lock, followed by its successors. All of them are dead, except possibly the last. */
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

/** The process named by a symlink; undefined if the symlink does not exist. */
function holderAt(lock: string, at: string): Holder | undefined {
  const name = textOf(at);
  if (name === undefined) return undefined;
  if (!HOLDER.test(name)) throw foreign(lock);
  return { name, link: at };
}

function foreign(lock: string): Fault {
  return new Fault(
    'foreign_lock',
    `Proctor did not create ${path.basename(lock)}. Remove it if no run is in progress.`,
  );
}

const HEIRS_MAX = 1_000;
const heirLink = (lock: string, holder: string): string => `${lock}.${holder}`;

/**
 * Takes over from the last process in the line of successors, which is dead. Returns false if another process was
 * faster.
 */
function succeed(lock: string, line: readonly Holder[], me: string): boolean {
  const right = heirLink(lock, line.at(-1)?.name ?? '');
  if (!link(me, right)) return false;
  try {
    // The successor symlink may have been used and removed in the meantime. Then another process holds the lock.
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
  // Another process may have taken over.
  if (textOf(lock) === me) remove(lock);
}

/**
 * Whether a holder is dead. For a holder on another machine, in another container or before the last boot, this is
 * unknown; Proctor treats it as dead after a minute, which is longer than any shared lock is held.
 */
function isGone({ name, link: at }: Holder): boolean {
  const [, process = '', boot] = HOLDER.exec(name) ?? [];
  if (boot === BOOT && isDead(process)) return true;
  if (boot === BOOT && process.split('.')[0] === ME.split('.')[0]) return false;
  const takenAtMs = lstatSync(at, { throwIfNoEntry: false })?.mtimeMs;
  return takenAtMs === undefined || Math.abs(systemClock.now() - takenAtMs) > UNSEEN_MS_MAX;
}

const UNSEEN_MS_MAX = 60_000;

function textOf(file: string): string | undefined {
  try {
    return readlinkSync(file);
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined;
    // Not a symlink.
    if (codeOf(error) === 'EINVAL') return '';
    throw error;
  }
}

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
    // Another process has removed it, or it stays until this process ends.
  }
}
