import { diffArrays } from 'diff';
import { type Stretch, stretches, WORDS_CHARS_MAX } from './text-diff.ts';

/** A row of a text diff. A changed row has a line on both sides. */
export interface DiffRow {
  readonly how: 'same' | 'changed' | 'gone' | 'added';
  readonly baseline?: DiffLine;
  readonly candidate?: DiffLine;
}

export interface DiffLine {
  readonly number: number;
  readonly parts: readonly DiffPart[];
}

interface DiffPart {
  readonly text: string;
  readonly isMarked: boolean;
  /** How many characters are left out after the text. */
  readonly left?: number;
}

/** A line whose side is known, such as a line of a patch. */
export interface PreparedLine {
  readonly on: Stretch['on'];
  readonly text: string;
}

/** The rows, and how many lines at the end of the texts are not compared. */
export interface Diff {
  readonly rows: readonly DiffRow[];
  readonly linesLeft: number;
}

/** Later lines of a text are left out. */
const LINES_MAX = 20_000;
/** More changed lines than this on one side are shown as removed and added, without matching them. */
const EDITS_MAX = 1_000;
/** Characters to compare by word in one diff; later lines are marked from their first to their last difference. */
const WORDS_CHARS_TOTAL = 200_000;

/** Compares two texts line by line, and changed lines word by word. */
export function diffOfTexts(baseline: string, candidate: string): Diff {
  const [before, now] = [linesOf(baseline), linesOf(candidate)];
  const linesLeft = Math.max(before.left, now.left);
  return { rows: rowsOfLines(preparedLines(before.lines, now.lines)), linesLeft };
}

function linesOf(text: string): { readonly lines: readonly string[]; readonly left: number } {
  const lines = text.split('\n', LINES_MAX);
  if (lines.length < LINES_MAX) return { lines, left: 0 };
  let all = 1;
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) all++;
  return { lines, left: all - lines.length };
}

/** Equal lines at both ends are matched first, so a small change in a long text costs little. */
function preparedLines(baseline: readonly string[], candidate: readonly string[]): PreparedLine[] {
  const shorter = Math.min(baseline.length, candidate.length);
  let start = 0;
  while (start < shorter && baseline[start] === candidate[start]) start++;
  let end = 0;
  while (end < shorter - start && baseline.at(-1 - end) === candidate.at(-1 - end)) end++;
  const [before, now] = [baseline, candidate].map(lines => lines.slice(start, lines.length - end));
  return [
    ...baseline.slice(0, start).map(text => ({ on: 'both', text }) as const),
    ...middleLines(before ?? [], now ?? []),
    ...baseline.slice(baseline.length - end).map(text => ({ on: 'both', text }) as const),
  ];
}

function middleLines(baseline: readonly string[], candidate: readonly string[]): PreparedLine[] {
  const parts = diffArrays([...baseline], [...candidate], { maxEditLength: EDITS_MAX });
  if (parts)
    return parts.flatMap(({ value, added, removed }) =>
      value.map(text => ({ on: added ? 'new' : removed ? 'baseline' : 'both', text }) as const),
    );
  return [
    ...baseline.map(text => ({ on: 'baseline', text }) as const),
    ...candidate.map(text => ({ on: 'new', text }) as const),
  ];
}

/** The numbers of the first lines. */
export interface FirstNumbers {
  readonly baseline: number;
  readonly candidate: number;
}

const FROM_ONE: FirstNumbers = { baseline: 1, candidate: 1 };

/** Rows of lines whose sides are known. Removed and added lines next to each other are paired in order. */
export function rowsOfLines(lines: readonly PreparedLine[], first: FirstNumbers = FROM_ONE): DiffRow[] {
  const rows: DiffRow[] = [];
  const words = { left: WORDS_CHARS_TOTAL };
  let { baseline: baselineNumber, candidate: candidateNumber } = first;
  for (let at = 0; at < lines.length; ) {
    const line = lines[at] as PreparedLine;
    if (line.on === 'both') {
      const parts = shortened([{ text: line.text, isMarked: false }]);
      const [baseline, candidate] = [baselineNumber++, candidateNumber++].map(number => ({ number, parts }));
      rows.push({ how: 'same', ...(baseline && { baseline }), ...(candidate && { candidate }) });
      at++;
      continue;
    }
    const gone: string[] = [];
    const added: string[] = [];
    for (; at < lines.length && lines[at]?.on !== 'both'; at++) {
      const { on, text } = lines[at] as PreparedLine;
      (on === 'baseline' ? gone : added).push(text);
    }
    for (let index = 0; index < Math.max(gone.length, added.length); index++)
      rows.push(
        rowOf(
          gone[index] === undefined ? undefined : { number: baselineNumber++, text: gone[index] as string },
          added[index] === undefined ? undefined : { number: candidateNumber++, text: added[index] as string },
          words,
        ),
      );
  }
  return rows;
}

interface Numbered {
  readonly number: number;
  readonly text: string;
}

