import { CREDENTIAL_FINDERS } from './credential-finder.ts';
import { Masker } from './masker.ts';
import { Needles } from './needles.ts';

/** A masked text and the number of masked ranges. */
export interface Redacted {
  readonly text: string;
  readonly masked: number;
}

/** Masks the declared secrets in all their forms, then everything that looks like a well-known credential. */
export function redact(text: string, secrets: readonly string[] | Needles = []): Redacted {
  const masker = new Masker({ secrets, credentials: true });
  return { text: masker.text(text), masked: masker.masked };
}

/** Like `redact`, for a text that is or contains a truncated text, and may end with a part of a secret. */
export function redactCut(
  text: string,
  secrets: readonly string[] | Needles,
  forms: readonly string[] = secrets instanceof Needles ? [] : secrets,
): Redacted {
  const { text: whole, masked } = redact(text, secrets);
  const spans = joined(forms.flatMap(secret => [...beginnings(whole, secret)]));
  const parts: string[] = [];
  let from = 0;
  for (const [start, end] of spans) {
    parts.push(whole.slice(from, start), '[masked]');
    from = end;
  }
  return { text: parts.join('') + whole.slice(from), masked: masked + spans.length };
}

/** Whether a text contains anything that looks like a well-known credential. */
export function holdsSecret(text: string): boolean {
  const bytes = Buffer.from(text);
  return CREDENTIAL_FINDERS.some(finder => finder.find(bytes, 0, false) !== undefined);
}

type Span = readonly [start: number, end: number];

function* beginnings(text: string, secret: string): Generator<Span> {
  if (secret.length <= BEGINNING_MIN) return;
  const head = secret.slice(0, BEGINNING_MIN);
  for (let start = text.indexOf(head); start >= 0; start = text.indexOf(head, start + BEGINNING_MIN)) {
    let end = start + BEGINNING_MIN;
    while (end < text.length && text[end] === secret[end - start]) end++;
    yield [start, end];
  }
}

/** Shorter prefixes reveal little and occur in any text. */
const BEGINNING_MIN = 8;

/** Merges overlapping ranges, so that no part of a range remains. */
function joined(spans: Span[]): Span[] {
  const apart: Span[] = [];
  for (const [start, end] of spans.sort((a, b) => a[0] - b[0])) {
    const last = apart.at(-1);
    if (last && start < last[1]) apart[apart.length - 1] = [last[0], Math.max(last[1], end)];
    else apart.push([start, end]);
  }
  return apart;
}
