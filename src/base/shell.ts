/** Quotes a string as one word of a POSIX shell. */
export function shellQuoted(word: string): string {
  return /^[\w./:=@%+,-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}
