/** Why a path does not compile. The caller adds the file, the line and the key. */
export class PathError extends Error {
  override readonly name = 'PathError';
  /** Where in the path, in UTF-16 units from 0. */
  readonly offset: number;

  constructor(offset: number, message: string) {
    super(message);
    this.offset = offset;
  }
}

/** A position in the text of a path, and the tokens of RFC 9535 that can start there. */
export class PathText {
  readonly text: string;
  at = 0;

  constructor(text: string) {
    this.text = text;
  }

  get next(): string {
    return this.text[this.at] ?? '';
  }

  get isAtEnd(): boolean {
    return this.at >= this.text.length;
  }

  /** Throws at the current position, or at `offset`. */
  fail(message: string, offset = this.at): never {
    throw new PathError(offset, message);
  }

  skipBlanks(): void {
    while (BLANK.has(this.next)) this.at++;
  }

  /** Moves past `token` if it comes next. */
  takes(token: string): boolean {
    if (!this.text.startsWith(token, this.at)) return false;
    this.at += token.length;
    return true;
  }

  /** Moves past a match of a sticky pattern, and returns it; undefined if there is none. */
  match(sticky: RegExp): string | undefined {
    sticky.lastIndex = this.at;
    const found = sticky.exec(this.text)?.[0];
    this.at += found?.length ?? 0;
    return found;
  }

  /** A name after a dot. */
  shorthandName(): string {
    const name = this.match(NAME);
    if (name === undefined) return this.fail(`expected a name after the dot. ${QUOTE_IT}`);
    if (this.next === '-') return this.fail(`a name after a dot cannot contain "-". ${QUOTE_IT}`);
    return name;
  }

  /** An index: no leading zeros, no "-0". */
  index(): number {
    const start = this.at;
    const digits = this.match(DIGITS);
    if (digits === undefined) return this.fail('expected an index');
    if (!INDEX.test(digits)) return this.fail('an index has no leading zeros and is not -0', start);
    const index = Number(digits);
    return Number.isSafeInteger(index) ? index : this.fail('the index is too large', start);
  }

  number(): number {
    const start = this.at;
    const number = Number(this.match(NUMBER) ?? this.fail('expected a number'));
    return Number.isFinite(number) ? number : this.fail('the number is too large', start);
  }

  /** A string in single or double quotes. */
  quoted(): string {
    const start = this.at;
    const quote = this.next;
    this.at++;
    let text = '';
    for (;;) {
      text += this.match(quote === '"' ? IN_DOUBLE : IN_SINGLE) ?? '';
      if (this.takes(quote)) return text;
      if (this.isAtEnd) return this.fail('the quoted name has no closing quote', start);
      if (this.next !== '\\') return this.fail('write control characters and lone surrogates as \\u escapes');
      text += this.#escape(quote);
    }
  }

  #escape(quote: string): string {
    const start = this.at;
    const code = this.text[this.at + 1] ?? '';
    this.at += 2;
    if (code === quote) return quote;
    const plain = ESCAPES[code];
    if (plain !== undefined) return plain;
    if (code !== 'u') return this.fail('this escape is not supported; use the escapes of JSON', start);
    const unit = this.#unit(start);
    if (isLow(unit)) return this.fail('a low surrogate must follow a high one', start);
    if (!isHigh(unit)) return String.fromCharCode(unit);
    if (!this.takes('\\u')) return this.fail('a low surrogate must follow a high one', start);
    const low = this.#unit(start);
    return isLow(low) ? String.fromCharCode(unit, low) : this.fail('a low surrogate must follow a high one', start);
  }

  #unit(start: number): number {
    const digits = this.match(FOUR_DIGITS) ?? this.fail('\\u needs four hexadecimal digits', start);
    return Number.parseInt(digits, 16);
  }
}

const QUOTE_IT = 'Put other names in quotes, such as ["a-b"]';

const BLANK: ReadonlySet<string> = new Set([' ', '\t', '\n', '\r']);
const NAME = /[A-Za-z_\u{80}-\u{d7ff}\u{e000}-\u{10ffff}][0-9A-Za-z_\u{80}-\u{d7ff}\u{e000}-\u{10ffff}]*/uy;
const DIGITS = /-?\d+/y;
const INDEX = /^(?:0|-?[1-9]\d*)$/;
const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const IN_DOUBLE = /[^"\\\u{0}-\u{1f}\u{d800}-\u{dfff}]+/uy;
const IN_SINGLE = /[^'\\\u{0}-\u{1f}\u{d800}-\u{dfff}]+/uy;
const FOUR_DIGITS = /[0-9a-fA-F]{4}/y;

/** A map without a prototype, so that `\constructor` is not found. */
const ESCAPES: Readonly<Record<string, string>> = Object.assign(Object.create(null) as object, {
  b: '\b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
  '/': '/',
  '\\': '\\',
});

const isHigh = (unit: number): boolean => unit >= 0xd800 && unit <= 0xdbff;
const isLow = (unit: number): boolean => unit >= 0xdc00 && unit <= 0xdfff;
