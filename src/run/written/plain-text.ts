import { isUtf8 } from 'node:buffer';
import type { WrittenWrong } from './wrong.ts';

/** Decodes UTF-8 text, or returns why it cannot. Drops the byte order mark that spreadsheets write. */
export function plainText(bytes: Buffer): string | WrittenWrong {
  const isMarked = bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf;
  if ((bytes[0] === 0xff && bytes[1] === 0xfe) || (bytes[0] === 0xfe && bytes[1] === 0xff)) {
    return { says: 'The file is UTF-16; save it as UTF-8' };
  }
  const nul = bytes.indexOf(0);
  if (nul >= 0) return { line: lineIn(bytes, nul), says: 'The file contains a NUL byte; it must be UTF-8 text' };
  if (!isUtf8(bytes)) return { says: 'The file is not valid UTF-8' };
  return bytes.toString('utf8', isMarked ? 3 : 0);
}

function lineIn(bytes: Buffer, offset: number): number {
  let line = 1;
  for (const byte of bytes.subarray(0, offset)) if (byte === 0x0a) line++;
  return line;
}
