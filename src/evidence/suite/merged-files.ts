import { closeSync, openSync, readSync, writeSync } from 'node:fs';
import { createHash } from 'node:crypto';
import path from 'node:path';
import { Fault } from '../../base/fault.ts';
import { linesOf } from '../../base/lines.ts';
import { printable } from '../../base/printable.ts';
import { OWN_FILE } from '../../base/private.ts';
import { openRegularBelow } from '../../base/regular.ts';
import type { SealedFile } from '../../contracts/seal/statement.ts';
import { type SuiteCase, suiteCase } from '../../contracts/suite/index.ts';
import { isShared, madeBy, nameInPart } from '../../contracts/suite-part/index.ts';
import { REPLIES } from './reply-log.ts';
import { CASES } from './suite-folder.ts';
import type { PartFolder } from './suite-part.ts';
import type { AssetNote } from './suite-run.ts';

export interface MergedFiles {
  /** In the order of the case file. */
  readonly ids: readonly string[];
  readonly cases: SealedFile;
  readonly caseFiles: readonly SealedFile[];
  readonly assets: readonly AssetNote[];
}

/** Copies the cases and assets of all parts into one folder. Refuses a file that is not as its part sealed it. */
export function copyParts(parts: readonly PartFolder[], folder: string): MergedFiles {
  const caseFiles: SealedFile[] = [];
  const assets = new Map<string, AssetNote>();
  const isAlone = aloneIn(parts);
  for (const part of parts) {
    const notes = new Map(part.assets.map(asset => [asset.href, asset]));
    for (const [name, sha256] of madeBy(part)) {
      if (isShared(name)) continue;
      const asset = notes.get(name);
      const href = asset?.case_id === null && !isAlone(name) ? (nameInPart(part.number, name) ?? name) : name;
      if (assets.get(href)?.sha256 === sha256) continue;
      const file = { path: href, ...copied(part, name, path.join(folder, href)) };
      if (file.sha256 !== sha256) throw changed(part, name);
      if (!asset) caseFiles.push(file);
      else assets.set(href, { ...kindOf(asset), href, sha256, bytes: file.bytes });
    }
  }
  const { ids, cases } = mergeCases(parts, path.join(folder, CASES));
  const replies = mergeReplies(parts, path.join(folder, REPLIES));
  const shared = [cases, ...(replies ? [replies] : [])].map(
    ({ path: href, sha256, bytes }): AssetNote => ({
      href,
      kind: 'other',
      caseId: null,
      sha256,
      bytes,
    }),
  );
  return { ids, cases, caseFiles, assets: [...shared, ...assets.values()].sort((a, b) => (a.href < b.href ? -1 : 1)) };
}

/** Whether all parts that have a file of this name have the same one. */
function aloneIn(parts: readonly PartFolder[]): (name: string) => boolean {
  const digests = new Map<string, string>();
  const several = new Set<string>();
  for (const part of parts) {
    for (const [name, sha256] of madeBy(part)) {
      if ((digests.get(name) ?? sha256) !== sha256) several.add(name);
      digests.set(name, sha256);
    }
  }
  return name => !several.has(name);
}

function kindOf({ kind, case_id: caseId }: PartFolder['assets'][number]): Pick<AssetNote, 'kind' | 'caseId'> {
  return { kind: kind as AssetNote['kind'], caseId };
}

/** Joins the cases in the order of the case file: one of each shard in turn. */
function mergeCases(parts: readonly PartFolder[], file: string): { ids: readonly string[]; cases: SealedFile } {
  const total = parts[0]?.request.shard?.total ?? parts.length;
  const turns: (PartLines | undefined)[] = Array.from({ length: total }, () => undefined);
  for (const [at, part] of parts.entries()) turns[(part.request.shard?.index ?? at + 1) - 1] = new PartLines(part);
  const ids: string[] = [];
  const out = new HashedFile(file);
  try {
    for (let isLeft = true; isLeft; ) {
      isLeft = false;
      for (const lines of turns) {
        const line = lines?.next();
        if (!line) continue;
        isLeft = true;
        ids.push((JSON.parse(line.toString()) as SuiteCase).id);
        out.write(line);
        out.write(LINE_FEED);
      }
    }
    return { ids, cases: { path: CASES, ...out.end() } };
  } finally {
    out.close();
    for (const lines of turns) lines?.close();
  }
}

