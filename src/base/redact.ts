/** A text with its secrets masked, and how many were. */
export interface Redacted {
  readonly text: string;
  readonly masked: number;
}

/** Masks the declared secrets by exact value, then everything that has the form of a well-known credential. */
export function redact(text: string, secrets: readonly string[] = []): Redacted {
  let masked = 0;
  const safe = text.replace(patternFor(secrets), () => {
    masked++;
    return MASK;
  });
  return { text: safe, masked };
}

/** All at once, so that no mask is masked again; the longest secret first, so that none leaves a rest of another. */
function patternFor(secrets: readonly string[]): RegExp {
  const exact = secrets.filter(secret => secret !== '').sort((a, b) => b.length - a.length);
  if (exact.length === 0) return CREDENTIAL;
  const escaped = exact.map(secret => secret.replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&'));
  return new RegExp([...escaped, CREDENTIAL.source].join('|'), 'g');
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