function rowOf(gone: Numbered | undefined, added: Numbered | undefined, words: { left: number }): DiffRow {
  const whole = ({ number, text }: Numbered): DiffLine => ({
    number,
    parts: shortened([{ text, isMarked: text !== '' }]),
  });
  if (!gone || !added)
    return gone ? { how: 'gone', baseline: whole(gone) } : { how: 'added', candidate: whole(added as Numbered) };
  const parts = markedParts(gone.text, added.text, words);
  const lineOf = ({ number }: Numbered, side: 'baseline' | 'new'): DiffLine => ({
    number,
    parts: shortened(
      parts.flatMap(({ text, on }) => (on === 'both' || on === side ? [{ text, isMarked: on !== 'both' }] : [])),
    ),
  });
  return { how: 'changed', baseline: lineOf(gone, 'baseline'), candidate: lineOf(added, 'new') };
}

function markedParts(baseline: string, candidate: string, words: { left: number }): readonly Stretch[] {
  const chars = baseline.length + candidate.length;
  if (chars <= Math.min(words.left, WORDS_CHARS_MAX)) {
    words.left -= chars;
    const parts = stretches(baseline, candidate);
    if (parts) return parts;
    return [
      { text: baseline, on: 'baseline' },
      { text: candidate, on: 'new' },
    ];
  }
  return betweenEnds(baseline, candidate);
}

/** Marks everything from the first to the last difference. */
function betweenEnds(baseline: string, candidate: string): Stretch[] {
  const shorter = Math.min(baseline.length, candidate.length);
  let start = 0;
  while (start < shorter && baseline[start] === candidate[start]) start++;
  let end = 0;
  while (end < shorter - start && baseline[baseline.length - 1 - end] === candidate[candidate.length - 1 - end]) end++;
  return [
    { text: baseline.slice(0, start), on: 'both' },
    { text: baseline.slice(start, baseline.length - end), on: 'baseline' },
    { text: candidate.slice(start, candidate.length - end), on: 'new' },
    { text: baseline.slice(baseline.length - end), on: 'both' },
  ];
}

/** Long stretches keep their ends, and say how many characters are between them. */
function shortened(parts: readonly DiffPart[]): DiffPart[] {
  return joined(parts).flatMap(({ text, isMarked }): DiffPart[] => {
    const max = isMarked ? MARKED_CHARS_MAX : SAME_CHARS_MAX;
    if (text.length <= max) return text === '' ? [] : [{ text, isMarked }];
    const half = max / 2;
    return [
      { text: text.slice(0, half), isMarked, left: text.length - max },
      { text: text.slice(-half), isMarked },
    ];
  });
}

function joined(parts: readonly DiffPart[]): DiffPart[] {
  const whole: DiffPart[] = [];
  for (const part of parts) {
    const last = whole.at(-1);
    if (last?.isMarked === part.isMarked) whole.splice(-1, 1, { ...last, text: last.text + part.text });
    else whole.push(part);
  }
  return whole;
}

const MARKED_CHARS_MAX = 16_000;
const SAME_CHARS_MAX = 8_000;

/** Equal rows that are hidden until the reader opens them. */
export interface Fold {
  readonly fold: readonly DiffRow[];
  /** The first row of the whole fold, if its start is already open. */
  readonly first?: DiffRow;
}

/** How many equal lines stay visible on each side of a change. */
const CONTEXT_LINES = 3;
/** A fold takes a line itself, so fewer lines are not folded. */
const FOLD_LINES_MIN = 4;

/** Folds stretches of equal rows, except for those next to a change. */
export function foldedRows(rows: readonly DiffRow[]): readonly (DiffRow | Fold)[] {
  const items: (DiffRow | Fold)[] = [];
  for (let at = 0; at < rows.length; ) {
    let end = at;
    while (end < rows.length && rows[end]?.how === 'same') end++;
    if (end === at) {
      items.push(rows[at++] as DiffRow);
      continue;
    }
    const from = at === 0 ? 0 : at + CONTEXT_LINES;
    const to = end === rows.length ? end : end - CONTEXT_LINES;
    if (to - from < FOLD_LINES_MIN) items.push(...rows.slice(at, end));
    else items.push(...rows.slice(at, from), { fold: rows.slice(from, to) }, ...rows.slice(to, end));
    at = end;
  }
  return items;
}

/** The rows in one column: within a change, first all removed lines, then all added ones. */
export function unifiedRows(items: readonly (DiffRow | Fold)[]): readonly (DiffRow | Fold)[] {
  const one: (DiffRow | Fold)[] = [];
  let added: DiffRow[] = [];
  for (const item of items) {
    if ('fold' in item || item.how === 'same') {
      one.push(...added, item);
      added = [];
      continue;
    }
    if (item.baseline) one.push({ how: 'gone', baseline: item.baseline });
    if (item.candidate) added.push({ how: 'added', candidate: item.candidate });
  }
  return [...one, ...added];
}
