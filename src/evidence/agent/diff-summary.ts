import { closeSync } from 'node:fs';
import { linesOf } from '../../base/lines.ts';
import { openRegularBelow } from '../../base/regular.ts';

/** How a Git diff changes one file. */
interface FileDiff {
  /** The current path, or the last path of a deleted file. */
  readonly path: string;
  readonly change: 'add' | 'update' | 'delete' | 'rename';
  readonly added: number;
  readonly removed: number;
  /** Line counts are 0 for binary files. */
  readonly binary: boolean;
}

export interface DiffSummary {
  /** At most `filesMax`. */
  readonly files: readonly FileDiff[];
  readonly total: number;
  readonly added: number;
  readonly removed: number;
}

/** Receives the hunks of a diff while it is read. Files are numbered from 0. */
export interface DiffVisitor {
  hunk(file: number, oldFrom: number, newFrom: number): void;
  /** A line of the hunk with its sign; undefined if it is too long to read. Valid only during the call. */
  line(file: number, bytes: Buffer | undefined): void;
}

/** Counts files and lines in a diff, in constant memory; undefined if the file cannot be read. */
export function diffSummary(
  folder: string,
  file: string,
  filesMax = FILES_MAX,
  visitor?: DiffVisitor,
): DiffSummary | undefined {
  const fd = openRegularBelow(folder, file);
  if (fd === undefined) return undefined;
  const files: FileDiff[] = [];
  const sum = { total: 0, added: 0, removed: 0 };
  let current: Growing | undefined;
  const close = (): void => {
    if (!current) return;
    const { hunk: _, ...one } = current;
    if (files.length < filesMax) files.push(one);
    sum.total++;
    sum.added += one.added;
    sum.removed += one.removed;
  };
  try {
    for (const { bytes } of linesOf(fd, LINE_BYTES_MAX, 0, DIFF_BYTES_MAX)) {
      const first = bytes?.[0];
      if (current && current.hunk.old + current.hunk.new > 0) {
        within(current, first);
        visitor?.line(sum.total, bytes);
      } else if (bytes && first === LETTER_D && bytes.toString('latin1', 0, HEAD.length) === HEAD) {
        close();
        current = { path: '', change: 'update', added: 0, removed: 0, binary: false, hunk: { old: 0, new: 0 } };
        name(current, bytes.toString());
      } else if (current && bytes) {
        const hunk = about(current, bytes);
        if (hunk) visitor?.hunk(sum.total, ...hunk);
      }
    }
    close();
  } finally {
    closeSync(fd);
  }
  return { files, ...sum };
}

const FILES_MAX = 10_000;
const LINE_BYTES_MAX = 16 * 1024 * 1024;
const DIFF_BYTES_MAX = 1024 * 1024 * 1024;
const HEAD = 'diff --git ';
const LETTER_D = 0x64;
const [PLUS, MINUS, BACKSLASH] = [0x2b, 0x2d, 0x5c];

interface Growing {
  path: string;
  change: FileDiff['change'];
  added: number;
  removed: number;
  binary: boolean;
  /** Lines of the old and the new file that are still to come in the hunk. */
  hunk: { old: number; new: number };
}

/** Counts one line of a hunk. Inside a hunk, no line is parsed as a Git header, even if it looks like one. */
function within(file: Growing, first: number | undefined): void {
  if (first === BACKSLASH) return;
  // The line is too long to read. If one side of the hunk is complete, the line belongs to the other.
  if (first === undefined && file.hunk.old === 0) return within(file, PLUS);
  if (first === undefined && file.hunk.new === 0) return within(file, MINUS);
  if (first === PLUS) file.added++;
  else if (first === MINUS) file.removed++;
  if (first !== MINUS) file.hunk.new--;
  if (first !== PLUS) file.hunk.old--;
}

/** Parses a Git header line between a file's name and its hunks. Returns where a hunk starts. */
function about(file: Growing, bytes: Buffer): readonly [oldFrom: number, newFrom: number] | undefined {
  const line = bytes.toString();
  const hunk = /^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@/.exec(line);
  if (hunk) {
    file.hunk = { old: Number(hunk[2] ?? 1), new: Number(hunk[4] ?? 1) };
    return [Number(hunk[1]), Number(hunk[3])];
  }
  if (line.startsWith('new file ')) file.change = 'add';
  else if (line.startsWith('deleted file ')) file.change = 'delete';
  else if (line.startsWith('rename to ')) rename(file, line.slice('rename to '.length));
  else if (line.startsWith('+++ ') && line !== '+++ /dev/null') file.path = unquoted(line.slice(4), 'b/');
  else if (line.startsWith('--- ') && line !== '--- /dev/null') file.path = unquoted(line.slice(4), 'a/');
  else if (line.startsWith('GIT binary patch') || line.startsWith('Binary files ')) file.binary = true;
  return undefined;
}

function rename(file: Growing, to: string): void {
  file.change = 'rename';
  file.path = unquoted(to, '');
}

/** Reads the name from `diff --git a/x b/x`, for files that no other line names. */
function name(file: Growing, line: string): void {
  const names = line.slice(HEAD.length);
  const half = (names.length - 1) / 2;
  file.path = unquoted(Number.isInteger(half) ? names.slice(half + 1) : names, 'b/');
}

/** Git quotes some names. */
function unquoted(text: string, prefix: string): string {
  const name = text.endsWith('\t') ? text.slice(0, -1) : text;
  const plain = name.startsWith('"') && name.endsWith('"') ? unescaped(name.slice(1, -1)) : name;
  return plain.startsWith(prefix) ? plain.slice(prefix.length) : plain;
}

function unescaped(text: string): string {
  const latin = Buffer.from(text).toString('latin1');
  const bytes = latin.replace(/\\([0-7]{3}|.)/g, (_, code: string) =>
    code.length === 3 ? String.fromCharCode(Number.parseInt(code, 8) & 0xff) : (ESCAPES[code] ?? code),
  );
  return Buffer.from(bytes, 'latin1').toString();
}

const ESCAPES: Readonly<Record<string, string>> = { n: '\n', t: '\t', r: '\r', a: '\u0007', b: '\b', f: '\f', v: '\v' };
