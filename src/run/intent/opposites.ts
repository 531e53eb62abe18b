import { type FileCount, fileCountIn, type Quantity, quantityIn } from './quantities.ts';

/** Two constraints that contradict each other. */
export interface Opposite {
  readonly index: number;
  readonly earlier: number;
  readonly because: string;
}

/**
 * Finds constraints that contradict each other, by their words alone. Deliberately conservative: the rest of the two
 * sentences must be equal, so that few questions are pointless.
 */
export function oppositesIn(constraints: readonly string[]): Opposite[] {
  const found: Opposite[] = [];
  const known = new Map<string, Claim[]>();
  for (const [index, text] of constraints.slice(0, COMPARED_MAX).entries()) {
    if (text.length > LENGTH_MAX) continue;
    for (const claim of claimsOf(text, index)) {
      const others = known.get(claim.topic) ?? [];
      known.set(claim.topic, others);
      const other = others.find(({ index: earlier, says }) => earlier !== index && excludes(says, claim.says));
      if (other && !found.some(pair => pair.index === index && pair.earlier === other.index))
        found.push({ index, earlier: other.index, because: BECAUSE[claim.says.kind] });
      else if (others.length < SAME_TOPIC_MAX) others.push(claim);
    }
  }
  return found;
}

/** A limit, because each constraint is compared with the others. */
const COMPARED_MAX = 1_000;
const LENGTH_MAX = 500;
const SAME_TOPIC_MAX = 8;

interface Claim {
  readonly index: number;
  /** Only claims with the same key can contradict each other. */
  readonly topic: string;
  readonly says: Says;
}

type Says =
  | { readonly kind: 'modal'; readonly isDenied: boolean }
  | { readonly kind: 'word'; readonly word: string }
  | { readonly kind: 'only'; readonly what: string; readonly role: 'only' | 'also' }
  | { readonly kind: 'quantity'; readonly bounds: Quantity }
  | { readonly kind: 'files'; readonly count: FileCount };

const BECAUSE: Readonly<Record<Says['kind'], string>> = {
  modal: 'one says must, the other must not',
  word: 'one excludes the other',
  only: 'one says only, the other asks for something else',
  quantity: 'their numbers do not fit together',
  files: 'they ask for different numbers of files',
};

function excludes(a: Says, b: Says): boolean {
  if (a.kind === 'modal' && b.kind === 'modal') return a.isDenied !== b.isDenied;
  if (a.kind === 'word' && b.kind === 'word') return a.word !== b.word;
  if (a.kind === 'only' && b.kind === 'only') return a.role !== b.role && a.what !== b.what;
  if (a.kind === 'quantity' && b.kind === 'quantity') return isApart(a.bounds, b.bounds);
  if (a.kind === 'files' && b.kind === 'files')
    return isApart(a.count, b.count) || isOther(a.count, b.count) || isOther(b.count, a.count);
  return false;
}

const isApart = (a: Quantity, b: Quantity): boolean => a.min > b.max || b.min > a.max;

/** Whether one claim allows a single named file and the other adds a file with another name. */
const isOther = ({ max, names }: FileCount, other: FileCount): boolean =>
  max === 1 && names.length === 1 && other.isAdded && other.names.some(name => name !== names[0]);

function* claimsOf(text: string, index: number): Generator<Claim> {
  const [, subject = '', modal = '', not, rest = ''] = MODAL.exec(text) ?? [];
  const about = plain(subject);
  const isDenied = not !== undefined || DENIES.test(modal);
  if (rest !== '') {
    yield { index, topic: `modal ${about} | ${plain(rest)}`, says: { kind: 'modal', isDenied } };
    if (!isDenied) yield* wordClaim(about, plain(rest), index);
  }
  if (isDenied) return;
  yield* onlyClaim(about, plain(rest === '' ? text : rest), index);
  const files = fileCountIn(text);
  if (files) yield { index, topic: 'files', says: { kind: 'files', count: files } };
  const quantity = files ? undefined : quantityIn(plain(text));
  if (quantity) yield { index, topic: `quantity ${quantity.of}`, says: { kind: 'quantity', bounds: quantity } };
}

/** `The service must not log`, `never log`, `always log`: subject, modality and verb. */
const MODAL =
  /^\s{0,20}(.{0,80}?)\b(must|shall|should|always|never|do not|don't|cannot|mustn't)(?:\s{1,8}(not|never)|\s{1,8}always)?\s{1,8}(\S.{0,400})$/is;
const DENIES = /^(?:never|do not|don't|cannot|mustn't)$/i;

/** `be synchronous` and `be asynchronous`: equal except for one word of a group. */
function* wordClaim(about: string, rest: string, index: number): Generator<Claim> {
  if (!rest.startsWith('be ')) return;
  const words = rest.split(' ').filter(word => !FILLERS.has(word));
  const members = words.filter(word => GROUP_OF.has(word));
  const [word] = members;
  if (word === undefined || members.length > 1) return;
  const frame = words.map(each => (each === word ? `{${GROUP_OF.get(word)}}` : each)).join(' ');
  yield { index, topic: `word ${about} | ${frame}`, says: { kind: 'word', word } };
}

const FILLERS: ReadonlySet<string> = new Set(['valid', 'in', 'as', 'written', 'format', 'file', 'document', 'only']);

/** Groups of mutually exclusive words. */
const GROUPS = [
  'synchronous asynchronous',
  'sync async',
  'blocking non-blocking',
  'stateful stateless',
  'mutable immutable',
  'public private',
  'read-only writable',
  'required optional',
  'enabled disabled',
  'json yaml xml csv toml markdown html',
];

const GROUP_OF: ReadonlyMap<string, number> = new Map(
  GROUPS.flatMap((words, group) => words.split(' ').map(word => [word, group] as const)),
);

/** `use only npm` and `also use yarn`: the same verb, another object. */
function* onlyClaim(about: string, rest: string, index: number): Generator<Claim> {
  const words = rest.split(' ');
  const role = (['only', 'also'] as const).find(each => words.indexOf(each) >= 0 && words.indexOf(each) <= 1);
  const [verb, ...what] = words.filter(word => word !== role);
  if (role === undefined || verb === undefined || what.length === 0) return;
  yield { index, topic: `only ${about} | ${verb}`, says: { kind: 'only', role, what: what.join(' ') } };
}

/** Lower case, without articles and punctuation. */
function plain(text: string): string {
  return text
    .toLowerCase()
    .split(/[\s,;:!?"“”]{1,100}/)
    .map(word => word.replace(/\.{1,3}$/, ''))
    .filter(word => word !== '' && !/^(?:the|an?|it)$/.test(word))
    .join(' ');
}
