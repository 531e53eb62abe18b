/**
 * An upper estimate of the RE2 instructions in a compiled pattern. Counted repetitions multiply, so a few characters can
 * need a million. The estimate needs no compilation and is the same on every machine.
 */
export function patternSize(pattern: string): number {
  /** For each open group, the size of its last part and of everything before that part. */
  const groups: { before: number; last: number }[] = [];
  let here = { before: 0, last: 0 };
  for (let at = 0; at < pattern.length; ) {
    const [token] = TOKEN.exec(pattern.slice(at, at + TOKEN_CHARS_MAX)) ?? [pattern[at] as string];
    const count = REPEAT.exec(token);
    if (count) here.last = (here.last + 1) * timesOf(count);
    else if (token === ')') {
      const { before, last } = here;
      here = groups.pop() ?? { before: 0, last: 0 };
      // A capturing group adds an instruction at each end, and one if it is empty.
      here = { before: here.before + here.last, last: before + last + 3 };
    } else if (!FLAGS.test(token)) {
      if (token === '(') groups.push(here);
      here = token === '(' ? { before: 0, last: 0 } : { before: here.before + here.last, last: weightOf(token) };
    }
    at += token.length;
  }
  const open = groups.reduce((sum, { before, last }) => sum + before + last, 0);
  return open + here.before + here.last + 3;
}

/** The limit for compilation: about 60 milliseconds and 8 MB. */
export const PATTERN_SIZE_MAX = 10_000;

/** A flag group, a counted repetition, an escape or a class. Anything else is a single character. */
const TOKEN =
  /^(?:\(\?[a-zA-Z-]{0,20}\)|\{\d{1,4}(?:,\d{0,4})?\}|\\Q[^]*?(?:\\E|$)|\\[pPx]\{[^}]{0,100}\}|\\[^]|\[\^?\]?(?:\\[^]|\[:\w+:\]|[^\]\\])*\])/;
const TOKEN_CHARS_MAX = 10_000;
const FLAGS = /^\(\?[a-zA-Z-]*\)$/;
const REPEAT = /^\{(\d+)(,?)(\d*)\}$/;

function timesOf([, from = '0', comma, to]: RegExpExecArray): number {
  if (to) return Math.max(Number(to), 1);
  return Math.max(Number(from), 1) + (comma ? 1 : 0);
}

/** Quoted text has one instruction per character. A choice has one, plus one because its operand may be empty. */
function weightOf(token: string): number {
  if (token.startsWith('\\Q')) return token.length;
  return CHOICE.test(token) ? 2 : 1;
}

const CHOICE = /^[|*+?]$/;
