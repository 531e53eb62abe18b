/**
 * Why a path is unsafe below a folder, as a predicate: "is absolute". Undefined if it is safe.
 * Checks the text for both POSIX and Windows, because evidence moves between systems: `/` and `\` both separate segments.
 */
export function unsafePath(path: string): string | undefined {
  if (/^[\w-]+$/.test(path)) return undefined;
  if (path === '') return 'is empty';
  if (CONTROL.test(path)) return 'contains a control character';
  if (path.startsWith('/')) return 'is absolute';
  if (path.startsWith('\\')) return 'is absolute or a network share';
  if (/^[A-Za-z]:/.test(path)) return 'starts with a drive';
  if (path.startsWith('~')) return 'starts with a home folder';
  const segments = path.split(/[/\\]/);
  if (segments.includes('..')) return CLIMBS_OUT;
  if (segments.includes('')) return 'contains an empty segment';
  return undefined;
}

/** The reason for a path with a `..` segment, which some rules only advise against. */
export const CLIMBS_OUT = 'contains ".."';

/** Whether Windows reserves a name for a device, with any extension: `con`, `aux.txt`, `COM1`. */
export function isDeviceName(name: string): boolean {
  return /^(?:con|prn|aux|nul|com\d|lpt\d)(?:\.|$)/i.test(name);
}

/**
 * Two names with the same key are the same name on some system: they differ only in case, in composed and decomposed
 * characters, ligatures, or ß and ss.
 */
export function nameKey(name: string): string {
  if (/^[ -~]*$/.test(name)) return name.toLowerCase();
  return name.normalize('NFKC').toUpperCase().toLowerCase().normalize('NFKC');
}

/**
 * The segments of a path as the most lenient file system reads them. In addition to `nameKey`, it removes invisible
 * characters, a stream after a colon, and trailing dots and spaces, and it splits at `\`.
 */
export function foldedNames(path: string): string[] {
  return path
    .split(/[/\\]/)
    .map(name =>
      nameKey(name.replace(UNSEEN, ''))
        .replace(/:.*$/s, '')
        .replace(/[. ]+$/, ''),
    )
    .filter(name => name !== '');
}

const UNSEEN = /\p{Default_Ignorable_Code_Point}|[\u202a-\u202e]/gu;

/**
 * The first path of a host file in a text, such as a home folder. Only well-known roots count, so that a route like
 * /api/v1 does not match.
 */
export function hostPathIn(text: string): string | undefined {
  return HOST_PATH.exec(text)?.[0].trimStart();
}

/** Whether a text contains any absolute path or a path below a home folder. Routes count, too. */
export function holdsAbsolutePath(text: string): boolean {
  return hostPathIn(text) !== undefined || ABSOLUTE_PATH.test(text);
}

/** `/data/x`, `in=/data/x`, `host:/data/x`, `-I/data/x`, `~/x`; not `a/b`, `//` or the path of a web address. */
const ABSOLUTE_PATH =
  /^\/+[^\s/*]|(?:^-[A-Za-z]|(?<![\p{L}\p{N}_.~%)\]/-]))\/[^\s/*?+(){}[\]|^$<>=,;&"'`]|(?<![\p{L}\p{N}_/~])~[\w.-]{0,64}\//u;

const CONTROL = /[\u0000-\u001f\u007f-\u009f\u2028\u2029]/;

const ROOTS = 'home|Users|root|tmp|var|private|etc|opt|usr|mnt|srv|proc|workspace|builds|Volumes|Library';

/** A root after a letter or a colon does not match, because it is part of a URL or of another path. */
const HOST_PATH = new RegExp(
  [
    /file:\/\//.source,
    `(?<![A-Za-z0-9_.:/~%-])/{1,2}(?:${ROOTS})(?![A-Za-z0-9_.-])`,
    /(?<![A-Za-z])[A-Za-z]:(?:\\[A-Za-z]|\/Users\/)/.source,
    /\\\\[A-Za-z0-9.$-]+\\[A-Za-z0-9$]/.source,
  ].join('|'),
);
