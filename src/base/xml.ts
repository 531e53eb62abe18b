/** An element that begins or ends. Text between elements is checked and ignored. */
export interface XmlTag {
  readonly kind: 'open' | 'close';
  readonly name: string;
  /** Empty for a closing tag. */
  readonly attributes: ReadonlyMap<string, string>;
  /** 1 for the root. */
  readonly depth: number;
  /** Its offset in the text. */
  readonly at: number;
}

/** Why a text is not supported XML. */
export class XmlFault extends Error {
  readonly at: number;

  constructor(at: number, says: string) {
    super(says);
    this.at = at;
  }
}

/**
 * The tags of an XML document, in order. It reads elements, attributes, comments, CDATA, the five named entities and
 * numeric references. It rejects document types, because custom entities can expand without limit or read other files.
 * Throws `XmlFault`.
 */
export function* tagsOf(text: string): Generator<XmlTag> {
  const open: string[] = [];
  let isRootSeen = false;
  let at = afterDeclaration(text);
  while (at < text.length) {
    const next = text.indexOf('<', at);
    const end = next < 0 ? text.length : next;
    checkText(text, at, end, open.length > 0);
    if (next < 0) break;
    const skipped = afterAside(text, next, open.length > 0);
    if (skipped !== undefined) {
      at = skipped;
    } else if (text[next + 1] === '/') {
      at = closed(text, next, open);
      yield { kind: 'close', name: open.pop() as string, attributes: NONE, depth: open.length + 1, at: next };
    } else {
      if (open.length === 0 && isRootSeen) throw new XmlFault(next, 'A second root element begins here');
      if (open.length === DEPTH_MAX) throw new XmlFault(next, `Elements are nested deeper than ${DEPTH_MAX}`);
      isRootSeen = true;
      const { name, attributes, isEmpty, after } = opened(text, next);
      const depth = open.length + 1;
      yield { kind: 'open', name, attributes, depth, at: next };
      if (isEmpty) yield { kind: 'close', name, attributes: NONE, depth, at: next };
      else open.push(name);
      at = after;
    }
  }
  if (open.length > 0) throw new XmlFault(text.length, 'The file ends before its elements are closed');
  if (!isRootSeen) throw new XmlFault(0, 'The file has no element');
}

const DEPTH_MAX = 64;
const ATTRIBUTES_MAX = 256;
const NONE: ReadonlyMap<string, string> = new Map();

