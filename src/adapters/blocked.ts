import { clip } from '../base/clip.ts';
import { TEXT_BYTES_MAX } from '../contracts/agent-step/reading.ts';
import { brief } from './json-values.ts';

/** Why the system blocked a tool. */
export interface Blocked {
  readonly reason: string;
  readonly path: string | undefined;
  readonly isNetwork: boolean;
}

/**
 * Finds a system error message in the output of a failed tool. The kernel keeps no record of what a sandbox denies, so this is
 * a guess: a failed program that prints such a message looks blocked. Do not call this for a tool that succeeded.
 */
export function blockedIn(output: string): Blocked | undefined {
  const { text } = clip(output, TEXT_BYTES_MAX);
  const block = BLOCKS.find(pattern => pattern.test(text));
  if (!block) return undefined;
  const at = text.search(block);
  const from = text.lastIndexOf('\n', at - 1) + 1;
  const end = text.indexOf('\n', at + 1);
  // Keep the end of a long line, which contains the error message.
  const line = text
    .slice(from, end < 0 ? undefined : end)
    .trim()
    .slice(-LINE_UNITS_MAX);
  const path = PATHS.map(pattern => pattern.exec(line)?.[1]).find(found => found !== undefined);
  return { reason: brief(line), path, isNetwork: NETWORK.test(line) };
}

const LINE_UNITS_MAX = 300;

/** Most programs end a line with the system's error message. Python and Node use other formats. */
const BLOCKS: readonly RegExp[] = [
  /: Read-only file system(?: \(os error 30\))?\r?$/m,
  // A file that is a mount point cannot be replaced.
  /: Device or resource busy(?: \(os error 16\))?\r?$/m,
  /: Operation not permitted(?: \(os error 1\))?\r?$/m,
  // zsh puts the message before the path, in lower case.
  /^[^\s:]{1,100}:\d{1,9}: (?:read-only file system|device or resource busy|operation not permitted): /m,
  /^(?:bwrap: |error building bubblewrap command)/m,
  /\[Errno (?:1|30)\]|\b(?:EROFS: read-only file system|EPERM: operation not permitted)\b/,
  /: Network is unreachable\b|\bCould not resolve host: |Temporary failure in name resolution/,
  /\blandlock\b.{0,80}\b(?:denied|failed|restrict)/i,
];

/** No socket, no route, or no name resolution. */
const NETWORK = /\b(?:socket|connect): |: Network is unreachable\b|resolve host: |name resolution/;

/** `bash: docs/a.md: Read-only file system`, `zsh:1: read-only file system: docs/a.md`, `touch: cannot touch '/etc/x': …`, `EROFS: …, open '/work/a'`. */
const PATHS: readonly RegExp[] = [
  /['"‘]([^'"‘’]{1,300})['"’]: Read-only file system/,
  /([^\s:]{1,300}): (?:Read-only file system|Device or resource busy)/,
  /:\d{1,9}: (?:read-only file system|device or resource busy|operation not permitted): (.{1,300})$/,
  /\bEROFS: read-only file system, \w{1,20} '([^']{1,300})'/,
  /\[Errno 30\] Read-only file system: '([^']{1,300})'/,
];
