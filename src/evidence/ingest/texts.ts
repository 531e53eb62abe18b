import { clip } from '../../base/clip.ts';
import { hostPathIn } from '../../base/path.ts';
import { holdsSecret, redact } from '../../base/redact.ts';
import { holdsTrace } from '../../contracts/script-result/index.ts';
import { secretForms } from '../../base/secret-forms.ts';

/** A message of a script, as people may see it. */
export interface SafeSummary {
  readonly text: string | null;
  /** What happened to it: replaced as a whole, cut, or rid of what is no plain text. */
  readonly changed: 'unsafe' | 'cut' | 'cleaned' | undefined;
  /** How long it was. */
  readonly bytesTotal: number;
}

/** One short line of plain text. A message that tells of the machine, or a secret, is not shown in part either. */
export function safeSummary(
  text: string | null,
  secrets: readonly string[],
  bytesMax = SUMMARY_BYTES_MAX,
): SafeSummary {
  if (text === null) return { text: null, changed: undefined, bytesTotal: 0 };
  const bytesTotal = Buffer.byteLength(text);
  const lines = plain(text);
  const forms = secretForms(secrets);
  if (isUnsafe(text, forms) || isUnsafe(lines, forms)) return { text: UNSHOWABLE, changed: 'unsafe', bytesTotal };
  const line = lines.replaceAll('\n', ' ').replace(/ +/g, ' ').trim();
  const { text: head, truncated } = clip(line, bytesMax);
  // Lines that are joined, and a line that is cut, can become what none of them was.
  if (isUnsafe(head, forms)) return { text: UNSHOWABLE, changed: 'unsafe', bytesTotal };
  const changed = truncated ? 'cut' : head === text ? undefined : 'cleaned';
  return { text: head === '' ? null : head, changed, bytesTotal };
}

/** HTML of a script, for a frame that runs nothing. */
export interface SafeHtml {
  readonly text: string;
  /** How many secrets were masked. */
  readonly masked: number;
  readonly truncated: boolean;
  readonly bytesTotal: number;
}

/**
 * Masked before it is cut, so that no cut can leave the half of a secret that no pattern knows. Nothing is appended:
 * after a cut inside a tag or an entity, any text of ours would become a part of it.
 */
export function safeHtml(text: string, secrets: readonly string[], bytesMax = HTML_BYTES_MAX): SafeHtml {
  const masked = redact(text.replaceAll('\0', '\ufffd'), secretForms(secrets));
  const { text: head, truncated } = clip(masked.text, bytesMax);
  return { text: head, masked: masked.masked, truncated, bytesTotal: Buffer.byteLength(text) };
}

/** Lines of text that mean what they look like: no terminal sequences, nothing invisible, one space between words. */
function plain(text: string): string {
  return text
    .toWellFormed()
    .replace(TERMINAL, '')
    .replace(/\r\n?|[\v\f\u0085\u2028\u2029]/g, '\n')
    .replaceAll('\t', ' ')
    .replace(INVISIBLE, '')
    .replace(/[^\S\n]+/g, ' ');
}

function isUnsafe(text: string, forms: readonly string[]): boolean {
  if (holdsTrace(text) || hostPathIn(text) !== undefined || holdsSecret(text)) return true;
  // A secret that is written over several lines is still one. A short one would be found in any text without spaces.
  const dense = text.replace(/\s+/g, '');
  const denseForms = new Set(forms.map(form => form.replace(/\s+/g, '')).filter(form => form.length >= DENSE_MIN));
  return [...denseForms].some(form => dense.includes(form)) || forms.some(form => text.includes(form));
}

const UNSHOWABLE = 'The script gave a message that may not be shown.';

/**
 * Colours, cursor moves, links and titles, each ended by its own letter, or by BEL or ESC \ within bounds. None holds the
 * beginning of another, so that a flood of beginnings is not read again from each of them.
 */
const TERMINAL =
  /(?:\u001b\[|\u009b)[0-?]{0,100}[ -/]{0,10}[@-~]|(?:\u001b[\]PX^_]|[\u009d\u0090\u0098\u009e\u009f])[^\u0007\u001b\u0090\u0098\u009c-\u009f\n]{0,2000}(?:\u0007|\u001b\\|\u009c)|\u001b[ -/]{0,10}[0-~]/g;

/** Controls, halves of pairs, private letters, and what reorders or takes no room; line feeds are kept. */
const INVISIBLE = /[^\P{C}\n]|\p{Default_Ignorable_Code_Point}/gu;

const SUMMARY_BYTES_MAX = 2_000;
const HTML_BYTES_MAX = 500_000;
const DENSE_MIN = 8;
