/** Makes untrusted text safe for a terminal: escapes everything that could move the cursor, color or reorder a line. */
export function printable(text: string): string {
  return text.replace(UNSAFE, character => {
    const code = character.codePointAt(0) ?? 0;
    return `\\u{${code.toString(16)}}`;
  });
}

export function isPrintable(text: string): boolean {
  return printable(text) === text;
}

/** JSON on one line that is safe for a terminal: the same value, with unsafe characters escaped. */
export function printableJson(value: unknown): string {
  return JSON.stringify(value).replace(UNSAFE, character =>
    Array.from(
      { length: character.length },
      (_, index) => `\\u${character.charCodeAt(index).toString(16).padStart(4, '0')}`,
    ).join(''),
  );
}

/** Controls, bidirectional overrides, zero-width characters, line separators, tags and lone surrogates. */
const UNSAFE =
  /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\u{e0000}-\u{e007f}]|\p{Cs}/gu;
