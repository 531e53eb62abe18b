import {
  bothHold,
  differsFrom,
  doesNotHold,
  eitherHolds,
  hasValue,
  isEqualTo,
  type FilterValue,
  type PathFilter,
  type PathKey,
} from './path-filter.ts';
import { PathText } from './path-text.ts';

/** A path as segments. `$` is the document, `@` the item. */
export interface ParsedPath {
  readonly root: '$' | '@';
  readonly segments: readonly PathSegment[];
}

export type PathSegment =
  | { readonly kind: 'key'; readonly key: PathKey }
  | { readonly kind: 'all' }
  | { readonly kind: 'filter'; readonly filter: PathFilter };

/**
 * Parses our subset of RFC 9535: names, indexes, `[*]` and filters that compare single values with literals. Throws a
 * PathError. Every path that it accepts means the same in RFC 9535.
 */
export function parsePath(path: string): ParsedPath {
  const text = new PathText(path);
  if (path.length > PATH_CHARACTERS_MAX) text.fail('a path has at most 1,000 characters', PATH_CHARACTERS_MAX);
  const root = path[0];
  if (root !== '$' && root !== '@') return text.fail('a path starts with $ (the document) or @ (the item)');
  return { root, segments: new PathParser(text).segments() };
}

const PATH_CHARACTERS_MAX = 1_000;
const SEGMENTS_MAX = 50;
const NESTING_MAX = 20;

/** Reads one path. The methods mirror the grammar of RFC 9535. */
class PathParser {
  readonly #text: PathText;
  #segments = 0;

  constructor(text: PathText) {
    this.#text = text;
  }

  segments(): PathSegment[] {
    const segments: PathSegment[] = [];
    this.#text.at++;
    while (!this.#text.isAtEnd) {
      const end = this.#text.at;
      this.#text.skipBlanks();
      if (this.#text.isAtEnd) this.#text.fail('a path must not end with white space', end);
      segments.push(this.#segment());
    }
    return segments;
  }

  #segment(): PathSegment {
    const text = this.#text;
    if (++this.#segments > SEGMENTS_MAX) text.fail('a path has at most 50 segments');
    if (text.takes('.')) return { kind: 'key', key: this.#dotted() };
    if (!text.takes('[')) return text.fail('expected ".name" or "["');
    text.skipBlanks();
    const segment = this.#selector();
    this.#closeBracket();
    return segment;
  }

  #dotted(): string {
    if (this.#text.next === '.') return this.#text.fail('".." is not supported; write the whole path');
    if (this.#text.next === '*') return this.#text.fail('".*" is not supported; write [*]');
    return this.#text.shorthandName();
  }

  #selector(): PathSegment {
    if (this.#text.takes('*')) return { kind: 'all' };
    if (!this.#text.takes('?')) return { kind: 'key', key: this.#key() };
    this.#text.skipBlanks();
    return { kind: 'filter', filter: this.#or(0) };
  }

  #key(): PathKey {
    const { next } = this.#text;
    if (next === '"' || next === "'") return this.#text.quoted();
    if (next === ':') return this.#text.fail(NO_SLICES);
    if (!/[-\d]/.test(next)) return this.#text.fail('expected a quoted name, an index, * or ?filter');
    return this.#text.index();
  }

  #closeBracket(): void {
    this.#text.skipBlanks();
    if (this.#text.next === ':') this.#text.fail(NO_SLICES);
    if (this.#text.next === ',') this.#text.fail('lists of selectors are not supported; write several rules');
    if (!this.#text.takes(']')) this.#text.fail('expected "]"');
  }

  #or(nesting: number): PathFilter {
    let left = this.#and(nesting);
    for (this.#text.skipBlanks(); this.#text.takes('||'); this.#text.skipBlanks()) {
      this.#text.skipBlanks();
      left = eitherHolds(left, this.#and(nesting));
    }
    return left;
  }

  #and(nesting: number): PathFilter {
    let left = this.#basic(nesting);
    for (this.#text.skipBlanks(); this.#text.takes('&&'); this.#text.skipBlanks()) {
      this.#text.skipBlanks();
      left = bothHold(left, this.#basic(nesting));
    }
    return left;
  }

  #basic(nesting: number): PathFilter {
    const text = this.#text;
    if (nesting > NESTING_MAX) text.fail('a filter has at most 20 levels of parentheses');
    if (text.next === '(') return this.#parenthesized(nesting);
    if (text.takes('!')) {
      text.skipBlanks();
      if (text.next === '(') return doesNotHold(this.#parenthesized(nesting));
      const keys = text.next === '@' ? this.#below() : text.fail('expected @ or "(" after "!"');
      if (this.#operator()) text.fail('put a comparison after "!" in parentheses');
      return doesNotHold(hasValue(keys));
    }
    const start = text.at;
    const left = this.#value();
    const operator = this.#operator();
    if (operator) return this.#comparison(left, operator, start);
    return 'keys' in left ? hasValue(left.keys) : text.fail('compare a literal with a value below @', start);
  }

  #parenthesized(nesting: number): PathFilter {
    this.#text.at++;
    this.#text.skipBlanks();
    const filter = this.#or(nesting + 1);
    return this.#text.takes(')') ? filter : this.#text.fail('expected ")"');
  }

  #comparison(left: FilterValue, operator: '==' | '!=', start: number): PathFilter {
    this.#text.skipBlanks();
    const right = this.#value();
    if ('keys' in left && 'keys' in right) return this.#text.fail('one side of a comparison must be a literal', start);
    return operator === '==' ? isEqualTo(left, right) : differsFrom(left, right);
  }

  /** Moves past `==` or `!=`. Other operators get their own message. */
  #operator(): '==' | '!=' | undefined {
    const text = this.#text;
    text.skipBlanks();
    if (text.takes('==')) return '==';
    if (text.takes('!=')) return '!=';
    if (text.next === '<' || text.next === '>') text.fail('only == and != are supported');
    if (text.next === '=') text.fail('write == or !=; regular expressions are not supported');
    return undefined;
  }

  #value(): FilterValue {
    const text = this.#text;
    const { next } = text;
    if (next === '@') return { keys: this.#below() };
    if (next === '$') return text.fail('a filter compares values below @, not below $');
    if (next === '"' || next === "'") return { literal: text.quoted() };
    if (/[-\d]/.test(next)) return { literal: text.number() };
    const start = text.at;
    const word = text.match(WORD);
    if (word !== undefined && text.next === '(') return text.fail('functions are not supported', start);
    const literal = WORDS.get(word ?? '');
    if (literal === undefined) return text.fail('expected @, a quoted text, a number, true, false or null', start);
    return { literal };
  }

  /** The names and indexes after an `@` inside a filter. */
  #below(): PathKey[] {
    const text = this.#text;
    const keys: PathKey[] = [];
    text.at++;
    for (;;) {
      const end = text.at;
      text.skipBlanks();
      const start = text.at;
      if (text.next !== '.' && text.next !== '[') {
        text.at = end;
        return keys;
      }
      if (text.match(MANY)) text.fail('a filter looks at single values, without [*] or a filter of its own', start);
      const segment = this.#segment();
      if (segment.kind === 'key') keys.push(segment.key);
    }
  }
}

/** The start of a segment that can select several values. */
const MANY = /\[[ \t\n\r]*[*?]/y;
const NO_SLICES = 'slices are not supported; use [0], [-1], [*] or a filter';
const WORD = /[A-Za-z_]\w*/y;
const WORDS: ReadonlyMap<string, boolean | null> = new Map([
  ['true', true],
  ['false', false],
  ['null', null],
]);
