import { isWithin, placeOf } from '../../base/place.ts';

/** Finds the lines of paths in valid JSON text. JSON.parse keeps no positions, and valid files never need them. */
export class JsonPlaces {
  readonly #text: string;
  /** The offset of each case, computed on first use. */
  #starts: readonly number[] | undefined;
  /** The line found last. Lookups in order count every line only once. */
  #last = { offset: 0, line: 1 };

  constructor(text: string) {
    this.#text = text;
  }

  /** Returns the line of a path, or of its nearest existing parent. */
  lineOf(place: string): number {
    return this.#lineIn(skipBlank(this.#text, 0), place);
  }

  /** The same, relative to one case. */
  lineInCase(index: number, place: string): number {
    this.#starts ??= caseStarts(this.#text);
    return this.#lineIn(this.#starts[index] ?? 0, place);
  }

  #lineIn(start: number, place: string): number {
    const offset = offsetWithin(this.#text, start, place, '') ?? start;
    let { offset: from, line } = offset < this.#last.offset ? { offset: 0, line: 1 } : this.#last;
    for (;;) {
      const feed = this.#text.indexOf('\n', from);
      if (feed < 0 || feed >= offset) break;
      from = feed + 1;
      line++;
    }
    this.#last = { offset: from, line };
    return line;
  }
}

function caseStarts(text: string): number[] {
  const top = skipBlank(text, 0);
  const list = text[top] === '[' ? top : [...partsOf(text, top)].find(({ key }) => key === 'cases')?.valueAt;
  return list === undefined ? [] : [...partsOf(text, list)].map(({ valueAt }) => valueAt);
}

/** Returns the offset of the key at a path, or of its nearest existing parent. */
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

/** Yields the members of an object or the elements of a list; other values have none. */
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

/** Skips a number, a literal, or the separators between two values. */
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
