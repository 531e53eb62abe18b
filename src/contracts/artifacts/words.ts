import * as z from 'zod/mini';
import { unsafePath } from '../../base/path.ts';
import { matching } from '../shape.ts';

/** The rules that the four documents of a suite share. Each document says which of its keys a rule is about. */
export const AA = {
  schemaVersion: {
    id: 'AA1',
    title: 'Schema Version',
    why: 'A file that was copied out of its folder must still say by which rules it was meant.',
  },
  portablePaths: {
    id: 'AA2',
    title: 'Portable Paths',
    why: 'A path that holds on one machine alone leads nowhere after the folder was copied, and may lead to a stranger.',
  },
  fullBodies: {
    id: 'AA3',
    title: 'Full Bodies Preserved',
    why: 'A snippet shows that something went wrong; only the body, or an honest account of its cut, shows what.',
  },
  errorClasses: {
    id: 'AA4',
    title: 'Stable Error Classes',
    why: 'Failures of two runs can be compared only if both name them with the same few words.',
  },
  runIdentity: {
    id: 'AA5',
    title: 'Run Identified',
    why: 'Evidence belongs to one run, one side, one moment and one runner, or it belongs to nobody.',
  },
  targetAddress: {
    id: 'AA6',
    title: 'Target Without Credentials',
    why: 'Artifacts are passed around, and a password inside an address would go with them.',
  },
  selectedCases: {
    id: 'AA7',
    title: 'Selected Cases',
    why: 'Every case id becomes a file name: it must be safe, and two cases must never share a file.',
  },
  runSettings: {
    id: 'AA8',
    title: 'Run Settings',
    why: 'A difference between two runs may come from a setting instead of the agent.',
  },
  runStats: {
    id: 'AA9',
    title: 'Stats Add Up',
    why: 'Counts that contradict each other hide cases that were lost.',
  },
  caseNamed: {
    id: 'AA10',
    title: 'Case Envelope',
    why: 'A reader must know to which case and to which side a file belongs before reading the rest.',
  },
  oneVariant: {
    id: 'AA11',
    title: 'One Of Two Variants',
    why: 'A case has a response or a failure; a file with both, or neither, says nothing.',
  },
  attempts: {
    id: 'AA12',
    title: 'Attempts Counted',
    why: 'A success on the third attempt is another finding than a success on the first.',
  },
  finalOutput: {
    id: 'AA13',
    title: 'Final Output',
    why: 'The answer is what cases are judged by, so its form must be certain.',
  },
  proposedActions: {
    id: 'AA14',
    title: 'Proposed Actions',
    why: 'What an agent wants to do, and how risky that is, must be readable without knowing the agent.',
  },
  evidenceRefs: {
    id: 'AA15',
    title: 'Evidence Resolvable',
    why: 'A reference that leads nowhere looks like proof and is none.',
  },
  events: {
    id: 'AA16',
    title: 'Events Well-Formed',
    why: 'Two runs are compared event by event; types that nobody knows yet are skipped, known ones must be whole.',
  },
  runnerFailure: {
    id: 'AA17',
    title: 'Runner Failure Structured',
    why: 'A case that could not be run still has to tell what was tried and how that ended.',
  },
  failureMeta: {
    id: 'AA18',
    title: 'Failure Metadata',
    why: 'Without type and encoding a saved body is a heap of bytes, and its headers may carry secrets.',
  },
  assetsListed: {
    id: 'AA19',
    title: 'Assets Listed Once',
    why: 'A list that names one asset twice, or two assets alike, cannot be looked up.',
  },
  assetDigests: {
    id: 'AA20',
    title: 'Asset Digests',
    why: 'A digest that cannot be computed again protects nothing.',
  },
} as const;

export const side = () => z.enum(['baseline', 'new']);

export const errorClass = () =>
  z.enum(['timeout', 'http_error', 'invalid_json', 'schema_mismatch', 'network_error', 'other']);

/** How long something took or may take; clocks with fractions of a millisecond are welcome. */
export const milliseconds = () => z.number().check(z.gte(0));

/** The name of a case, which is the name of its file too. */
export const caseId = () =>
  matching(
    /^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/,
    'a case id: up to 100 letters, digits, ".", "_" or "-", the first a letter or digit',
  ).check(z.refine(id => !OWN_FILE.test(id) && !DEVICE.test(id), { error: 'is a name that is kept for other files' }));

/** Names that a run, its seal or its evaluation use beside the cases. */
const OWN_FILE = /^(?:run|result|runner|policy|bundle|evaluation|comparison|manifest|metadata|status|seal)$/i;

/** Names that Windows gives to devices, whatever follows the first point. */
const DEVICE = /^(?:con|prn|aux|nul|com\d|lpt\d)(?:\.|$)/i;

/** A text that becomes the name of a folder. */
export const folderName = () =>
  soundText(
    name => pathFault(name) ?? (name === '.' || /[/\\]/.test(name) ? 'is not a single name' : undefined),
    'must name a folder, but ',
  );

export const portablePath = () => soundText(pathFault, 'must be a relative path, but ');

/** An address to which requests went. */
export const targetUrl = () =>
  soundText(url => {
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
    'a case id is not manifest, metadata, status or seal, in upper or lower case',
    'a case id is not con, prn, aux, nul, com0 to com9 or lpt0 to lpt9, alone or before a dot, in either case',
  ],
  targetUrl: [
    'a URL begins with http:// or https://, holds no white space, and can be parsed',
    'a URL holds no user name and no password',
  ],
  isoTime: [
    'an instant is ISO 8601 with seconds, at most nine digits of fraction, and Z or an offset',
    'an instant is on a day and at a time that exist',
  ],
  digest: ['a digest is 64 hexadecimal digits in upper or lower case, with or without sha256: before them'],
} as const;
