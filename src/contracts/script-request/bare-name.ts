import { unsafePath } from '../../base/path.ts';
import { isPrintable } from '../../base/printable.ts';

/** Why a text is not the bare name of one file, in words that follow it; undefined if it is. */
export function bareNameTrouble(name: string): string | undefined {
  if (/[/\\]/.test(name)) return 'is a path, not a bare name';
  if (name === '.') return 'is a folder, not a file';
  if (Buffer.byteLength(name) > NAME_BYTES_MAX) return `is longer than ${NAME_BYTES_MAX} bytes`;
  if (name.includes('\ufffd')) return 'holds the character that stands for a broken one';
  return unsafePath(name) ?? (isPrintable(name) ? undefined : 'holds an invisible or reordering character');
}

const NAME_BYTES_MAX = 255;
