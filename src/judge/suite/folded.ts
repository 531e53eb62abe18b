/** A text in which upper and lower case, the kind and amount of white space, and the form of accents are all one. */
export function folded(text: string): string {
  return normal(text.toLowerCase()).replace(/\s+/g, ' ');
}

/**
 * Unicode puts the marks after a letter in order, and ICU does that in time that grows with the square of their number. No
 * language has more than a few; what has more is left as it is.
 */
function normal(text: string): string {
  if (ASCII.test(text)) return text;
  return text
    .split(MARKS)
    .map((part, index) => (index % 2 === 0 ? part.normalize('NFC') : part))
    .join('');
}

const ASCII = /^[\u0000-\u007f]*$/;
const MARKS = /(\p{M}{64,})/u;
