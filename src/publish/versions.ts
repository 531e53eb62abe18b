import { readdirSync, renameSync, rmSync } from 'node:fs';
import path from 'node:path';
import * as z from 'zod/mini';
import { syncFolder, temporaryBeside, writeAtomic } from '../base/atomic.ts';
import { canonicalize } from '../base/canonical.ts';
import { codeOf, Fault } from '../base/fault.ts';
import { fileHash } from '../base/file-hash.ts';
import { readJson } from '../base/json.ts';
import { makeFolders } from '../base/private.ts';
import { readRegular } from '../base/regular.ts';
import { MIB } from '../contracts/contract.ts';
import { formOf } from '../contracts/form.ts';
import {
  type PublishedScript,
  publishedScriptShape,
  type PublishedVersion,
} from '../contracts/published-script/shape.ts';
import { versionDigest } from '../contracts/published-script/version-digest.ts';
import { contentHashText, count, matching, record, relativePath } from '../contracts/shape.ts';
import { copyPublished, pathsBelow, type PublishedFile } from './folder-files.ts';
import { makeServerFolder, scriptsFolder } from './server-folder.ts';

/** A stored version: what its script.yaml says, and its files. */
export interface StoredVersion {
  readonly script: PublishedScript;
  readonly digest: string;
  readonly files: readonly PublishedFile[];
}

const versionShape = record({
  digest: contentHashText(),
  files: z.array(
    record({
      path: relativePath(),
      mode: matching(/^(?:644|755)$/, 'a mode'),
      bytes: count(),
      sha256: contentHashText(),
    }),
  ),
  script: publishedScriptShape,
});

/** The list of files of a version, next to the folder `files`. */
const VERSION_FILE = 'version.json';
const VERSION_BYTES_MAX = 4 * MIB;

/** The file that declares a published script. */
export const SCRIPT_YAML = 'script.yaml';

/** A copy of a folder that is not stored yet. Call `keep` or `drop`. */
export interface CopiedFolder {
  /** The copied files. */
  readonly folder: string;
  readonly files: readonly PublishedFile[];
  readonly digest: string;
  /** Makes the copy the files of a version. Throws `version_taken` if the version exists. */
  keep(script: PublishedScript): void;
  drop(): void;
}

/** Copies a folder into the store, so that it cannot change while it is judged. */
export function copyIntoStore(home: string, from: string): CopiedFolder {
  const store = scriptsFolder(home);
  makeServerFolder(home, store);
  const temporary = temporaryBeside(path.join(store, 'copy'));
  const folder = path.join(temporary, 'files');
  makeFolders(folder);
  const drop = (): void => rmSync(temporary, { recursive: true, force: true });
  try {
    const files = copyPublished(from, folder);
    const digest = versionDigest(files);
    return { folder, files, digest, drop, keep: script => keepCopy(home, temporary, { script, digest, files }) };
  } catch (error) {
    drop();
    throw error;
  }
}

function keepCopy(home: string, temporary: string, stored: StoredVersion): void {
  const { name, version } = stored.script;
  const folder = versionFolder(home, name, version);
  makeServerFolder(home, path.dirname(folder));
  writeAtomic(path.join(temporary, VERSION_FILE), `${canonicalize(stored)}\n`);
  try {
    renameSync(temporary, folder);
    syncFolder(path.dirname(folder));
  } catch (cause) {
    rmSync(temporary, { recursive: true, force: true });
    if (['ENOTEMPTY', 'EEXIST'].includes(codeOf(cause))) throw versionTaken(name, version);
    throw new Fault('publish_failed', 'The version could not be stored.', { cause });
  }
}

export function versionTaken(name: string, version: string): Fault {
  return new Fault(
    'version_taken',
    `${name} ${version} exists with other content, and a version never changes. Raise the version in ${SCRIPT_YAML}.`,
  );
}

/** The stored list of a version; undefined if there is none that can be read. */
export function readVersion(home: string, name: string, version: string): StoredVersion | undefined {
  const bytes = readRegular(path.join(versionFolder(home, name, version), VERSION_FILE), VERSION_BYTES_MAX);
  const reading = bytes && readJson(bytes, { bytesMax: VERSION_BYTES_MAX });
  return reading?.ok && formOf(versionShape).fits(reading.value) ? (reading.value as StoredVersion) : undefined;
}

/** Returns the folder with the files of a version, if every file is still the one that was published. */
export function checkedVersion(home: string, { name, version, digest }: PublishedVersion): CheckedVersion {
  const stored = readVersion(home, name, version);
  if (!stored || stored.digest !== digest || versionDigest(stored.files) !== digest)
    throw changed(name, version, VERSION_FILE);
  const folder = path.join(versionFolder(home, name, version), 'files');
  const listed = new Set(stored.files.map(file => file.path));
  const extra = present(folder).find(file => !listed.has(file));
  if (extra !== undefined) throw changed(name, version, extra);
  for (const { path: file, bytes, sha256 } of stored.files) {
    if (fileHash(path.join(folder, file), bytes) !== sha256) throw changed(name, version, file);
  }
  return { folder, stored };
}

export interface CheckedVersion {
  readonly folder: string;
  readonly stored: StoredVersion;
}

function present(folder: string): string[] {
  try {
    return pathsBelow(folder);
  } catch {
    // A file that could not have been published is reported as a changed version.
    return [SCRIPT_YAML, '(an unknown entry)'];
  }
}

function changed(name: string, version: string, file: string): Fault {
  return new Fault(
    'version_changed',
    `${name} ${version} cannot run: its stored file ${file} is not the one that was published. Publish a new version.`,
  );
}

function versionFolder(home: string, name: string, version: string): string {
  return path.join(scriptsFolder(home), name, version);
}

/** The names of the scripts in the store, sorted. */
export function storedNames(home: string): string[] {
  try {
    const entries = readdirSync(scriptsFolder(home), { withFileTypes: true });
    return entries.flatMap(entry => (entry.isDirectory() && !entry.name.startsWith('.') ? [entry.name] : [])).sort();
  } catch {
    return [];
  }
}
