/** Random secrets and well-known credentials from a fixed seed, in the encodings in which they leak. */

/** Returns numbers in [0, 1). Equal seeds give equal sequences. */
export function chanceFrom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

export interface Leak {
  readonly encoding: string;
  readonly secret: string;
  /** The output that contains the secret, in chunks. */
  readonly pieces: readonly string[];
  /** The encoded secret, which must be masked. */
  readonly core: string;
  /** Whether the output is a model answer in server-sent events. */
  readonly isEvents?: true;
}

type Encode = (secret: string, chance: () => number) => Omit<Leak, 'encoding' | 'secret'>;

const said = (core: string, before = 'the key is ', after = ' today\n'): Omit<Leak, 'encoding' | 'secret'> => ({
  pieces: [before + core + after],
  core,
});

const units = (secret: string): string[] => Array.from({ length: secret.length }, (_, at) => secret[at] as string);
const hex = (text: string, digits: number): string => text.charCodeAt(0).toString(16).padStart(digits, '0');
const spelt = (secret: string): string =>
  units(secret)
    .map(letter => `\\u${hex(letter, 4)}`)
    .join('');
const bytesOf = (secret: string): string[] => (Buffer.from(secret).toString('hex').match(/../g) ?? []) as string[];

/** Returns the base64 text after `before` other bytes, and the letters that encode only the secret. */
function base64Core(secret: string, before: number): { readonly all: string; readonly core: string } {
  const bytes = Buffer.concat([Buffer.alloc(before, 'x'), Buffer.from(secret)]);
  const all = bytes.toString('base64');
  return { all, core: all.slice(Math.ceil((before * 8) / 6), Math.floor((bytes.length * 8) / 6)) };
}

export const ENCODINGS: Readonly<Record<string, Encode>> = {
  raw: secret => said(secret),
  json: secret => said(JSON.stringify(secret).slice(1, -1), '{"said":"', '"}'),
  'json in json': secret =>
    said(JSON.stringify(JSON.stringify(secret).slice(1, -1)).slice(1, -1), '{"said":"{\\"a\\":\\"', '\\"}"}'),
  'json, every letter as \\u': secret => said(spelt(secret), '{"said":"', '"}'),
  'json, some letters as \\u, cut': (secret, chance) => {
    const core = units(secret)
      .map(letter => (chance() < 0.4 ? `\\u${hex(letter, 4)}` : JSON.stringify(letter).slice(1, -1)))
      .join('');
    return said(core, '{"said":"', ' and then it bro');
  },
  'every byte as \\x': secret =>
    said(
      bytesOf(secret)
        .map(byte => `\\x${byte}`)
        .join(''),
      "b'",
      "'",
    ),
  'percent-encoding': secret => said(encodeURIComponent(secret), 'GET /x?q=', '&r=1 HTTP/1.1'),
  'percent-encoding of every byte': secret =>
    said(
      bytesOf(secret)
        .map(byte => `%${byte}`)
        .join(''),
      'GET /x?q=',
      ' HTTP/1.1',
    ),
  form: secret => said(new URLSearchParams({ q: secret }).toString().slice(2), 'q=', '&r=1'),
  html: secret =>
    said(
      secret
        .replaceAll('&', '&amp;')
        .replaceAll('<', '&lt;')
        .replaceAll('>', '&gt;')
        .replaceAll('"', '&quot;')
        .replaceAll("'", '&#39;'),
      '<p>',
      '</p>',
    ),
  'html, decimal entities': secret =>
    said(
      Array.from(secret)
        .map(letter => `&#${letter.codePointAt(0)};`)
        .join(''),
      '<p>',
      '</p>',
    ),
  'html, hexadecimal entities': secret =>
    said(
      Array.from(secret)
        .map(letter => `&#x${letter.codePointAt(0)?.toString(16)};`)
        .join(''),
      '<p>',
      '</p>',
    ),
  'base64, any alignment': (secret, chance) => {
    const { all, core } = base64Core(secret, Math.floor(chance() * 3));
    return { pieces: [`data ${all} end`], core };
  },
  base64url: secret => {
    const core = base64Core(secret, 0).core.replaceAll('+', '-').replaceAll('/', '_');
    return said(core, 'data=', '&x');
  },
  'base64 in lines': (secret, chance) => {
    const before = Math.floor(chance() * 60);
    const { all, core } = base64Core(secret, before);
    const lines = (all.match(/.{1,76}/g) ?? []).join('\n');
    return { pieces: [`${lines}\n`], core };
  },
  hexadecimal: secret => said(Buffer.from(secret).toString('hex'), '0x'),
  'hexadecimal in capitals': secret => said(Buffer.from(secret).toString('hex').toUpperCase(), 'key '),
  backwards: secret => said(Array.from(secret).reverse().join('')),
  'over chunks': (secret, chance) => {
    const text = `the key is ${secret} today\n`;
    const bytes = Buffer.from(text);
    const pieces: string[] = [];
    for (let at = 0; at < bytes.length; ) {
      const length = 1 + Math.floor(chance() * 7);
      pieces.push(bytes.toString('latin1', at, at + length));
      at += length;
    }
    return { pieces, core: secret };
  },
  'over events of a model': (secret, chance) => {
    const events: string[] = [];
    const letters = Array.from(`The key is ${secret} today.`);
    while (letters.length > 0) {
      const text = letters.splice(0, 1 + Math.floor(chance() * 5)).join('');
      const delta = { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text } };
      events.push(`event: content_block_delta\ndata: ${JSON.stringify(delta)}\n\n`);
    }
    return { pieces: [events.join('')], core: secret, isEvents: true };
  },
};

