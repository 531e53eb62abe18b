/** Quotes a string as one word of a POSIX shell. */
export function shellQuoted(word: string): string {
  return /^[\w./:=@%+,-]+$/.test(word) ? word : quotedAlways(word);
}

/**
 * Quotes a string as one word to paste into a terminal with bash, zsh or ksh. Line breaks and hidden characters become
 * escapes, because a terminal acts on them. Undefined if no argument can hold the string.
 */
export function pastedWord(word: string): string | undefined {
  if (word.includes('\0') || !word.isWellFormed()) return undefined;
  if (word.search(UNSAFE_TO_PASTE) < 0) return /^[\w./:@,+-][\w./:=@%+,-]*$/.test(word) ? word : quotedAlways(word);
  return `$'${word.replace(/[\\'!]/g, octal).replaceAll(UNSAFE_TO_PASTE, octal)}'`;
}

/** A command line to paste; undefined if no command can hold one of the words. */
export function pastedLine(words: readonly string[]): string | undefined {
  const quoted = words.map(pastedWord);
  return quoted.includes(undefined) ? undefined : quoted.join(' ');
}

/** A word that is never read as a flag. Put it last. */
export function notAFlag(word: string): string[] {
  return word.startsWith('-') ? ['--', word] : [word];
}

const quotedAlways = (word: string): string => `'${word.replaceAll("'", "'\\''")}'`;

/** Controls, and characters that are invisible or reorder text. */
const UNSAFE_TO_PASTE =
  /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\u{e0000}-\u{e007f}]/gu;

/** The bytes of a character as escapes of three octal digits, which every shell reads alike. */
function octal(character: string): string {
  return [...new TextEncoder().encode(character)].map(byte => `\\${byte.toString(8).padStart(3, '0')}`).join('');
}