const SPACE = String.raw`[ \t\r\n]`;
const NAME = String.raw`[A-Za-z_:\u0080-\uffff][\w:.\-\u0080-\uffff]*`;
const DECLARATION = new RegExp(String.raw`<\?xml(${SPACE}[^?]*)\?>`, 'y');
const OPEN = new RegExp(`<(${NAME})`, 'y');
const ATTRIBUTE = new RegExp(`${SPACE}+(${NAME})${SPACE}*=${SPACE}*("[^<"]*"|'[^<']*')`, 'y');
const OPEN_END = new RegExp(`${SPACE}*(/?)>`, 'y');
const CLOSE = new RegExp(`</(${NAME})${SPACE}*>`, 'y');
const REFERENCE = /&(?:(amp|lt|gt|quot|apos)|#(\d{1,7})|#x([\da-fA-F]{1,6}));/g;
const STRAY = /&(?!(?:amp|lt|gt|quot|apos|#\d{1,7}|#x[\da-fA-F]{1,6});)/g;
const ENTITIES: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" };

function matchAt(pattern: RegExp, text: string, at: number): RegExpExecArray | null {
  pattern.lastIndex = at;
  return pattern.exec(text);
}

function afterDeclaration(text: string): number {
  if (!/^<\?xml[ \t\r\n]/.test(text)) return 0;
  const [whole, words = ''] = matchAt(DECLARATION, text, 0) ?? [];
  if (whole === undefined) throw new XmlFault(0, 'The XML declaration is not complete');
  const [, encoding = 'utf-8'] = /encoding[ \t\r\n]*=[ \t\r\n]*["']([^"']*)["']/.exec(words) ?? [];
  if (!/^(?:utf-?8|us-ascii|ascii)$/i.test(encoding)) throw new XmlFault(0, 'The encoding must be UTF-8');
  return whole.length;
}

/** The end of a comment, CDATA or processing instruction; undefined if none starts here. */
function afterAside(text: string, at: number, isInside: boolean): number | undefined {
  for (const [start, end] of ASIDES) {
    if (!text.startsWith(start, at)) continue;
    if (start === CDATA && !isInside) throw new XmlFault(at, 'There is text outside the root element');
    const found = text.indexOf(end, at + start.length);
    if (found < 0) throw new XmlFault(at, `The closing "${end}" is missing`);
    return found + end.length;
  }
  if (text[at + 1] === '!') throw new XmlFault(at, 'Document types and custom entities are not supported');
  return undefined;
}

const CDATA = '<![CDATA[';
const ASIDES = [
  ['<!--', '-->'],
  [CDATA, ']]>'],
  ['<?', '?>'],
] as const;

function checkText(text: string, from: number, to: number, isInside: boolean): void {
  if (from === to) return;
  const piece = text.slice(from, to);
  if (!isInside && /[^ \t\r\n]/.test(piece)) throw new XmlFault(from, 'There is text outside the root element');
  checkReferences(piece, from);
}

function checkReferences(piece: string, from: number): void {
  if (!piece.includes('&')) return;
  const stray = piece.search(STRAY);
  if (stray >= 0) throw new XmlFault(from + stray, 'Only the entities amp, lt, gt, quot and apos are supported');
}

function closed(text: string, at: number, open: readonly string[]): number {
  const [whole, name] = matchAt(CLOSE, text, at) ?? [];
  if (whole === undefined) throw new XmlFault(at, 'This closing tag is not complete');
  if (open.at(-1) !== name) throw new XmlFault(at, 'This closing tag does not match the open element');
  return at + whole.length;
}

interface Opened {
  readonly name: string;
  readonly attributes: ReadonlyMap<string, string>;
  readonly isEmpty: boolean;
  readonly after: number;
}

function opened(text: string, at: number): Opened {
  const [head, name] = matchAt(OPEN, text, at) ?? [];
  if (head === undefined || name === undefined) throw new XmlFault(at, 'A "<" is not followed by an element name');
  const attributes = new Map<string, string>();
  let after = at + head.length;
  for (let found = matchAt(ATTRIBUTE, text, after); found; found = matchAt(ATTRIBUTE, text, after)) {
    const [whole, key, quoted] = found as unknown as [string, string, string];
    if (attributes.has(key)) throw new XmlFault(after, 'An attribute appears twice in this element');
    if (attributes.size === ATTRIBUTES_MAX)
      throw new XmlFault(after, `An element has more than ${ATTRIBUTES_MAX} attributes`);
    attributes.set(key, valueOf(quoted.slice(1, -1), after));
    after += whole.length;
  }
  const [tail, slash] = matchAt(OPEN_END, text, after) ?? [];
  if (tail === undefined) throw new XmlFault(after, 'This element or one of its attributes is not complete');
  return { name, attributes, isEmpty: slash === '/', after: after + tail.length };
}

function valueOf(raw: string, at: number): string {
  checkReferences(raw, at);
  return raw
    .replace(/[\t\r\n]/g, ' ')
    .replace(REFERENCE, (_, entity?: string, decimal?: string, hex?: string) =>
      entity === undefined
        ? characterOf(decimal === undefined ? `0x${hex ?? ''}` : decimal, at)
        : (ENTITIES[entity] as string),
    );
}

/** Control characters are allowed, because tools write them and they have no effect here. */
function characterOf(number: string, at: number): string {
  const code = Number(number);
  if (code === 0 || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff))
    throw new XmlFault(at, 'A reference names a character that does not exist');
  return String.fromCodePoint(code);
}
