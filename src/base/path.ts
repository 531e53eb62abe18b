/**
 * Why a path may not be used below a folder of ours, in words that follow its name: "is absolute". Undefined if it may.
 * Judged as text, for POSIX and Windows at once, because evidence travels: `..` counts between `/` and between `\`.
 */
export function unsafePath(path: string): string | undefined {
  if (/^[\w-]+$/.test(path)) return undefined;
  if (path === '') return 'is empty';
  if (CONTROL.test(path)) return 'holds a control character';
  if (path.startsWith('/')) return 'is absolute';
  if (path.startsWith('\\')) return 'is absolute or a network share';
  if (/^[A-Za-z]:/.test(path)) return 'begins with a drive';
  if (path.startsWith('~')) return 'begins with a home folder';
  const segments = path.split(/[/\\]/);
  if (segments.includes('..')) return 'contains ".."';
  if (segments.includes('')) return 'holds an empty segment';
  return undefined;
}

/** Whether Windows gives a name to a device, whatever follows the first point: `con`, `aux.txt`, `COM1`. */
export function isDeviceName(name: string): boolean {
  return /^(?:con|prn|aux|nul|com\d|lpt\d)(?:\.|$)/i.test(name);
}

/**
 * Two names with one key are one name to some system that the files may be taken to: upper and lower case, composed and
 * decomposed letters, ligatures, ß and ss. The names themselves stay as they are.
 */
export function nameKey(name: string): string {
  if (/^[ -~]*$/.test(name)) return name.toLowerCase();
  return name.normalize('NFKC').toUpperCase().toLowerCase().normalize('NFKC');
}

/**
 * The names that some file system may take the parts of a path for. Besides `nameKey`: without characters that are not seen,
 * without a stream after a colon, without points and spaces at the end, and with `\\` between folders.
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
 * The first place in a text that names a file of a machine, such as a home folder. Only well-known roots count, so that
 * a route like /api/v1 in a sentence is not mistaken for one.
 */
export function hostPathIn(text: string): string | undefined {
  return HOST_PATH.exec(text)?.[0].trimStart();
}

/** Whether a text names a place from the root of a file system, whichever it is, or from a home folder. Routes count, too. */
export function holdsAbsolutePath(text: string): boolean {
  return hostPathIn(text) !== undefined || ABSOLUTE_PATH.test(text);
}

/** `/data/x`, `in=/data/x`, `host:/data/x`, `-I/data/x`, `~/x`; not `a/b`, `//` or the path of a web address. */
const ABSOLUTE_PATH =
  /^\/+[^\s/*]|(?:^-[A-Za-z]|(?<![\p{L}\p{N}_.~%)\]/-]))\/[^\s/*?+(){}[\]|^$<>=,;&"'`]|(?<![\p{L}\p{N}_/~])~[\w.-]{0,64}\//u;

const CONTROL = /[\u0000-\u001f\u007f-\u009f\u2028\u2029]/;

const ROOTS = 'home|Users|root|tmp|var|private|etc|opt|usr|mnt|srv|proc|workspace|builds|Volumes|Library';

/** Not after a letter or a colon, which would make it a part of an address. */
const HOST_PATH = new RegExp(
  [
    /file:\/\//.source,
    `(?<![A-Za-z0-9_.:/~%-])/{1,2}(?:${ROOTS})(?![A-Za-z0-9_.-])`,
    /(?<![A-Za-z])[A-Za-z]:(?:\\[A-Za-z]|\/Users\/)/.source,
    /\\\\[A-Za-z0-9.$-]+\\[A-Za-z0-9$]/.source,
  ].join('|'),
);
