import path from 'node:path';
import { holdsPrivateKey, keyIdOf, publicKeyIn } from '../base/ed25519.ts';
import { Fault } from '../base/fault.ts';
import { printable } from '../base/printable.ts';
import { followLink, readRegular } from '../base/regular.ts';

/** The ids of the keys in these files; undefined without files, because then every worker of the queue is trusted. */
export function trustedWorkers(files: readonly string[] | undefined, cwd: string): ReadonlySet<string> | undefined {
  return files && new Set(files.map(file => keyIdIn(file, cwd)));
}

function keyIdIn(file: string, cwd: string): string {
  const bytes = file === '' ? undefined : readRegular(followLink(path.resolve(cwd, file)), KEY_BYTES_MAX);
  if (!bytes) throw unusable(file, 'does not exist, or is not a file of at most 64 KiB that you can read', COPY);
  const text = bytes.toString('latin1');
  const key = publicKeyIn(text);
  if (key) return keyIdOf(key);
  if (holdsPrivateKey(text)) throw unusable(file, 'is a private key', 'Keep it secret, and name its .pub file instead');
  throw unusable(
    file,
    'is not an Ed25519 public key in PEM format, which is one line of base64 between -----BEGIN PUBLIC KEY----- and -----END PUBLIC KEY-----',
    COPY,
  );
}

function unusable(file: string, what: string, advice: string): Fault {
  return new Fault('usage', `The worker key ${file === '' ? 'without a name' : printable(file)} ${what}. ${advice}.`);
}

const COPY = 'Copy .proctor/keys/signing.pub from the folder of the worker, and name the copy';
const KEY_BYTES_MAX = 64 * 1024;
