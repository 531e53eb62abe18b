import { clip } from '../../base/clip.ts';
import { Masker } from '../../base/masker.ts';
import { hostPathIn } from '../../base/path.ts';
import { holdsSecret } from '../../base/redact.ts';
import { holdsTrace, unsafeParts } from '../../contracts/script-result/index.ts';
import { secretForms } from '../../base/secret-forms.ts';

/** A script's message that is safe to show. */
export interface SafeSummary {
  readonly text: string | null;
  /** Replaced as a whole, stripped of unsafe parts, cut to size, or stripped of formatting. */
  readonly changed: 'unsafe' | 'redacted' | 'cut' | 'cleaned' | undefined;
  /** The size of the original message. */
  readonly bytesTotal: number;
}

/**
 * Reduces a message to one short line of plain text that is safe to show. Replaces the whole message if it contains a
 * stack trace or a secret, or if little would be left of it.
 */
export function safeSummary(
  text: string | null,
  secrets: readonly string[],
  bytesMax = SUMMARY_BYTES_MAX,
): SafeSummary {
  if (text === null) return { text: null, changed: undefined, bytesTotal: 0 };
  const bytesTotal = Buffer.byteLength(text);
  const unshowable: SafeSummary = { text: UNSHOWABLE, changed: 'unsafe', bytesTotal };
  const lines = plain(text);
  const forms = secretForms(secrets);
  if (isUnsafe(text, forms) || isUnsafe(lines, forms)) return unshowable;
  const line = lines.replaceAll('\n', ' ').replace(/ +/g, ' ').trim();
  const harmless = isUnsafe(line, forms) ? undefined : harmlessOf(line);
  if (harmless === undefined) return unshowable;
  const { text: head, truncated } = clip(harmless, bytesMax);
  // Joining or cutting lines can create unsafe text that no single line contained.
  if (isUnsafe(head, forms) || hostPathIn(head) !== undefined || unsafeParts(head).length > 0) return unshowable;
  const changed = harmless !== line ? 'redacted' : truncated ? 'cut' : head === text ? undefined : 'cleaned';
  return { text: head === '' ? null : head, changed, bytesTotal };
}

/** Removes the unsafe parts; undefined if little remains. */
function harmlessOf(line: string): string | undefined {
  const parts = unsafeParts(line);
  if (parts.length > PARTS_MAX) return undefined;
  let shown = '';
  let from = 0;
  for (const part of parts) {
    shown += `${line.slice(from, part.from)}${REMOVED}`;
    from = part.to;
  }
  const rest = shown + line.slice(from);
  const words = rest.replaceAll(REMOVED, '').match(/\p{L}{2,}/gu) ?? [];
  return parts.length > 0 && words.length < WORDS_MIN ? undefined : rest;
}

const REMOVED = '[removed]';
const PARTS_MAX = 5;
const WORDS_MIN = 2;

/** A script's HTML, for a frame that does not run scripts. */
export interface SafeHtml {
  readonly text: string;
  readonly masked: number;
  readonly truncated: boolean;
  readonly bytesTotal: number;
}

/**
 * Masks before cutting, because no pattern would match half a secret. Appends nothing: after a cut inside a tag or an
 * entity, the appended text would become part of it.
 */
export function safeHtml(
  text: string,
  secrets: readonly string[],
  bytesMax = HTML_BYTES_MAX,
  keepCredentials = false,
): SafeHtml {
  const masker = new Masker({ secrets, credentials: !keepCredentials });
  const { text: head, truncated } = clip(masker.text(text.replaceAll('\0', '\ufffd')), bytesMax);
  return { text: head, masked: masker.masked, truncated, bytesTotal: Buffer.byteLength(text) };
}

/** Removes terminal sequences and invisible characters, and collapses spaces. */
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
  if (holdsTrace(text) || holdsSecret(text)) return true;
  // A secret may be split over several lines. Skip short ones, because they would match almost any text without spaces.
  const dense = text.replace(/\s+/g, '');
  const denseForms = new Set(forms.map(form => form.replace(/\s+/g, '')).filter(form => form.length >= DENSE_MIN));
  return [...denseForms].some(form => dense.includes(form)) || forms.some(form => text.includes(form));
}

const UNSHOWABLE = "The script's message cannot be shown.";

/**
 * Colours, cursor moves, links and titles, each ended by its own letter, or by BEL or ESC \ within a limit. No
 * sequence can contain the start of another, so a flood of starts takes linear time.
 */
const TERMINAL =
  /(?:\u001b\[|\u009b)[0-?]{0,100}[ -/]{0,10}[@-~]|(?:\u001b[\]PX^_]|[\u009d\u0090\u0098\u009e\u009f])[^\u0007\u001b\u0090\u0098\u009c-\u009f\n]{0,2000}(?:\u0007|\u001b\\|\u009c)|\u001b[ -/]{0,10}[0-~]/g;

/**
 * Control characters, lone surrogates, private-use characters, and characters that reorder text or have no width. Keeps
 * line feeds.
 */
const INVISIBLE = /[^\P{C}\n]|\p{Default_Ignorable_Code_Point}/gu;

const SUMMARY_BYTES_MAX = 2_000;
const HTML_BYTES_MAX = 500_000;
const DENSE_MIN = 8;
