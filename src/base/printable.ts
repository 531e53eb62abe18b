/** A text from outside, safe to show in a terminal: what could move the cursor, colour or reorder a line is written out. */
export function printable(text: string): string {
  return text.replace(UNSAFE, character => {
    const code = character.codePointAt(0) ?? 0;
    return `\\u{${code.toString(16)}}`;
  });
}

export function isPrintable(text: string): boolean {
  return printable(text) === text;
}

/** JSON on one line that a terminal may be shown: the same value, with what could move the cursor written as escapes. */
export function printableJson(value: unknown): string {
  return JSON.stringify(value).replace(UNSAFE, character =>
    Array.from(
      { length: character.length },
      (_, index) => `\\u${character.charCodeAt(index).toString(16).padStart(4, '0')}`,
    ).join(''),
  );
}

/** Controls, bidirectional overrides, zero-width characters, line separators, tags and halves of surrogate pairs. */
const UNSAFE =
  /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\u{e0000}-\u{e007f}]|\p{Cs}/gu;
