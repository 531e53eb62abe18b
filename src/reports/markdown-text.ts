import { clip } from '../base/clip.ts';
import { printable } from '../base/printable.ts';

/**
 * The agent's text as a code span, so that HTML, links, mentions, images and formulas stay inert. Bars are replaced,
 * because a bar would end a table cell.
 */
export function code(text: string, bytesMax = CODE_BYTES_MAX): string {
  const { text: head, truncated } = clip(text, bytesMax);
  const inner = `${printable(head).replaceAll('|', '¦')}${truncated ? '…' : ''}`;
  if (inner.trim() === '') return '` `';
  const longest = Math.max(0, ...[...inner.matchAll(/`+/g)].map(([run]) => run.length));
  const fence = '`'.repeat(longest + 1);
  const isEdgy = inner.startsWith('`') || inner.endsWith('`') || (inner.startsWith(' ') && inner.endsWith(' '));
  return isEdgy ? `${fence} ${inner} ${fence}` : `${fence}${inner}${fence}`;
}

/**
 * Proctor's sentence with the agent's words in “quotes”, which become code spans. Anything else that is not plain words
 * becomes code, too.
 */
export function prose(text: string): string {
  const { text: head, truncated } = clip(text, PROSE_BYTES_MAX);
  const parts = printable(head).split(/“([^”]*)”/);
  let told = '';
  for (const [index, part] of parts.entries()) {
    if (part === '') continue;
    const next = index % 2 === 1 || !isPlain(part) ? spaced(part) : part;
    // Adjacent spans would merge into one.
    told += told.endsWith('`') && next.startsWith('`') ? ` ${next}` : next;
  }
  return `${told}${truncated ? '…' : ''}`;
}

const CODE_BYTES_MAX = 200;
const PROSE_BYTES_MAX = 500;

/** Keeps surrounding spaces outside the code span. */
function spaced(part: string): string {
  const [, before = '', inner = '', after = ''] = /^(\s*)(.*?)(\s*)$/s.exec(part) ?? [];
  return `${before}${code(inner)}${after}`;
}

function isPlain(text: string): boolean {
  return WORDS.test(text) && !ALIVE.test(text);
}

/** Characters that have no meaning in Markdown inside a line or word. */
const WORDS = /^(?:[A-Za-z0-9 ,.;:()'%=+→–-]|(?<=[A-Za-z0-9])_(?=[A-Za-z0-9])|(?<=\d)\/(?=\d))*$/;

/** Plain text that renderers turn into links or emoji: addresses, commits, issue references, names such as `:tada:`. */
const ALIVE = /www\.|:\/\/|\b[0-9a-f]{7,40}\b|\b[A-Z][A-Z0-9]*-\d|:[a-z0-9+-]+:/i;