/** The case lines of a part, one at a time. */
class PartLines {
  readonly #fd: number;
  readonly #lines: Iterator<{ readonly bytes?: Buffer }>;

  constructor(part: PartFolder) {
    this.#fd = opened(part, CASES);
    this.#lines = linesOf(this.#fd, suiteCase.bytesMax, 0);
  }

  next(): Buffer | undefined {
    const { value, done } = this.#lines.next() as IteratorResult<{ readonly bytes?: Buffer }>;
    return done ? undefined : value.bytes;
  }

  close(): void {
    closeSync(this.#fd);
  }
}

/** Joins the stored replies; undefined if no part has any. */
function mergeReplies(parts: readonly PartFolder[], file: string): SealedFile | undefined {
  const having = parts.filter(({ files }) => files.has(REPLIES));
  if (having.length === 0) return undefined;
  const out = new HashedFile(file);
  try {
    for (const part of having) copyInto(out, part, REPLIES);
    return { path: REPLIES, ...out.end() };
  } finally {
    out.close();
  }
}

function copied(part: PartFolder, name: string, to: string): Pick<SealedFile, 'sha256' | 'bytes'> {
  const out = new HashedFile(to);
  try {
    copyInto(out, part, name);
    return out.end();
  } finally {
    out.close();
  }
}

function copyInto(out: HashedFile, part: PartFolder, name: string): void {
  const fd = opened(part, name);
  try {
    for (;;) {
      const length = readSync(fd, CHUNK, 0, CHUNK.length, null);
      if (length === 0) return;
      out.write(CHUNK.subarray(0, length));
    }
  } finally {
    closeSync(fd);
  }
}

const CHUNK = Buffer.alloc(64 * 1024);
const LINE_FEED = Buffer.from('\n');

function opened(part: PartFolder, name: string): number {
  const fd = openRegularBelow(part.folder, name);
  if (fd === undefined) throw changed(part, name);
  return fd;
}

function changed({ runId }: PartFolder, name: string): Fault {
  return new Fault(
    'part_invalid',
    `${printable(name)} in ${printable(runId)} changed while Proctor merged it. Merge again.`,
  );
}

/** A new file, hashed as it is written. */
class HashedFile {
  readonly #fd: number;
  readonly #hash = createHash('sha256');
  #bytes = 0;
  #held: Buffer[] = [];
  #heldBytes = 0;

  constructor(file: string) {
    try {
      this.#fd = openSync(file, 'wx', OWN_FILE);
    } catch (cause) {
      if ((cause as NodeJS.ErrnoException).code !== 'EEXIST') throw cause;
      throw new Fault('parts_contradict', `Two parts have different files called ${printable(path.basename(file))}.`, {
        cause,
      });
    }
  }

  write(bytes: Buffer): void {
    // The caller reuses its buffer.
    this.#held.push(Buffer.from(bytes));
    this.#heldBytes += bytes.length;
    if (this.#heldBytes >= HELD_BYTES) this.#flush();
  }

  end(): Pick<SealedFile, 'sha256' | 'bytes'> {
    this.#flush();
    return { sha256: `sha256:${this.#hash.digest('hex')}`, bytes: this.#bytes };
  }

  close(): void {
    closeSync(this.#fd);
  }

  #flush(): void {
    const chunk = Buffer.concat(this.#held);
    for (let from = 0; from < chunk.length; ) from += writeSync(this.#fd, chunk, from);
    this.#hash.update(chunk);
    this.#bytes += chunk.length;
    this.#held = [];
    this.#heldBytes = 0;
  }
}

const HELD_BYTES = 256 * 1024;
