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

/** What a key is called: the hash over the DER of its public half, whichever half is given. */
export function keyIdOf(key: KeyObject): ContentHash {
  const publicKey = key.type === 'private' ? createPublicKey(key) : key;
  return bytesHash(publicKey.export({ type: 'spki', format: 'der' }));
}

/** The private key in a text of PEM; undefined if there is none, another kind of key, or one with a passphrase. */
export function privateKeyIn(pem: string): KeyObject | undefined {
  return ed25519(() => createPrivateKey(pem));
}

/** The public key in a text of PEM that holds one and nothing else. Node would make one of a private key, too. */
export function publicKeyIn(pem: string): KeyObject | undefined {
  const labels = [...pem.matchAll(/-----BEGIN ([^-\n]*)-----/g)].map(([, label]) => label);
  return labels.length === 1 && labels[0] === 'PUBLIC KEY' ? ed25519(() => createPublicKey(pem)) : undefined;
}

/** Whether a text holds what nobody should hand on. */
export function holdsPrivateKey(pem: string): boolean {
  return /-----BEGIN [^-\n]*PRIVATE KEY-----/.test(pem);
}

/** What the library says of bytes that are no key is not for people. */
function ed25519(read: () => KeyObject): KeyObject | undefined {
  try {
    const key = read();
    return key.asymmetricKeyType === 'ed25519' ? key : undefined;
  } catch {
    return undefined;
  }
}
