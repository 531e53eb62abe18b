import { closeSync, openSync, readSync } from 'node:fs';
import path from 'node:path';
import { Masker, type Masking, maskingOf } from '../../base/masker.ts';
import type { MaskingNote } from '../../contracts/script-outcome/masking.ts';

export type Flagged = MaskingNote['flagged'][number];

/**
 * Whether a file name contains a declared secret. Every listing of the run would show it, and file names cannot be
 * masked.
 */
export function hasSecretInName(files: readonly { readonly path: string }[], secrets: readonly string[]): boolean {
  const masker = new Masker(secrets);
  for (const { path: file } of files) masker.text(file);
  return masker.masked > 0;
}

/**
 * Finds stored files that contain a declared secret or a well-known credential, or that are named like credential
 * files. Flags them, but does not change them, because they are the program's output.
 */
export function flaggedFiles(
  folder: string,
  files: readonly { readonly path: string }[],
  secrets: readonly string[],
): Flagged[] {
  const both = maskingOf(secrets);
  const declared = { ...both, credentials: false };
  const hasSecrets = secrets.some(secret => secret !== '');
  const flagged: Flagged[] = [];
  let room = CREDENTIAL_BYTES_MAX;
  for (const { path: file } of files) {
    if (flagged.length >= FLAGGED_MAX) break;
    const { kinds, bytes } = kindsIn(path.join(folder, file), both, Math.min(room, FILE_BYTES_MAX));
    room -= bytes;
    const rest = hasSecrets && bytes >= FILE_BYTES_MAX ? kindsIn(path.join(folder, file), declared).kinds : [];
    const all = [...new Set([...kinds, ...rest])].sort();
    if (all.includes('declared_secret')) flagged.push({ path: file, code: 'secret_in_file', kinds: all });
    else if (all.length > 0) flagged.push({ path: file, code: 'credential_in_file', kinds: all });
    else if (isCredentialFile(file)) flagged.push({ path: file, code: 'credential_file_name', kinds: [] });
  }
  return flagged;
}

export function isCredentialFile(file: string): boolean {
  return CREDENTIAL_FILE.test(file) && !HARMLESS_FILE.test(file);
}

/** Warnings for the runner record. */
export function flagWarnings(flagged: readonly Flagged[]): string[] {
  return Object.entries(SENTENCES).flatMap(([code, says]) => {
    const { length } = flagged.filter(flag => flag.code === code);
    return length === 0 ? [] : [`${code}: ${says} ${length === 1 ? 'one file' : `${length} files`}`];
  });
}

const SENTENCES: Readonly<Record<Flagged['code'], string>> = {
  secret_in_file: 'a declared secret was found in',
  credential_in_file: 'a possible credential was found in',
  credential_file_name: 'a name that suggests credentials was found on',
};

/** The kinds of secrets in a file, and how many bytes were read. */
function kindsIn(
  file: string,
  masking: Masking,
  bytesMax = Number.POSITIVE_INFINITY,
): { kinds: string[]; bytes: number } {
  const masker = new Masker(masking);
  const chunk = Buffer.allocUnsafe(CHUNK_BYTES);
  const fd = openSync(file, 'r');
  let bytes = 0;
  try {
    while (bytes < bytesMax) {
      const length = readSync(fd, chunk, 0, Math.min(CHUNK_BYTES, bytesMax - bytes), null);
      if (length === 0) break;
      bytes += length;
      masker.pieces(chunk.subarray(0, length));
    }
    masker.end();
    return { kinds: Object.keys(masker.kinds), bytes };
  } finally {
    closeSync(fd);
  }
}

const CHUNK_BYTES = 256 * 1024;
/** Proctor looks for well-known credentials in the first 8 MiB of each file, and in at most 64 MiB in total. */
const FILE_BYTES_MAX = 8 * 1024 * 1024;
const CREDENTIAL_BYTES_MAX = 64 * 1024 * 1024;
const FLAGGED_MAX = 1_000;

const CREDENTIAL_FILE =
  /(?:^|\/)(?:\.env(?:\.[\w.-]+)?|\.netrc|_netrc|\.npmrc|\.pypirc|\.pgpass|\.my\.cnf|\.htpasswd|\.git-credentials|\.dockercfg|id_(?:rsa|dsa|ecdsa|ed25519)|[^/]+\.(?:pem|key|p12|pfx|jks|keystore|ppk|kdbx|asc)|\.ssh\/[^/]+|\.aws\/credentials|\.docker\/config\.json|\.kube\/config|\.gnupg\/.+|credentials\.json|service[-_]account[^/]*\.json)$/i;
const HARMLESS_FILE = /(?:^|\/)(?:\.env\.(?:example|sample|template|dist|test)|known_hosts|[^/]+\.pub)$/i;
