import { notAFlag, pastedLine } from '../../src/base/shell.ts';
import type { CaseCommand, PageHole } from '../../src/reports/page-data.ts';

/** The values for the placeholders of a command. */
export interface CaseValues {
  readonly id: string;
  readonly input: unknown;
  /** The runs of the chosen trials that this project has. */
  readonly runs: { readonly baseline?: string | undefined; readonly new?: string | undefined };
}

/** A command to paste, or the reason why there is none. Undefined if the case lacks a value that it needs. */
export type Filled = { readonly text: string } | { readonly why: string };

/** Longer commands are hard to paste, and some systems reject them. */
const COMMAND_CHARS_MAX = 8_000;

export function filledCommand({ words }: Pick<CaseCommand, 'words'>, values: CaseValues): Filled | undefined {
  const filled: string[] = [];
  for (const word of words) {
    const put = typeof word === 'string' ? [word] : wordsFor(word, values);
    if (!put) return undefined;
    filled.push(...put);
  }
  return pasted(filled);
}

/** The words as one line for a terminal. */
export function pasted(words: readonly string[]): Filled {
  const text = pastedLine(words);
  if (text === undefined)
    return { why: 'The input has a NUL character or half of a surrogate pair, which no command can contain.' };
  if (text.length > COMMAND_CHARS_MAX) return { why: 'The input is too long for a command.' };
  return { text };
}

function wordsFor({ put }: PageHole, { id, input, runs }: CaseValues): readonly string[] | undefined {
  if (put === 'case') return [id];
  if (put !== 'question') return runs[put] === undefined ? undefined : notAFlag(runs[put]);
  const { user, context } = (input ?? {}) as { readonly user?: unknown; readonly context?: unknown };
  if (typeof user !== 'string') return undefined;
  return [...(context === undefined ? [] : ['--context', JSON.stringify(context)]), ...notAFlag(user)];
}
