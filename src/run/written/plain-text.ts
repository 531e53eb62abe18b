import { isUtf8 } from 'node:buffer';
import type { WrittenWrong } from './wrong.ts';

/** The text of a file in UTF-8, or why it is none. Spreadsheets begin such files with a byte order mark, which is let go. */
export function plainText(bytes: Buffer): string | WrittenWrong {
  const isMarked = bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf;
  if ((bytes[0] === 0xff && bytes[1] === 0xfe) || (bytes[0] === 0xfe && bytes[1] === 0xff)) {
    return { says: 'The file is UTF-16; save it as UTF-8' };
  }
  const nul = bytes.indexOf(0);
  if (nul >= 0) return { line: lineIn(bytes, nul), says: 'A NUL byte stands here; the file is not plain UTF-8 text' };
  if (!isUtf8(bytes)) return { says: 'The file is not valid UTF-8' };
  return bytes.toString('utf8', isMarked ? 3 : 0);
}

function lineIn(bytes: Buffer, offset: number): number {
  let line = 1;
  for (const byte of bytes.subarray(0, offset)) if (byte === 0x0a) line++;
  return line;
}
