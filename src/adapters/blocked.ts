import { clip } from '../base/clip.ts';
import { TEXT_BYTES_MAX } from '../contracts/agent-step/reading.ts';
import { brief } from './said.ts';

/** What kept a tool from doing what it set out to. */
export interface Blocked {
  readonly reason: string;
  readonly path: string | undefined;
  readonly isNetwork: boolean;
}

/**
 * Finds the words of the system in the output of a tool that failed, the same for every agent. The kernel keeps no record
 * of what a sandbox denies, so this is what the tool says and no more: a failed program that prints such words looks
 * blocked. The output of a tool that succeeded is never looked at, because it did what it set out to.
 */
export function blockedIn(output: string): Blocked | undefined {
  const { text } = clip(output, TEXT_BYTES_MAX);
  const words = BLOCKS.find(pattern => pattern.test(text));
  if (!words) return undefined;
  const at = text.search(words);
  const from = text.lastIndexOf('\n', at - 1) + 1;
  const end = text.indexOf('\n', at + 1);
  // The end of a long line says what happened.
  const line = text
    .slice(from, end < 0 ? undefined : end)
    .trim()
    .slice(-LINE_UNITS_MAX);
  const path = PATHS.map(pattern => pattern.exec(line)?.[1]).find(found => found !== undefined);
  return { reason: brief(line), path, isNetwork: NETWORK.test(line) };
}

const LINE_UNITS_MAX = 300;

/** Most programs end a line with the words of the system; Python and Node have their own form. */
const BLOCKS: readonly RegExp[] = [
  /: Read-only file system(?: \(os error 30\))?\r?$/m,
  // A file that is mounted by itself cannot be replaced.
  /: Device or resource busy(?: \(os error 16\))?\r?$/m,
  /: Operation not permitted(?: \(os error 1\))?\r?$/m,
  /^(?:bwrap: |error building bubblewrap command)/m,
  /\[Errno (?:1|30)\]|\b(?:EROFS: read-only file system|EPERM: operation not permitted)\b/,
  /: Network is unreachable\b|\bCould not resolve host: |Temporary failure in name resolution/,
  /\blandlock\b.{0,80}\b(?:denied|failed|restrict)/i,
];

/** A program that got no socket, no route or no name says one of these. */
const NETWORK = /\b(?:socket|connect): |: Network is unreachable\b|resolve host: |name resolution/;

/** `bash: docs/a.md: Read-only file system`, `touch: cannot touch '/etc/x': …`, `EROFS: …, open '/work/a'`. */
const PATHS: readonly RegExp[] = [
  /['"‘]([^'"‘’]{1,300})['"’]: Read-only file system/,
  /([^\s:]{1,300}): (?:Read-only file system|Device or resource busy)/,
  /\bEROFS: read-only file system, \w{1,20} '([^']{1,300})'/,
  /\[Errno 30\] Read-only file system: '([^']{1,300})'/,
];
