import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  lchownSync,
  lstatSync,
  closeSync,
  constants,
  copyFileSync,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readSync,
  rmSync,
  writeSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Fault } from '../../base/fault.ts';
import type { ContentHash } from '../../base/hash.ts';
import { isMine } from '../../base/owner.ts';
import { findInPackage } from '../../base/package-file.ts';
import { isDead, NAME, ownName } from './processes.ts';

/**
 * Creates a job's private folder: `work/` for its files, `roots/` for files that it may change, `opt/` for Proctor's
 * helpers. It is not in the run folder, which a sandbox cannot always reach.
 */
export function makeStage(id: string): string {
  const stage = stagePath(id);
  let isMade = false;
  try {
    mkdirSync(stage, { mode: 0o700 });
    isMade = true;
    for (const folder of ['work', 'work/input', 'work/output', 'roots', 'opt']) mkdirSync(path.join(stage, folder));
  } catch (cause) {
    if (isMade) removeStage(stage);
    throw new Fault('stage_failed', 'The folder for temporary files is not writable.', { cause });
  }
  return stage;
}

const STAGE_PREFIX = 'proctor-stage-';

/** A temporary folder named after this process, so that a later cleanup knows whether its owner is dead. */
export function stagePath(word: string): string {
  return path.join(path.resolve(tmpdir()), `${STAGE_PREFIX}${ownName()}-${word}`);
}

/** Whether this is the name of a stage whose owner is dead. */
export function isAbandoned(name: string): boolean {
  const [, owner] = STAGE.exec(name) ?? [];
  return owner !== undefined && isDead(owner);
}

const STAGE = new RegExp(`^${STAGE_PREFIX}(${NAME.source})-`);

/** The range that systemd reserves for dynamic users. If Proctor runs as root, every run gets a uid from it. */
export const RUN_UIDS = { first: 61_184, count: 4_336 } as const;

/** Whether this is a real folder that belongs to the current user or, for root, to a run. */
export function isStageOfOurs(stage: string): boolean {
  const stat = lstatSync(stage, { throwIfNoEntry: false });
  return stat?.isDirectory() === true && (isMine(stat) || (process.geteuid?.() === 0 && isUidOfRun(stat.uid)));
}

function isUidOfRun(uid: number): boolean {
  return uid >= RUN_UIDS.first && uid < RUN_UIDS.first + RUN_UIDS.count;
}

export function giveStage(stage: string, uid: number): void {
  const pending = [Buffer.from(stage)];
  for (let place = pending.pop(); place !== undefined; place = pending.pop()) {
    lchownSync(place, uid, uid);
    if (!lstatSync(place).isDirectory()) continue;
    // File names in an agent's tree need not be valid text.
    for (const name of readdirSync(place, 'buffer')) pending.push(Buffer.concat([place, SLASH, name]));
  }
}

const SLASH = Buffer.from('/');

/** Removes a stage. Ignores every path that is not named like a stage. */
export function removeStage(stage: string): void {
  if (!path.basename(stage).startsWith(STAGE_PREFIX)) return;
  if (lstatSync(stage, { throwIfNoEntry: false }) === undefined) return;
  if (!isStageOfOurs(stage)) throw new Fault('stage_left', "The run's temporary files belong to another user.");
  try {
    rmSync(stage, { recursive: true, force: true, maxRetries: 3 });
  } catch {
    // An unsandboxed program may remove permissions, or nest folders beyond the maximum path length.
    const options = { timeout: REMOVE_MS, stdio: 'ignore' } as const;
    spawnSync('/bin/chmod', ['-R', 'u+rwX', '--', stage], options);
    spawnSync('/bin/rm', ['-rf', '--', stage], options);
    if (existsSync(stage)) throw new Fault('stage_left', "The run's temporary files could not be removed.");
  }
}

const REMOVE_MS = 10_000;

export interface StagedFile {
  readonly name: string;
  readonly sha256: ContentHash;
  readonly bytes: number;
}

/**
 * Copies a file into a stage and hashes the copy, which the program reads. Counts bytes while copying, because a file
 * may be longer than its size or never end.
 */
export function stageFile(source: string, stage: string, place: string, mode: number, bytesMax: number): StagedFile {
  let fd: number | undefined;
  try {
    fd = openSync(source, constants.O_RDONLY | constants.O_NONBLOCK);
    const hash = createHash('sha256');
    const copy = openSync(path.join(stage, place), 'wx', mode);
    let bytes = 0;
    try {
      const chunk = Buffer.allocUnsafe(CHUNK_BYTES);
      for (let length = readSync(fd, chunk); length > 0; length = readSync(fd, chunk)) {
        bytes += length;
        if (bytes > bytesMax)
          throw new Fault('usage', `${path.basename(place)} is too large, alone or together with earlier inputs.`);
        hash.update(chunk.subarray(0, length));
        writeSync(copy, chunk, 0, length);
      }
    } finally {
      closeSync(copy);
    }
    return { name: path.basename(place), sha256: `sha256:${hash.digest('hex')}`, bytes };
  } catch (cause) {
    if (cause instanceof Fault) throw cause;
    throw new Fault('stage_failed', `${path.basename(place)} could not be copied for the run.`, { cause });
  } finally {
    if (fd !== undefined) closeSync(fd);
  }
}

const CHUNK_BYTES = 256 * 1024;

/** Copies the helpers that a script can import to write its result. */
export function stageTools(stage: string): void {
  const folder = path.dirname(findInPackage(['helpers/proctor_tool.py']));
  for (const name of readdirSync(folder)) {
    if (/\.(?:py|mjs)$/.test(name)) copyFileSync(path.join(folder, name), path.join(stage, 'opt', name));
  }
}
