import { closeSync, existsSync, rmSync, truncateSync } from 'node:fs';
import path from 'node:path';
import { linesOf } from '../../base/lines.ts';
import { openRegular } from '../../base/regular.ts';
import { replaceByParts } from '../../base/replace.ts';
import { type SuiteReply, suiteReply } from '../../contracts/suite/index.ts';
import { soundDocument } from '../document.ts';

export const REPLIES = 'assets/replies.ndjson';

export interface StoredReplies {
  /** The hash of every reply, by case and attempt. */
  readonly hashes: ReadonlyMap<string, string>;
  readonly lines: number;
}

/** Reads the stored replies. Cuts the file off after its last whole line. */
export function storedReplies(folder: string): StoredReplies {
  const hashes = new Map<string, string>();
  let end = 0;
  let lines = 0;
  for (const { reply, line } of repliesIn(folder)) {
    end += line.length + 1;
    lines++;
    hashes.set(replyName(reply.case_id, reply.attempt), reply.sha256);
  }
  if (existsSync(path.join(folder, REPLIES))) truncateSync(path.join(folder, REPLIES), end);
  return { hashes, lines };
}

/** Removes the replies of all other attempts: a journal that lost its last lines does not name them. */
export function keepReplies(folder: string, { hashes, lines }: StoredReplies, kept: ReadonlySet<string>): void {
  const file = path.join(folder, REPLIES);
  if (kept.size === 0) rmSync(file, { force: true });
  if (kept.size === 0 || kept.size === lines) return;
  const left = new Set(kept);
  replaceByParts(file, function* () {
    for (const { reply, line } of repliesIn(folder)) {
      const name = replyName(reply.case_id, reply.attempt);
      if (hashes.get(name) === reply.sha256 && left.delete(name)) yield Buffer.concat([line, LINE_FEED]);
    }
  });
}

const LINE_FEED = Buffer.from('\n');

export function replyName(caseId: string, attempt: number): string {
  return `${caseId}/${attempt}`;
}

/** The stored replies up to the first line that is not one. A line is valid only until the next. */
export function* repliesIn(folder: string): Generator<{ readonly reply: SuiteReply; readonly line: Buffer }> {
  const fd = openRegular(path.join(folder, REPLIES));
  if (fd === undefined) return;
  try {
    for (const { bytes, isCut } of linesOf(fd, suiteReply.bytesMax, 0)) {
      const reply = bytes && !isCut ? (soundDocument(bytes, suiteReply) as SuiteReply | undefined) : undefined;
      if (!bytes || !reply) return;
      yield { reply, line: bytes };
    }
  } finally {
    closeSync(fd);
  }
}