const LETTERS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789';
const SIGNS = `${LETTERS}!#$%&*+-./:;<=>?@^_~"'\\ äß`;

export function textOf(chance: () => number, letters: string, length: number): string {
  return Array.from({ length }, () => letters[Math.floor(chance() * letters.length)]).join('');
}

/** Creates `count` leaks and cycles through the encodings. */
export function leaks(seed: number, count: number): Leak[] {
  const chance = chanceFrom(seed);
  const encodings = Object.entries(ENCODINGS);
  return Array.from({ length: count }, (_, index) => {
    const [encoding, encode] = encodings[index % encodings.length] as [string, Encode];
    const length = 10 + Math.floor(chance() * 40);
    const inner = textOf(chance, index % 3 === 0 ? SIGNS : LETTERS, length);
    // Starts and ends with letters, which no program trims.
    const secret = `q${inner}Z`;
    return { encoding, secret, ...encode(secret, chance) };
  });
}

/** Splits a well-known string in this source, so that no secret scanner reports this file. */
const apart = (text: string): string => text;

const UPPER = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789';
const WORDS = `${LETTERS}_`;

interface Credential {
  readonly kind: string;
  readonly text: string;
  /** The secret part, which must be masked. */
  readonly core: string;
}

/** Creates well-known credentials in their documented formats. */
export function credentials(seed: number): Credential[] {
  const chance = chanceFrom(seed);
  const some = (length: number, letters = LETTERS): string => textOf(chance, letters, length);
  const pem = (label: string): string => {
    const body = `MII${some(1_597)}`.match(/.{1,64}/g)?.join('\n');
    return `-----BEGIN ${label}-----\n${body}\n-----END ${label}-----`;
  };
  return [
    whole('anthropic_key', `sk-${apart('ant-api03-')}${some(93)}AA`),
    whole('openai_key', `sk-${some(20)}T3Blbk${apart('FJ')}${some(20)}`),
    whole('openai_key', `sk-${apart('proj-')}${some(74)}T3Blbk${apart('FJ')}${some(74)}`),
    whole('aws_access_key', `AK${apart('IA')}${some(16, UPPER)}`),
    whole('aws_access_key', `AS${apart('IA')}${some(16, UPPER)}`),
    named('aws_secret_key', 'AWS_SECRET_ACCESS_KEY=', some(40)),
    whole('github_token', `gh${apart('p')}_${some(36)}`),
    whole('github_token', `gh${apart('s')}_${some(36)}`),
    whole('github_token', `github${apart('_pat_')}${some(82, WORDS)}`),
    whole('gitlab_token', `gl${apart('pat-')}${some(20)}`),
    whole('slack_token', `xox${apart('b')}-${some(12, '0123456789')}-${some(12, '0123456789')}-${some(24)}`),
    named(
      'slack_webhook',
      `https://hooks.slack.${apart('com')}/services/T${some(8, UPPER)}/B${some(8, UPPER)}/`,
      some(24),
    ),
    whole('stripe_key', `sk_${apart('live')}_${some(24)}`),
    whole('google_key', `AI${apart('za')}${some(35)}`),
    whole('npm_token', `npm${apart('_')}${some(36)}`),
    named('npm_token', `//registry.example.org/:_auth${apart('Token')}=`, some(36)),
    whole('huggingface_token', `hf${apart('_')}${some(34)}`),
    whole('sendgrid_key', `S${apart('G')}.${some(22)}.${some(43)}`),
    whole('shopify_token', `shp${apart('at')}_${some(32, '0123456789abcdef')}`),
    whole('linear_key', `lin${apart('_api_')}${some(40)}`),
    whole('proctor_token', `pt${apart('_')}${some(49)}`),
    whole('jwt', `${json({ alg: 'HS256', typ: 'JWT' })}.${json({ sub: some(10) })}.${some(43)}`),
    whole('private_key', pem(`RSA ${apart('PRIVATE')} KEY`)),
    whole('private_key', pem(`${apart('PRIVATE')} KEY`)),
    whole('private_key', pem(`PGP ${apart('PRIVATE')} KEY BLOCK`)),
    named('authorization', 'Authorization: Bearer ', some(40)),
    named('url_password', 'postgres://app:', some(16), '@db.example.com/x'),
    named('url_password', 'https://me:', some(16), '@git.example.com/x.git'),
    named('connection_string', 'DefaultEndpointsProtocol=https;AccountName=x;AccountKey=', `${some(86)}==`, ';'),
  ];
}

function named(kind: string, before: string, core: string, after = ''): Credential {
  return { kind, text: before + core + after, core };
}

function whole(kind: string, text: string): Credential {
  return { kind, text, core: text };
}

function json(value: object): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url');
}
