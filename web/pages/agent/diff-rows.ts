import type { DiffFile, DiffHunk } from '../../../src/reports/pages/agent-page-data.ts';
import { type Carry, languageOf, type Token, tokensOf } from '../../shared/highlight.ts';

/** A line of a hunk with its numbers and coloured text. */
export interface DiffLine {
  readonly sign: '+' | '-' | ' ' | '\\';
  readonly old: number | null;
  readonly new: number | null;
  readonly tokens: readonly Token[];
}

/** A row of the side-by-side view; null on the side that has no such line. */
export interface SplitRow {
  readonly left: DiffLine | null;
  readonly right: DiffLine | null;
}

/** The lines of a hunk. Each side carries its own open comment, because a removed line may have opened it. */
export function linesOf(hunk: DiffHunk, path: string): DiffLine[] {
  const language = languageOf(path);
  let [before, after]: [Carry, Carry] = [null, null];
  let [old, now] = [hunk.oldFrom, hunk.newFrom];
  return hunk.lines.map((line): DiffLine => {
    const sign = (SIGNS.has(line[0] ?? '') ? line[0] : ' ') as DiffLine['sign'];
    const text = line.slice(1);
    if (sign === '\\') return { sign, old: null, new: null, tokens: [{ text, kind: 'plain' }] };
    const { tokens, carry } = tokensOf(text, language, sign === '-' ? before : after);
    if (sign !== '+') before = carry;
    if (sign !== '-') after = carry;
    return { sign, old: sign === '+' ? null : old++, new: sign === '-' ? null : now++, tokens };
  });
}

const SIGNS: ReadonlySet<string> = new Set(['+', '-', ' ', '\\']);

/** Pairs removed lines with the added lines that follow them. */
export function splitRows(lines: readonly DiffLine[]): SplitRow[] {
  const rows: SplitRow[] = [];
  let [gone, come]: [DiffLine[], DiffLine[]] = [[], []];
  const flush = (): void => {
    for (let index = 0; index < Math.max(gone.length, come.length); index++)
      rows.push({ left: gone[index] ?? null, right: come[index] ?? null });
    [gone, come] = [[], []];
  };
  for (const line of lines) {
    if (line.sign === '-') {
      if (come.length > 0) flush();
      gone.push(line);
    } else if (line.sign === '+') come.push(line);
    else {
      flush();
      rows.push({ left: line, right: line });
    }
  }
  flush();
  return rows;
}

/** Which files are open at first: the first ones, up to a number of lines that every machine renders at once. */
export function openAtFirst(files: readonly DiffFile[]): ReadonlySet<number> {
  let room = OPEN_LINES_MAX;
  const open = new Set<number>();
  for (const [index, { hunks }] of files.entries()) {
    const size = hunks.reduce((sum, { lines }) => sum + lines.length, 0);
    if (size > room) continue;
    room -= size;
    open.add(index);
  }
  return open;
}

const OPEN_LINES_MAX = 600;
