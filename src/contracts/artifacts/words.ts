import * as z from 'zod/mini';
import { isDeviceName, unsafePath } from '../../base/path.ts';
import { matching, record } from '../shape.ts';

export const side = () => z.enum(['baseline', 'new']);

export const errorClass = () =>
  z.enum(['timeout', 'http_error', 'invalid_json', 'schema_mismatch', 'network_error', 'other']);

/** A duration; fractions are allowed. */
export const milliseconds = () => z.number().check(z.gte(0));

/** How an unanswered case's last attempt ended: HTTP status (if any), latency, error name and message. */
export const failedAttempt = () =>
  record({
    status: z.nullable(z.int()),
    latency_ms: z.nullable(milliseconds()),
    error_name: z.optional(matching(ERROR_NAME, 'a name in upper case, such as AGENT_FAILED')),
    message: z.optional(matching(/^[^]{1,300}$/u, 'a string of 1 to 300 characters')),
  });

export const ERROR_NAME = /^[A-Z][A-Z0-9_]{0,63}$/;

/** What reports call a failure: its class, unless the agent itself reported that it failed. */
export function failureName(errorClass: string, errorName: string | undefined): string {
  return errorName === 'AGENT_FAILED' ? 'agent_failed' : errorClass;
}

/** The id of a case, which is also its file name. */
export const caseId = () =>
  matching(
    /^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/,
    'a case id: up to 100 letters, digits, ".", "_" or "-", starting with a letter or digit',
  ).check(z.refine(id => !OWN_FILE.test(id) && !isDeviceName(id), { error: 'is a reserved name' }));

/** Names of other files in the run folder. */
const OWN_FILE =
  /^(?:run|result|runner|policy|bundle|evaluation|evaluation\.seal|comparison|manifest|metadata|status|seal)$/i;

export const folderName = () =>
  soundText(
    name => pathFault(name) ?? (name === '.' || /[/\\]/.test(name) ? 'is not a single name' : undefined),
    'must be a folder name, but ',
  );

export const portablePath = () => soundText(pathFault, 'must be a relative path, but ');

/** The URL of an API, or `script:`, `agent:` or `target:` and the name of what answered. */
export const targetUrl = () =>
  soundText(url => {
    if (/^(?:script|agent|target):[^\s/\\:]{1,255}$/.test(url)) return undefined;
    if (!/^https?:\/\/\S+$/i.test(url) || !URL.canParse(url)) return 'must be an http or https URL';
    const { username, password } = new URL(url);
    return username || password ? 'contains credentials' : undefined;
  });

/** Why a path is not portable, as text that follows the path. */
export function pathFault(path: string): string | undefined {
  return unsafePath(path) ?? (/^[A-Za-z][A-Za-z0-9+.-]*:/.test(path) ? 'starts with a scheme' : undefined);
}

/** The contract allows digests with and without the prefix. */
export const digest = () =>
  matching(/^(?:sha256:)?[A-Fa-f0-9]{64}$/, '64 hexadecimal digits, optionally prefixed with sha256:');

function soundText(faultOf: (text: string) => string | undefined, before = '') {
  return z.string().check(
    z.superRefine((text, context) => {
      const fault = faultOf(text);
      if (fault) context.addIssue({ code: 'custom', message: `${before}${fault}`, input: text });
    }),
  );
}

/** Requirements for formats that many keys share. In a rule, they follow the requirements for its keys. */
export const ARTIFACT_ASKS = {
  portablePath: [
    'a path is not empty, and does not start with a slash, backslash, drive, scheme or ~',
    'a path has no .., no empty segment and no control character',
  ],
  caseId: [
    'a case id is 1 to 100 ASCII letters, digits, dots, dashes and underscores, and starts with a letter or digit',
    'a case id is not run, result, runner, policy, bundle, evaluation or comparison, ignoring letter case',
    'a case id is not manifest, metadata, status, seal or evaluation.seal, ignoring letter case',
    'a case id is not con, prn, aux, nul, com0 to com9 or lpt0 to lpt9, alone or before a dot, ignoring letter case',
  ],
  targetUrl: [
    'a URL starts with http:// or https://, contains no white space, and can be parsed',
    'if a script or an agent answered, the URL is replaced by script: or agent: and the name of the program',
    'if a target without a fixed URL answered, the URL is replaced by target: and its name',
    'a URL contains no user name and no password',
  ],
  isoTime: [
    'an instant is ISO 8601 with seconds, at most nine fractional digits, and Z or an offset',
    'an instant has a valid date and time',
  ],
  digest: ['a digest is 64 hexadecimal digits in upper or lower case, optionally prefixed with sha256:'],
} as const;
