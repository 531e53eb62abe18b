import { align } from '../base/align.ts';

/** A line that was removed, added or kept. */
export interface DiffLine {
  readonly sign: '-' | '+' | ' ';
  readonly text: string;
}

/** The line diff of two texts, with two lines of context. Empty if they are equal. */
export function lineDiff(before: string, now: string): DiffLine[] {
  if (before === now) return [];
  const [old, fresh] = [before.split('\n'), now.split('\n')];
  const lines: DiffLine[] = [];
  for (const { same, baseline, candidate } of align(old, fresh).stretches) {
    const gone = old.slice(...baseline).map((text): DiffLine => ({ sign: same ? ' ' : '-', text }));
    if (!same) lines.push(...gone, ...fresh.slice(...candidate).map((text): DiffLine => ({ sign: '+', text })));
    else if (gone.length <= 2 * AROUND) lines.push(...gone);
    else lines.push(...gone.slice(0, AROUND), CUT, ...gone.slice(-AROUND));
  }
  return lines.length <= LINES_MAX ? lines : [...lines.slice(0, LINES_MAX), CUT];
}

const AROUND = 2;
const LINES_MAX = 200;
const CUT: DiffLine = { sign: ' ', text: '…' };
