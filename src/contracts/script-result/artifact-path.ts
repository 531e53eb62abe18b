import { isDeviceName, unsafePath } from '../../base/path.ts';
import { isPrintable } from '../../base/printable.ts';

/**
 * Why a path cannot name an artifact, as text that follows it; undefined if it can. Stricter than `unsafePath`, because
 * users download artifacts to other systems.
 */
export function artifactPathFault(path: string): string | undefined {
  if (PLAIN.test(path) && !path.split('/').some(isDeviceName)) return undefined;
  const unsafe = unsafePath(path);
  if (unsafe) return unsafe;
  if (path.includes('\\')) return 'contains a backslash';
  if (!isPrintable(path)) return 'contains an invisible or bidirectional control character';
  // Decoders substitute this character for invalid bytes, so two different names could look the same.
  if (path.includes('\ufffd')) return 'contains the replacement character U+FFFD';
  if (Buffer.byteLength(path) > PATH_BYTES_MAX) return `is longer than ${PATH_BYTES_MAX} bytes`;
  const segments = path.split('/').filter(segment => segment !== '.');
  if (segments[0] !== 'output') return 'is not inside output/';
  if (segments.length < 2) return 'names the folder output/ itself';
  if (segments.length > DEPTH_MAX) return `is nested deeper than ${DEPTH_MAX} levels`;
  for (const segment of segments) {
    if (Buffer.byteLength(segment) > SEGMENT_BYTES_MAX) return `contains a name longer than ${SEGMENT_BYTES_MAX} bytes`;
    if (/^ |[ .]$/.test(segment)) return 'contains a name that starts or ends with a space, or ends with a dot';
    if (/[:*?"<>|]/.test(segment)) return 'contains a character that some systems do not allow in names';
    if (isDeviceName(segment)) return 'contains a name that Windows reserves for a device';
  }
  return undefined;
}

/** Fast path for almost all artifacts. */
const PLAIN = /^output(?:\/[\w-]{1,64}(?:\.[\w-]{1,32})?){1,8}$/;

const PATH_BYTES_MAX = 1_024;
const SEGMENT_BYTES_MAX = 255;
const DEPTH_MAX = 16;
