/** A piece of a line of code and what it is. */
export interface Token {
  readonly text: string;
  readonly kind: 'plain' | 'keyword' | 'string' | 'comment' | 'number' | 'name';
}

/** What continues on the next line: a block comment or a multi-line string, by its end. */
export type Carry = { readonly kind: 'comment' | 'string'; readonly end: string } | null;

interface Language {
  readonly keywords: ReadonlySet<string>;
  /** Comments up to the end of the line. */
  readonly line: readonly string[];
  readonly block: readonly (readonly [start: string, end: string])[];
  /** Strings that may span lines. */
  readonly long: readonly string[];
  readonly quotes: string;
  /** Whether a word before a colon is a key. */
  readonly hasKeys?: boolean;
}

const words = (text: string): ReadonlySet<string> => new Set(text.split(' '));

const C_WORDS =
  'abstract any as async await bool boolean break case catch chan char class const constructor continue crate debugger declare default defer delete do double dyn else enum export extends extern false final finally float fn for from func function get go goto if impl implements import in infer inline instanceof int interface internal is keyof let long loop match mod move mut namespace native new nil none null number object of operator override package private protected pub public range readonly record ref return satisfies sealed select self set short signed sizeof static string struct super switch template this throw throws trait true try type typedef typename typeof undefined union unknown unsafe unsigned use using val var virtual void volatile where while with yield';
const PY_WORDS =
  'False None True alias and as assert async await begin break case class continue def default defined del do done echo elif else elsif end ensure esac except exit export extends fi finally for from function global if import in is lambda let local match module next nil nonlocal not null or pass print raise redo require rescue retry return self set source super then true false try undef unless until when while with yield';
const SQL_WORDS =
  'add all alter and as asc begin between by case cascade check column commit constraint create default delete desc distinct drop else end exists foreign from group having if in index inner insert into is join key left like limit not null on or order outer primary references right rollback select set table then transaction union unique update using values view when where with';

const C: Language = {
  keywords: words(C_WORDS),
  line: ['//'],
  block: [['/*', '*/']],
  long: ['`'],
  quotes: `'"`,
};
const HASH: Language = { keywords: words(PY_WORDS), line: ['#'], block: [], long: ['"""', "'''"], quotes: `'"` };
const DATA: Language = {
  keywords: words('true false null yes no on off'),
  line: ['#'],
  block: [],
  long: [],
  quotes: `'"`,
  hasKeys: true,
};
const JSON_LIKE: Language = { ...DATA, line: ['//'], block: [['/*', '*/']], quotes: '"' };
const SQL: Language = {
  keywords: words(`${SQL_WORDS} ${SQL_WORDS.toUpperCase()}`),
  line: ['--'],
  block: [['/*', '*/']],
  long: [],
  quotes: `'"`,
};
const CSS: Language = {
  keywords: words('important'),
  line: [],
  block: [['/*', '*/']],
  long: [],
  quotes: `'"`,
  hasKeys: true,
};
const MARKUP: Language = { keywords: words(''), line: [], block: [['<!--', '-->']], long: [], quotes: '"' };

const BY_ENDING: Readonly<Record<string, Language>> = {
  ...of(
    C,
    'js jsx mjs cjs ts tsx mts cts java c h cc cpp cxx hpp cs go rs swift kt kts scala dart php groovy gradle proto zig',
  ),
  ...of(HASH, 'py pyi rb sh bash zsh fish pl pm r mk ex exs jl nix tf dockerfile makefile gemfile rakefile'),
  ...of(DATA, 'yaml yml toml ini cfg conf env properties gitignore editorconfig'),
  ...of(JSON_LIKE, 'json jsonc json5 ndjson jsonl'),
  ...of(SQL, 'sql'),
  ...of(CSS, 'css scss less'),
  ...of(MARKUP, 'html htm xml svg vue svelte xhtml'),
};

function of(language: Language, endings: string): Record<string, Language> {
  return Object.fromEntries(endings.split(' ').map(ending => [ending, language]));
}

/** The language of a file by its name; undefined if the page does not know it. */
export function languageOf(path: string): Language | undefined {
  const name = (path.split('/').at(-1) ?? '').toLowerCase();
  const ending = name.includes('.') ? (name.split('.').at(-1) ?? '') : name;
  return Object.hasOwn(BY_ENDING, ending) ? BY_ENDING[ending] : undefined;
}

const TOKENS_MAX = 400;

/** The tokens of one line. It reads each character once, and stops colouring a line with too many tokens. */
export function tokensOf(
  line: string,
  language: Language | undefined,
  carry: Carry,
): { tokens: Token[]; carry: Carry } {
  if (!language) return { tokens: [{ text: line, kind: 'plain' }], carry: null };
  const tokens: Token[] = [];
  let open = carry;
  let at = 0;
  while (at < line.length) {
    if (tokens.length >= TOKENS_MAX) {
      tokens.push({ text: line.slice(at), kind: 'plain' });
      break;
    }
    const [kind, end, next] = open ? closing(line, at, open) : tokenAt(line, at, language);
    push(tokens, line.slice(at, end), kind);
    open = next;
    at = end;
  }
  return { tokens, carry: open };
}

type Found = readonly [kind: Token['kind'], end: number, carry: Carry];

function closing(line: string, at: number, { kind, end }: NonNullable<Carry>): Found {
  const found = line.indexOf(end, at);
  return found < 0 ? [kind, line.length, { kind, end }] : [kind, found + end.length, null];
}

function tokenAt(line: string, at: number, language: Language): Found {
  if (language.line.some(start => line.startsWith(start, at)) && isFree(line, at))
    return ['comment', line.length, null];
  const block = language.block.find(([start]) => line.startsWith(start, at));
  if (block) return spanning(line, at, block[0], block[1], 'comment');
  const long = language.long.find(start => line.startsWith(start, at));
  if (long) return spanning(line, at, long, long, 'string');
  const first = line[at] as string;
  if (language.quotes.includes(first)) return ['string', stringEnd(line, at, first), null];
  WORD.lastIndex = at;
  const word = WORD.exec(line)?.[0];
  if (word === undefined) return ['plain', at + 1, null];
  const end = at + word.length;
  if (/^\d/.test(word)) return ['number', end, null];
  if (language.keywords.has(word)) return ['keyword', end, null];
  const isKey = language.hasKeys ? /^\s*[:=]/.test(line.slice(end, end + 8)) : line[end] === '(';
  return [isKey ? 'name' : 'plain', end, null];
}

const WORD = /[\p{L}\p{N}_$-]+/uy;

/** A `#` inside a word, such as in a URL, starts no comment. */
function isFree(line: string, at: number): boolean {
  return line[at] !== '#' || at === 0 || /\s/.test(line[at - 1] as string);
}

function spanning(line: string, at: number, start: string, end: string, kind: 'comment' | 'string'): Found {
  return closing(line, at + start.length, { kind, end });
}

function stringEnd(line: string, at: number, quote: string): number {
  for (let index = at + 1; index < line.length; index++) {
    if (line[index] === '\\') index++;
    else if (line[index] === quote) return index + 1;
  }
  return line.length;
}

/** Joins neighbours of the same kind, so that a line has few elements. */
function push(tokens: Token[], text: string, kind: Token['kind']): void {
  const last = tokens.at(-1);
  if (last?.kind === kind) tokens[tokens.length - 1] = { text: last.text + text, kind };
  else tokens.push({ text, kind });
}
