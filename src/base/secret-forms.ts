import { printable } from './printable.ts';

/**
 * The secrets of a run in the ways that they are usually written when they leak: as they are, without the white space
 * around them, line by line, escaped for a URL, for HTML or for JSON, in hexadecimal, backwards, and in base64 wherever in the
 * encoded text they begin and wherever it is wrapped.
 */
export function secretForms(secrets: readonly string[]): string[] {
  const written = secrets.flatMap(valuesOf);
  const forms = new Set(written);
  let room = FORMS_BYTES_MAX;
  // The likeliest first: where there are too many and too long secrets for all of their forms, the wrapped ones are missing.
  for (const formsOf of [escaped, encoded, nested, wrapped]) {
    for (const value of new Set(written)) {
      for (const form of formsOf(value)) {
        if (forms.has(form)) continue;
        room -= form.length;
        if (room < 0 || forms.size >= FORMS_MAX) return [...forms];
        forms.add(form);
      }
    }
  }
  return [...forms];
}

/** The secrets as they are, without white space around them, and line by line. */
export function secretValues(secrets: readonly string[]): string[] {
  return [...new Set(secrets.flatMap(valuesOf))];
}

/** A file that holds a secret ends with a line feed, and who reads it takes that off; a key is often read line by line. */
function valuesOf(secret: string): string[] {
  const lines = secret.split(/[\r\n]+/, LINES_MAX).map(line => line.trim());
  return [secret, secret.trim(), ...lines.filter(line => line.length >= ENCODED_MIN)].filter(value => value !== '');
}

function* escaped(value: string): Generator<string> {
  yield* jsonForms(value);
  yield* percentForms(value.toWellFormed());
  yield* htmlForms(value);
  yield* quotedForms(value);
  // As we ourselves show names that hold what a terminal must not see.
  yield printable(value);
  yield printable(value).replaceAll('"', '\\"');
}

/** A page is a text in a result, which is JSON; and what is JSON may be shown on a page. */
function* nested(value: string): Generator<string> {
  for (const html of new Set(htmlForms(value))) yield* jsonForms(html);
  for (const json of new Set(jsonForms(value))) yield* htmlForms(json);
}

/** As JavaScript, Python, PHP and Go write it, and each of them once more as a text in JSON. */
function* jsonForms(value: string): Generator<string> {
  const json = inJson(value);
  const upper = json.replace(/[^ -~]/g, character => `\\u${unicodeEscape(character).slice(2).toUpperCase()}`);
  const go = json.replace(/[<>&]/g, unicodeEscape);
  const slashes = [json, inAscii(json)].map(form => form.replaceAll('/', '\\/'));
  for (const form of [json, inAscii(json), upper, ...slashes, go]) {
    yield form;
    yield inJson(form);
    yield inAscii(inJson(form));
  }
}

function* htmlForms(value: string): Generator<string> {
  for (const [quote, apostrophe] of QUOTES) {
    const entities: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': quote, "'": apostrophe };
    const html = value.replace(/[&<>"']/g, character => entities[character] ?? character);
    yield html;
    yield html.replace(/[^\0-~]/gu, character => `&#${character.codePointAt(0)};`);
  }
}

/** As Python shows a text or its bytes, and a shell a word that it quotes. */
function* quotedForms(value: string): Generator<string> {
  const text = inJson(value).replaceAll('\\"', '"');
  const bytes = Buffer.from(text)
    .toString('latin1')
    .replace(/[^\0-~]/g, byte => `\\x${byte.charCodeAt(0).toString(16)}`);
  yield text;
  yield bytes;
  yield inJson(value).replaceAll("'", "\\'");
  for (const apostrophe of ["\\'", "'\\''", `'"'"'`]) {
    yield text.replaceAll("'", apostrophe);
    yield bytes.replaceAll("'", apostrophe);
    yield value.replaceAll("'", apostrophe);
  }
}

function inAscii(json: string): string {
  return json.replace(/[^ -~]/g, unicodeEscape);
}

function inJson(text: string): string {
  return JSON.stringify(text).slice(1, -1);
}

function unicodeEscape(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
}

/** What else than letters and digits may stand unescaped is another matter for every library. */
function* percentForms(value: string): Generator<string> {
  const usual = encodeURIComponent(value);
  const strict = usual.replace(/[!'()*]/g, character => `%${character.charCodeAt(0).toString(16).toUpperCase()}`);
  const form = new URLSearchParams([['', value]]).toString().slice(1);
  const withSlashes = [usual, strict].map(text => text.replaceAll('%2F', '/'));
  for (const text of [usual, strict, form, encodeURI(value), ...withSlashes]) {
    for (const spaced of [text, text.replaceAll('%20', '+')]) {
      yield spaced;
      yield spaced.replace(/%[0-9A-F]{2}/g, escape => escape.toLowerCase());
    }
  }
}

function* encoded(value: string): Generator<string> {
  if (value.length < ENCODED_MIN) return;
  yield Array.from(value).reverse().join('');
  const hex = Buffer.from(value).toString('hex');
  yield hex;
  yield hex.toUpperCase();
  for (const { letters } of base64Of(value)) {
    yield letters;
    yield letters.replaceAll('+', '-').replaceAll('/', '_');
    yield letters.replaceAll('/', '\\/');
    yield letters.replaceAll('+', '%2B').replaceAll('/', '%2F');
  }
}

/** Base64 in lines, which may break the letters of a secret at every fourth; the break itself may be written in JSON. */
function* wrapped(value: string): Generator<string> {
  if (value.length < ENCODED_MIN) return;
  for (const { letters, column } of base64Of(value)) {
    for (const width of BASE64_WIDTHS) {
      for (let first = width - column; first > 0; first -= 4) {
        if (first >= letters.length) continue;
        const lines = [letters.slice(0, first)];
        for (let at = first; at < letters.length; at += width) lines.push(letters.slice(at, at + width));
        for (const lineEnd of LINE_ENDS) yield lines.join(lineEnd);
      }
    }
  }
}

/**
 * Base64 writes three bytes as four letters, so the letters depend on how many bytes came before: none, one or two.
 * `column` is the place of the first letter among its four.
 */
function base64Of(value: string): { letters: string; column: number }[] {
  const bytes = Buffer.from(value);
  return [0, 1, 2].map(before => {
    const text = Buffer.concat([Buffer.alloc(before), bytes]).toString('base64');
    // Letters that hold bits of a neighbour are left out.
    const column = Math.ceil((before * 8) / 6);
    return { letters: text.slice(column, Math.floor(((before + bytes.length) * 8) / 6)), column };
  });
}

/** How a quotation mark and an apostrophe are written in HTML. */
const QUOTES: readonly (readonly [string, string])[] = [
  ['&quot;', '&#39;'],
  ['&quot;', '&#x27;'],
  ['&quot;', '&#039;'],
  ['&quot;', '&apos;'],
  ['&quot;', "'"],
  ['&#34;', '&#39;'],
  ['"', "'"],
];

/** Of mail and most tools, and of PEM. */
const BASE64_WIDTHS = [76, 64];
const LINE_ENDS = ['\n', '\r\n', '\\n', '\\r\\n'];

/** In base64 or hexadecimal, a shorter secret is a few letters that stand in any text, and so is a shorter line. */
const ENCODED_MIN = 8;
const LINES_MAX = 1_000;
const FORMS_MAX = 50_000;
const FORMS_BYTES_MAX = 32 * 1024 * 1024;
