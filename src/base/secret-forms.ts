import { printable } from './printable.ts';

/**
 * The forms in which secrets usually leak: unchanged, without surrounding white space, line by line, escaped for a URL, for
 * HTML or for JSON, in hexadecimal, reversed, and in base64 at any offset and with any line
 * wrapping.
 */
export function secretForms(secrets: readonly string[]): string[] {
  const written = secrets.flatMap(valuesOf);
  const forms = new Set(written);
  let room = FORMS_BYTES_MAX;
  // The likeliest forms first: if the secrets are too many or too long, the wrapped forms are omitted.
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

/** The secrets unchanged, without surrounding white space, and line by line. */
export function secretValues(secrets: readonly string[]): string[] {
  return [...new Set(secrets.flatMap(valuesOf))];
}

/** A program that reads a secret from a file often trims it, and often reads a key line by line. */
function valuesOf(secret: string): string[] {
  const lines = secret.split(/[\r\n]+/, LINES_MAX).map(line => line.trim());
  return [secret, secret.trim(), ...lines.filter(line => line.length >= ENCODED_MIN)].filter(value => value !== '');
}

function* escaped(value: string): Generator<string> {
  yield* jsonForms(value);
  yield* percentForms(value.toWellFormed());
  yield* htmlForms(value);
  yield* quotedForms(value);
  // The form in which Proctor prints unsafe names.
  yield printable(value);
  yield printable(value).replaceAll('"', '\\"');
}

/** A result in JSON can contain HTML, and HTML can contain JSON. */
function* nested(value: string): Generator<string> {
  for (const html of new Set(htmlForms(value))) yield* jsonForms(html);
  for (const json of new Set(jsonForms(value))) yield* htmlForms(json);
}

/** As written by JavaScript, Python, PHP and Go, and each of these forms as a JSON string. */
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

/** As quoted by Python (text or bytes) and by shells. */
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

/** Libraries differ in which characters they leave unescaped. */
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

/** Wrapped base64. A line can break after every fourth character, and JSON can escape the line break. */
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
 * Base64 encodes three bytes as four characters, so the result depends on the number of preceding bytes: 0, 1 or 2.
 * `column` is the position of the first character in its group of four.
 */
function base64Of(value: string): { letters: string; column: number }[] {
  const bytes = Buffer.from(value);
  return [0, 1, 2].map(before => {
    const text = Buffer.concat([Buffer.alloc(before), bytes]).toString('base64');
    // Omit characters that contain bits of a neighboring byte.
    const column = Math.ceil((before * 8) / 6);
    return { letters: text.slice(column, Math.floor(((before + bytes.length) * 8) / 6)), column };
  });
}

/** The HTML escapes for a quote and an apostrophe. */
const QUOTES: readonly (readonly [string, string])[] = [
  ['&quot;', '&#39;'],
  ['&quot;', '&#x27;'],
  ['&quot;', '&#039;'],
  ['&quot;', '&apos;'],
  ['&quot;', "'"],
  ['&#34;', '&#39;'],
  ['"', "'"],
];

/** Mail and most tools use 76 columns; PEM uses 64. */
const BASE64_WIDTHS = [76, 64];
const LINE_ENDS = ['\n', '\r\n', '\\n', '\\r\\n'];

/** Encoded forms of shorter secrets and lines would match ordinary text. */
const ENCODED_MIN = 8;
const LINES_MAX = 1_000;
const FORMS_MAX = 50_000;
const FORMS_BYTES_MAX = 32 * 1024 * 1024;
