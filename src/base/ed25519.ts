import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject } from 'node:crypto';
import { bytesHash, type ContentHash } from './hash.ts';

export interface KeyPair {
  /** PKCS#8 in PEM, without a passphrase. */
  readonly privatePem: string;
  /** SPKI in PEM. */
  readonly publicPem: string;
  readonly keyId: ContentHash;
}

export function newKeyPair(): KeyPair {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519');
  return {
    privatePem: privateKey.export({ type: 'pkcs8', format: 'pem' }) as string,
    publicPem: publicKey.export({ type: 'spki', format: 'pem' }) as string,
    keyId: keyIdOf(publicKey),
  };
}

/** The id of a key pair: the hash of the public key in DER. Accepts either half. */
export function keyIdOf(key: KeyObject): ContentHash {
  const known = keyIds.get(key);
  if (known !== undefined) return known;
  const publicKey = key.type === 'private' ? createPublicKey(key) : key;
  const id = bytesHash(publicKey.export({ type: 'spki', format: 'der' }));
  keyIds.set(key, id);
  return id;
}

/** Exporting a key takes longer than checking a signature with it. */
const keyIds = new WeakMap<KeyObject, ContentHash>();

/** The Ed25519 private key in PEM text; undefined for other kinds and for keys with a passphrase. */
export function privateKeyIn(pem: string): KeyObject | undefined {
  return ed25519(() => createPrivateKey(pem));
}

/** The public key in PEM text that contains nothing else. Node alone would also accept a private key. */
export function publicKeyIn(pem: string): KeyObject | undefined {
  const labels = [...pem.matchAll(/-----BEGIN ([^-\n]*)-----/g)].map(([, label]) => label);
  return labels.length === 1 && labels[0] === 'PUBLIC KEY' ? ed25519(() => createPublicKey(pem)) : undefined;
}

/**
 * The public key in PEM text, if the text is what Proctor writes: PEM lets some characters vary. Remembers the keys of the
 * last texts, because every attempt of a worker names the same one.
 */
export function writtenKeyIn(pem: string): KeyObject | undefined {
  const known = writtenKeys.get(pem);
  if (known) return known;
  const key = publicKeyIn(pem);
  if (!key || key.export({ type: 'spki', format: 'pem' }) !== pem) return undefined;
  if (writtenKeys.size >= WRITTEN_KEYS_MAX) writtenKeys.clear();
  writtenKeys.set(pem, key);
  return key;
}

const writtenKeys = new Map<string, KeyObject>();
const WRITTEN_KEYS_MAX = 1_000;

export function holdsPrivateKey(pem: string): boolean {
  return /-----BEGIN [^-\n]*PRIVATE KEY-----/.test(pem);
}

/** Discards the library's error messages, which are not meant for users. */
function ed25519(read: () => KeyObject): KeyObject | undefined {
  try {
    const key = read();
    return key.asymmetricKeyType === 'ed25519' ? key : undefined;
  } catch {
    return undefined;
  }
}
