/** A text with its secrets masked, and how many were. */
export interface Redacted {
  readonly text: string;
  readonly masked: number;
}

/** Masks the declared secrets by exact value, then everything that has the form of a well-known credential. */
export function redact(text: string, secrets: readonly string[] = []): Redacted {
  return masking(
    text,
    secrets.flatMap(secret => places(text, secret)),
  );
}

/** The same for a text that was cut to be shown, or holds one: it may end with the beginning of a secret. */
export function redactCut(text: string, secrets: readonly string[]): Redacted {
  return masking(
    text,
    secrets.flatMap(secret => [...places(text, secret), ...beginnings(text, secret)]),
  );
}

function masking(text: string, exact: readonly Span[]): Redacted {
  const credentials = [...text.matchAll(CREDENTIAL)].map(
    ({ 0: found, index }) => [index, index + found.length] as const,
  );
  const spans = joined([...credentials, ...exact]);
  const parts: string[] = [];
  let from = 0;
  for (const [start, end] of spans) {
    parts.push(text.slice(from, start), MASK);
    from = end;
  }
  return { text: spans.length > 0 ? parts.join('') + text.slice(from) : text, masked: spans.length };
}

type Span = readonly [start: number, end: number];

function places(text: string, secret: string): Span[] {
  const spans: Span[] = [];
  if (secret === '') return spans;
  for (let at = text.indexOf(secret); at >= 0; at = text.indexOf(secret, at + secret.length)) {
    spans.push([at, at + secret.length]);
  }
  return spans;
}

function beginnings(text: string, secret: string): Span[] {
  if (secret.length <= BEGINNING_MIN) return [];
  const head = secret.slice(0, BEGINNING_MIN);
  return places(text, head).map(([start, least]) => {
    let end = least;
    while (end < text.length && text[end] === secret[end - start]) end++;
    return [start, end];
  });
}

/** Fewer letters tell little, and stand in any text. */
const BEGINNING_MIN = 8;

/** All are found in the same text, so that no mask is masked again; those that overlap are one, so that none leaves a rest. */
function joined(spans: Span[]): Span[] {
  const apart: Span[] = [];
  for (const [start, end] of spans.sort((a, b) => a[0] - b[0])) {
    const last = apart.at(-1);
    if (last && start < last[1]) apart[apart.length - 1] = [last[0], Math.max(last[1], end)];
    else apart.push([start, end]);
  }
  return apart;
}

/** Whether a text holds something with the form of a well-known credential. */
export function holdsSecret(text: string): boolean {
  return ANY.test(text);
}

const MASK = '[masked]';

/** Every pattern begins with something fixed that no pattern repeats, and repeats within bounds: the search is linear. */
const CREDENTIAL = new RegExp(
  [
    /(?<![\w-])sk-[A-Za-z0-9_-]{16,200}/, // OpenAI, Anthropic and many that imitate them
    /\bgh[pousr]_[A-Za-z0-9]{20,255}/,
    /\bgithub_pat_[A-Za-z0-9_]{20,255}/,
    /\bglpat-[A-Za-z0-9_-]{16,64}/,
    /\bxox[abeoprs]-[A-Za-z0-9-]{10,250}/,
    /\b(?:AKIA|ASIA)[A-Z0-9]{16}\b/,
    /\bAIza[A-Za-z0-9_-]{35}/,
    /\bnpm_[A-Za-z0-9]{36}\b/,
    /(?<![\w-])eyJ[A-Za-z0-9_-]{8,4000}\.eyJ[A-Za-z0-9_-]{8,4000}\.[A-Za-z0-9_-]{0,4000}/,
    /-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----[^-]{0,10000}(?:-----END [A-Z ]{0,40}PRIVATE KEY-----)?/,
    /\b(?:Bearer|Basic) [A-Za-z0-9+/=._~-]{16,4000}/,
    /(?<=:\/\/[^\s/:@]{0,100}:)[^\s/@]{1,200}(?=@)/, // the password in a URL
  ]
    .map(pattern => pattern.source)
    .join('|'),
  'g',
);

const ANY = new RegExp(CREDENTIAL.source);
