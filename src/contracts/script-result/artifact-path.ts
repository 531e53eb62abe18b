import { isDeviceName, unsafePath } from '../../base/path.ts';
import { isPrintable } from '../../base/printable.ts';

/**
 * Why a path that a script reports may not name an artifact, in words that follow it; undefined if it may. Stricter than
 * a safe relative path: the file will be downloaded to systems that read names in their own ways.
 */
export function artifactPathTrouble(path: string): string | undefined {
  if (PLAIN.test(path) && !path.split('/').some(isDeviceName)) return undefined;
  const unsafe = unsafePath(path);
  if (unsafe) return unsafe;
  if (path.includes('\\')) return 'holds a backslash';
  if (!isPrintable(path)) return 'holds an invisible or reordering character';
  // Readers that meet a broken name see this character, and cannot tell the two apart.
  if (path.includes('\ufffd')) return 'holds the character that stands for a broken one';
  if (Buffer.byteLength(path) > PATH_BYTES_MAX) return `is longer than ${PATH_BYTES_MAX} bytes`;
  const segments = path.split('/').filter(segment => segment !== '.');
  if (segments[0] !== 'output') return 'is not below output/';
  if (segments.length < 2) return 'names the folder output/ itself';
  if (segments.length > DEPTH_MAX) return `is nested deeper than ${DEPTH_MAX} folders`;
  for (const segment of segments) {
    if (Buffer.byteLength(segment) > SEGMENT_BYTES_MAX) return `holds a name longer than ${SEGMENT_BYTES_MAX} bytes`;
    if (/^ |[ .]$/.test(segment)) return 'holds a name that begins or ends with a space, or ends with a point';
    if (/[:*?"<>|]/.test(segment)) return 'holds a character that not every system allows in names';
    if (isDeviceName(segment)) return 'holds a name that Windows keeps for a device';
  }
  return undefined;
}

/** As nearly all paths are, and there may be many. */
const PLAIN = /^output(?:\/[\w-]{1,64}(?:\.[\w-]{1,32})?){1,8}$/;

const PATH_BYTES_MAX = 1_024;
const SEGMENT_BYTES_MAX = 255;
const DEPTH_MAX = 16;
