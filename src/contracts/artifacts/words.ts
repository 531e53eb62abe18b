import * as z from 'zod/mini';
import { isDeviceName, unsafePath } from '../../base/path.ts';
import { matching, record } from '../shape.ts';

export const side = () => z.enum(['baseline', 'new']);

export const errorClass = () =>
  z.enum(['timeout', 'http_error', 'invalid_json', 'schema_mismatch', 'network_error', 'other']);

/** How long something took or may take; clocks with fractions of a millisecond are welcome. */
export const milliseconds = () => z.number().check(z.gte(0));

/** What is known of the last attempt of a case without an answer: its HTTP status, if it had one, and how long it took. */
export const failedAttempt = () => record({ status: z.nullable(z.int()), latency_ms: z.nullable(milliseconds()) });

/** The name of a case, which is the name of its file too. */
export const caseId = () =>
  matching(
    /^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/,
    'a case id: up to 100 letters, digits, ".", "_" or "-", the first a letter or digit',
  ).check(z.refine(id => !OWN_FILE.test(id) && !isDeviceName(id), { error: 'is a name that is kept for other files' }));

/** Names that a run, its seal or its evaluation use beside the cases. */
const OWN_FILE =
  /^(?:run|result|runner|policy|bundle|evaluation|evaluation\.seal|comparison|manifest|metadata|status|seal)$/i;

/** A text that becomes the name of a folder. */
export const folderName = () =>
  soundText(
    name => pathFault(name) ?? (name === '.' || /[/\\]/.test(name) ? 'is not a single name' : undefined),
    'must name a folder, but ',
  );

export const portablePath = () => soundText(pathFault, 'must be a relative path, but ');

/** An address to which requests went, or the name of a script or an agent's program that took its place. */
export const targetUrl = () =>
  soundText(url => {
    if (/^(?:script|agent):[^\s/\\:]{1,255}$/.test(url)) return undefined;
    if (!/^https?:\/\/\S+$/i.test(url) || !URL.canParse(url)) return 'must be an http or https URL';
    const { username, password } = new URL(url);
    return username || password ? 'holds credentials' : undefined;
  });

/** Why a path is not portable, in words that follow its name. */
export function pathFault(path: string): string | undefined {
  return unsafePath(path) ?? (/^[A-Za-z][A-Za-z0-9+.-]*:/.test(path) ? 'begins with a scheme' : undefined);
}

/** A digest with or without its prefix: the contract leaves that open. */
export const digest = () =>
  matching(/^(?:sha256:)?[A-Fa-f0-9]{64}$/, '64 hexadecimal digits, with or without sha256: before them');

/** The one form in which digests are compared. */
export function contentHashOf(digest: string): string {
  return `sha256:${digest.slice(-64).toLowerCase()}`;
}

function soundText(faultOf: (text: string) => string | undefined, before = '') {
  return z.string().check(
    z.superRefine((text, context) => {
      const fault = faultOf(text);
      if (fault) context.addIssue({ code: 'custom', message: `${before}${fault}`, input: text });
    }),
  );
}

/** What a rule asks of a form that many keys have, after it said which keys have it. */
export const ASKS = {
  portablePath: [
    'a path is not empty, and begins with no slash, backslash, drive, scheme or ~',
    'a path has no .. and nothing empty between slashes or backslashes, and no control character',
  ],
  caseId: [
    'a case id is at most 100 ASCII letters, digits, dots, dashes and underscores, first a letter or digit',
    'a case id is not run, result, runner, policy, bundle, evaluation or comparison, in upper or lower case',
    'a case id is not manifest, metadata, status, seal or evaluation.seal, in upper or lower case',
    'a case id is not con, prn, aux, nul, com0 to com9 or lpt0 to lpt9, alone or before a dot, in either case',
  ],
  targetUrl: [
    'a URL begins with http:// or https://, holds no white space, and can be parsed',
    'script: or agent: and the name of a script or of an agent stands where one answered instead',
    'a URL holds no user name and no password',
  ],
  isoTime: [
    'an instant is ISO 8601 with seconds, at most nine digits of fraction, and Z or an offset',
    'an instant is on a day and at a time that exist',
  ],
  digest: ['a digest is 64 hexadecimal digits in upper or lower case, with or without sha256: before them'],
} as const;
