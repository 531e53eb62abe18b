import { Fault } from '../../base/fault.ts';
import { followLink, readRegular } from '../../base/regular.ts';

/** The token for a server: in a file, which may be a link, as mounted secrets are; or in PROCTOR_TOKEN. */
export function serverToken(file: string | undefined): string {
  const text =
    file === undefined ? process.env['PROCTOR_TOKEN'] : readRegular(followLink(file), TOKEN_BYTES_MAX)?.toString();
  if (text === undefined || text.trim() === '')
    throw new Fault('usage', 'The server needs a token. Set PROCTOR_TOKEN, or specify --token-file FILE.');
  return text.trim();
}

const TOKEN_BYTES_MAX = 4_096;
