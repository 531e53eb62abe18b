/**
 * Calls back for each word of a text, in lower case. A name such as orders.get, A-1000 or a path is one word. Scripts
 * without spaces give one word per character. Skips single ASCII characters, and cuts long words.
 */
export function eachWord(text: string, visit: (word: string) => void): void {
  const lower = text.toLowerCase();
  let from = -1;
  for (let at = 0; at <= lower.length; at++) {
    const kind = at === lower.length ? GAP : kindAt(lower, at);
    if (kind === LETTER || (kind === JOINER && from >= 0 && kindAt(lower, at + 1) === LETTER)) {
      if (from < 0) from = at;
      continue;
    }
    if (from >= 0 && (at - from > 1 || lower.charCodeAt(from) > 127))
      visit(lower.slice(from, Math.min(at, from + WORD_UNITS_MAX)));
    from = -1;
    if (kind === ALONE) visit(lower[at] as string);
  }
}

/** UTF-16 code units. */
const WORD_UNITS_MAX = 48;

const GAP = 0;
const LETTER = 1;
const JOINER = 2;
const ALONE = 3;

function kindAt(text: string, at: number): number {
  const code = text.charCodeAt(at);
  if (code < 128) return ASCII[code] as number;
  if (Number.isNaN(code)) return GAP;
  const character = text[at] as string;
  if (SPACELESS.test(character)) return ALONE;
  return LETTERS.test(character) ? LETTER : GAP;
}

const ASCII = Uint8Array.from({ length: 128 }, (_, code) => {
  const character = String.fromCharCode(code);
  return /[a-z0-9]/i.test(character) ? LETTER : '._-/@:'.includes(character) ? JOINER : GAP;
});

/** Half of a surrogate pair counts as a letter, so that a rare script stays whole. */
const LETTERS = /[\p{L}\p{M}\p{N}\p{Cs}]/u;
const SPACELESS = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}]/u;
