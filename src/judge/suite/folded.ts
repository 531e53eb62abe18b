/** Folds case, white space and the form of accents. */
export function folded(text: string): string {
  return normal(text.toLowerCase()).replace(/\s+/g, ' ');
}

/**
 * Unicode normalization sorts combining marks, and ICU takes quadratic time for it. No language uses more than a few
 * per letter; longer runs stay unchanged.
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
