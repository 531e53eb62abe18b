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
  const publicKey = key.type === 'private' ? createPublicKey(key) : key;
  return bytesHash(publicKey.export({ type: 'spki', format: 'der' }));
}

/** The Ed25519 private key in PEM text; undefined for other kinds and for keys with a passphrase. */
export function privateKeyIn(pem: string): KeyObject | undefined {
  return ed25519(() => createPrivateKey(pem));
}

/** The public key in PEM text that contains nothing else. Node alone would also accept a private key. */
export function publicKeyIn(pem: string): KeyObject | undefined {
  const labels = [...pem.matchAll(/-----BEGIN ([^-\n]*)-----/g)].map(([, label]) => label);
  return labels.length === 1 && labels[0] === 'PUBLIC KEY' ? ed25519(() => createPublicKey(pem)) : undefined;
}

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
