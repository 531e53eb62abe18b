/** A value as JSON inside a page, which no text in it can end or leave. */
export function embedded(id: string, value: unknown): string {
  return embeddedJson(id, JSON.stringify(value));
}

/** The same for a value that is JSON already. */
export function embeddedJson(id: string, json: string): string {
  return `<script type="application/json" id="${id}">${escaped(json)}</script>\n`;
}

/**
 * JSON.stringify writes control characters and halves of surrogate pairs as escapes. Without "<" there is neither an end tag
 * nor a comment, and the two separators end a line for some readers of scripts.
 */
export function escaped(json: string): string {
  return json.replace(/[<\u2028\u2029]/g, character => ESCAPES[character] as string);
}

const ESCAPES: Record<string, string> = { '<': '\\u003c', '\u2028': '\\u2028', '\u2029': '\\u2029' };

/** A text between tags, where what has no place in HTML is shown as unknown. */
export function htmlText(text: string): string {
  return text
    .toWellFormed()
    .replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g, '\ufffd')
    .replace(/[&<>"']/g, character => `&#${character.charCodeAt(0)};`);
}
