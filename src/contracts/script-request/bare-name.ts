import { unsafePath } from '../../base/path.ts';
import { isPrintable } from '../../base/printable.ts';

/** Why a text is not a bare file name, as text that follows it; undefined if it is. */
export function bareNameFault(name: string): string | undefined {
  if (/[/\\]/.test(name)) return 'is a path, not a bare name';
  if (name === '.') return 'is a folder, not a file';
  if (Buffer.byteLength(name) > NAME_BYTES_MAX) return `is longer than ${NAME_BYTES_MAX} bytes`;
  if (name.includes('\ufffd')) return 'contains the replacement character U+FFFD';
  return (
    unsafePath(name) ?? (isPrintable(name) ? undefined : 'contains an invisible or bidirectional control character')
  );
}

const NAME_BYTES_MAX = 255;
