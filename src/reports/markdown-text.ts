import { clip } from '../base/clip.ts';
import { printable } from '../base/printable.ts';

/**
 * A text of the agent's in Markdown: a code span, in which nothing is alive, neither HTML nor a link, a mention, an
 * image or a formula. Bars are broken, because a table would end its cell at one.
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
 * A sentence of ours with words of the agent's in “quotes”: those become code. Nothing is taken on trust: what is not
 * plain words becomes code, too.
 */
export function prose(text: string): string {
  const { text: head, truncated } = clip(text, PROSE_BYTES_MAX);
  const parts = printable(head).split(/“([^”]*)”/);
  let told = '';
  for (const [index, part] of parts.entries()) {
    if (part === '') continue;
    const next = index % 2 === 1 || !isPlain(part) ? spaced(part) : part;
    // Two spans that touch would be one, with other ends.
    told += told.endsWith('`') && next.startsWith('`') ? ` ${next}` : next;
  }
  return `${told}${truncated ? '…' : ''}`;
}

const CODE_BYTES_MAX = 200;
const PROSE_BYTES_MAX = 500;

/** Code without the blanks around it, which stay outside. */
function spaced(part: string): string {
  const [, before = '', inner = '', after = ''] = /^(\s*)(.*?)(\s*)$/s.exec(part) ?? [];
  return `${before}${code(inner)}${after}`;
}

function isPlain(text: string): boolean {
  return WORDS.test(text) && !ALIVE.test(text);
}

/** Letters, digits and what sentences need; none of it means anything to Markdown in the middle of a line or word. */
const WORDS = /^(?:[A-Za-z0-9 ,.;:()'%=+→–-]|(?<=[A-Za-z0-9])_(?=[A-Za-z0-9])|(?<=\d)\/(?=\d))*$/;

/** Plain text that becomes something else all the same: addresses, commits, references to issues, pictures by name. */
const ALIVE = /www\.|:\/\/|\b[0-9a-f]{7,40}\b|\b[A-Z][A-Z0-9]*-\d|:[a-z0-9+-]+:/i;
