/** A value as JSON in a script element. No text in the value can close the element. */
export function embedded(id: string, value: unknown): string {
  return embeddedJson(id, JSON.stringify(value));
}

/** The same for text that is already JSON. */
export function embeddedJson(id: string, json: string): string {
  return `<script type="application/json" id="${id}">${escaped(json)}</script>\n`;
}

/**
 * JSON.stringify escapes control characters and lone surrogates. Escaping "<" rules out end tags and comments; U+2028
 * and U+2029 end a line in some script parsers.
 */
export function escaped(json: string): string {
  return json.replace(/[<\u2028\u2029]/g, character => ESCAPES[character] as string);
}

const ESCAPES: Record<string, string> = { '<': '\\u003c', '\u2028': '\\u2028', '\u2029': '\\u2029' };

/** Escapes a text between tags. Characters that HTML forbids become U+FFFD. */
export function htmlText(text: string): string {
  return text
    .toWellFormed()
    .replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g, '\ufffd')
    .replace(/[&<>"']/g, character => `&#${character.charCodeAt(0)};`);
}
