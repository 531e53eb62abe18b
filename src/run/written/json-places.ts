import { isWithin, placeOf } from '../../base/place.ts';

/**
 * Finds the lines of places in the text of a JSON document that was read before, so that nothing is doubted here.
 * JSON.parse keeps no positions, and honest files never need them.
 */
export class JsonPlaces {
  readonly #text: string;
  /** Where each case begins, once somebody has asked. */
  #starts: readonly number[] | undefined;

  constructor(text: string) {
    this.#text = text;
  }

  /** The line of a place in the document, or of what is around it if it is missing. */
  lineOf(place: string): number {
    return this.#lineIn(skipBlank(this.#text, 0), place);
  }

  /** The same, in one of its cases. */
  lineInCase(index: number, place: string): number {
    this.#starts ??= caseStarts(this.#text);
    return this.#lineIn(this.#starts[index] ?? 0, place);
  }

  #lineIn(start: number, place: string): number {
    const offset = offsetWithin(this.#text, start, place, '') ?? start;
    let line = 1;
    for (let feed = this.#text.indexOf('\n'); feed >= 0 && feed < offset; line++) {
      feed = this.#text.indexOf('\n', feed + 1);
    }
    return line;
  }
}

function caseStarts(text: string): number[] {
  const top = skipBlank(text, 0);
  const list = text[top] === '[' ? top : [...partsOf(text, top)].find(({ key }) => key === 'cases')?.valueAt;
  return list === undefined ? [] : [...partsOf(text, list)].map(({ valueAt }) => valueAt);
}

/** Where the key of a place stands, or the innermost thing around it that is there. */
function offsetWithin(text: string, start: number, place: string, here: string): number | undefined {
  for (const { key, keyAt, valueAt } of partsOf(text, start)) {
    const there = placeOf(here, key);
    if (there === place) return keyAt;
    if (isWithin(place, there)) return offsetWithin(text, valueAt, place, there) ?? keyAt;
  }
  return undefined;
}

interface Part {
  readonly key: string | number;
  readonly keyAt: number;
  readonly valueAt: number;
}

/** The members of an object or the elements of a list; nothing else has parts. */
function* partsOf(text: string, at: number): Generator<Part> {
  const isObject = text[at] === '{';
  if (!isObject && text[at] !== '[') return;
  let index = 0;
  for (let next = skipBlank(text, at + 1); text[next] !== '}' && text[next] !== ']'; ) {
    const keyAt = next;
    let key: string | number = index++;
    if (isObject) {
      const keyEnd = stringEnd(text, keyAt);
      key = JSON.parse(text.slice(keyAt, keyEnd)) as string;
      next = skipBlank(text, skipBlank(text, keyEnd) + 1);
    }
    yield { key, keyAt, valueAt: next };
    next = skipBlank(text, valueEnd(text, next));
    if (text[next] === ',') next = skipBlank(text, next + 1);
  }
}

function valueEnd(text: string, start: number): number {
  let depth = 0;
  let at = start;
  do {
    const unit = text[at];
    if (unit === '"') at = stringEnd(text, at);
    else if (unit === '{' || unit === '[') {
      depth++;
      at++;
    } else if (unit === '}' || unit === ']') {
      depth--;
      at++;
    } else at = plainEnd(text, at);
  } while (depth > 0);
  return at;
}

/** The end of a number or word, and inside a list or object of what is between two of them. */
function plainEnd(text: string, start: number): number {
  let at = start + 1;
  while (at < text.length && !STOPS.has(text[at] as string)) at++;
  return at;
}

const STOPS: ReadonlySet<string> = new Set('"{}[],: \n\r\t');

function stringEnd(text: string, start: number): number {
  let at = start + 1;
  for (;;) {
    const quote = text.indexOf('"', at);
    let backslashes = 0;
    while (text[quote - 1 - backslashes] === '\\') backslashes++;
    if (backslashes % 2 === 0) return quote + 1;
    at = quote + 1;
  }
}

function skipBlank(text: string, start: number): number {
  let at = start;
  while (BLANK.has(text[at] as string)) at++;
  return at;
}

const BLANK: ReadonlySet<string> = new Set(' \n\r\t');
