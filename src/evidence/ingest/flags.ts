import { closeSync, openSync, readSync } from 'node:fs';
import path from 'node:path';
import { Masker } from '../../base/masker.ts';
import { secretForms } from '../../base/secret-forms.ts';

/** Whether the name of a file holds a declared secret. It would stand in every list of the run, where nothing can be masked. */
export function hasTellingName(files: readonly { readonly path: string }[], secrets: readonly string[]): boolean {
  const forms = secretForms(secrets);
  return files.some(({ path: file }) => forms.some(form => file.includes(form)));
}

/** Which stored files hold a declared secret. They are the script's own and are not altered, only named. */
export function filesWithSecrets(
  folder: string,
  files: readonly { readonly path: string }[],
  secrets: readonly string[],
): string[] {
  if (secrets.every(secret => secret === '')) return [];
  const masker = new Masker(secrets);
  return files.map(file => file.path).filter(file => holdsSecret(path.join(folder, file), masker));
}

function holdsSecret(file: string, masker: Masker): boolean {
  const before = masker.masked;
  const chunk = Buffer.allocUnsafe(CHUNK_BYTES);
  const fd = openSync(file, 'r');
  try {
    for (let length = readSync(fd, chunk); length > 0; length = readSync(fd, chunk)) {
      masker.take(chunk.subarray(0, length));
      if (masker.masked > before) break;
    }
    // Also after a hit: what was held back of this file is no beginning of the next.
    masker.end();
    return masker.masked > before;
  } finally {
    closeSync(fd);
  }
}

const CHUNK_BYTES = 256 * 1024;
