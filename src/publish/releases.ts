import { closeSync, constants, fdatasyncSync, fstatSync, ftruncateSync, openSync, writeSync } from 'node:fs';
import path from 'node:path';
import * as z from 'zod/mini';
import { syncFolder } from '../base/atomic.ts';
import { Fault, fullDisk } from '../base/fault.ts';
import { isMineAlone } from '../base/owner.ts';
import { OWN_FILE } from '../base/private.ts';
import { makeStateKey } from '../base/state-key.ts';
import { formOf } from '../contracts/form.ts';
import { contentHashText, instant, record, semver } from '../contracts/shape.ts';
import { chainedLines, JournalChain, SEPARATOR } from '../evidence/run-folder/chain.ts';
import { makeServerFolder, scriptsFolder } from './server-folder.ts';

/** A line in the journal of a script: a version changed its state. */
export type ReleaseLine = z.infer<typeof lineShape>;

const lineShape = record({
  is: z.enum(['drafted', 'published', 'withdrawn', 'rolled_back']),
  version: semver(),
  digest: contentHashText(),
  /** The person, as the server knows them. */
  by: z.string().check(z.minLength(1), z.maxLength(200)),
  at: instant(),
});

type ReleaseState = 'draft' | 'published' | 'withdrawn';

interface Release {
  readonly version: string;
  readonly digest: string;
  readonly state: ReleaseState;
  /** Who stored the version. */
  readonly author: string;
  /** When its state last changed. */
  readonly at: string;
}

/** The releases of a script, oldest first. */
export interface Releases {
  readonly releases: readonly Release[];
  /** The version that end users run; null if there is none. */
  readonly current: string | null;
  /** The version that was current before, and can be again; null if there is none. */
  readonly previous: string | null;
}

/** What the lines of a journal amount to. */
export function releasesOf(lines: readonly ReleaseLine[]): Releases {
  const releases = new Map<string, Release>();
  let order: string[] = [];
  for (const { is, version, digest, by, at } of lines) {
    const { author = by } = releases.get(version) ?? {};
    const state = is === 'drafted' ? 'draft' : is === 'withdrawn' ? 'withdrawn' : 'published';
    releases.set(version, { version, digest, state, author, at });
    if (is === 'published') order = [...order.filter(one => one !== version), version];
    // Rolling back drops the newer versions from the order, so that a second step goes further back.
    if (is === 'rolled_back') order = order.slice(0, order.indexOf(version) + 1);
  }
  const isOffered = (version: string | undefined): boolean =>
    version !== undefined && releases.get(version)?.state === 'published';
  const newest = order.at(-1);
  const current = isOffered(newest) ? (newest as string) : null;
  const previous = order.slice(0, -1).findLast(isOffered) ?? null;
  return { releases: [...releases.values()], current, previous };
}

/** The journal of a script. Empty if there is none. Throws if this user's Proctor did not write it. */
export function readReleases(home: string, name: string): ReleaseLine[] {
  const fd = openLines(home, name, constants.O_RDONLY);
  if (fd === undefined) return [];
  try {
    return provenLines(fd, name, JournalChain.labelled(labelOf(name), false)).lines;
  } finally {
    closeSync(fd);
  }
}

/** Appends a line. The caller holds the lock of the script. */
export function appendRelease(home: string, name: string, line: ReleaseLine): void {
  const folder = path.join(scriptsFolder(home), name);
  makeServerFolder(home, folder);
  const key = makeStateKey();
  if (key.trouble !== undefined)
    throw new Fault(
      'state_folder',
      `The script cannot be published: ${key.trouble}, so no later server would trust it.`,
    );
  try {
    writeLine(home, name, line);
    syncFolder(folder);
  } catch (cause) {
    if (cause instanceof Fault) throw cause;
    throw new Fault('publish_failed', `The journal of the script could not be written${fullDisk(cause)}.`, { cause });
  }
}

function writeLine(home: string, name: string, line: ReleaseLine): void {
  const fd = openLines(home, name, constants.O_RDWR | constants.O_CREAT) as number;
  try {
    const chain = JournalChain.labelled(labelOf(name), true) as JournalChain;
    const { bytes } = provenLines(fd, name, chain);
    // A crash can leave part of a line.
    ftruncateSync(fd, bytes);
    const text = JSON.stringify(line);
    const written = Buffer.from(`${text}${SEPARATOR}${chain.next(text)}\n`);
    for (let at = 0; at < written.length; ) at += writeSync(fd, written, at, null, bytes + at);
    fdatasyncSync(fd);
  } finally {
    closeSync(fd);
  }
}

const LINES_FILE = 'journal.ndjson';
const LINE_BYTES_MAX = 4_096;
const LINES_BYTES_MAX = 16 * 1024 ** 2;

function labelOf(name: string): string {
  return `published-script ${name}`;
}

function openLines(home: string, name: string, flags: number): number | undefined {
  let fd: number;
  try {
    const file = path.join(scriptsFolder(home), name, LINES_FILE);
    fd = openSync(file, flags | constants.O_NOFOLLOW | constants.O_NONBLOCK, OWN_FILE);
  } catch (cause) {
    if ((flags & constants.O_CREAT) === 0) return undefined;
    throw cause;
  }
  const stat = fstatSync(fd);
  if (stat.isFile() && isMineAlone(stat) && stat.size <= LINES_BYTES_MAX) return fd;
  closeSync(fd);
  throw foreign(name);
}

/** Lines that this user's Proctor wrote. A checkout can contain any journal. */
function provenLines(fd: number, name: string, chain: JournalChain | undefined) {
  const lines: ReleaseLine[] = [];
  let bytes = 0;
  for (const { text, isOurs, end } of chainedLines(fd, chain, LINE_BYTES_MAX)) {
    const value: unknown = isOurs ? JSON.parse(text.toString()) : undefined;
    if (!formOf(lineShape).fits(value)) throw foreign(name);
    lines.push(value as ReleaseLine);
    bytes = end;
  }
  return { lines, bytes };
}

function foreign(name: string): Fault {
  return new Fault(
    'foreign_script',
    `The script ${name} was not published by you on this machine. Publish its folder again under another name, or remove it from .proctor/server/scripts.`,
  );
}
