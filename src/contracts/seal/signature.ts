import { createPublicKey, type KeyObject, sign, verify } from 'node:crypto';
import { keyIdOf } from '../../base/ed25519.ts';
import type { SealEnvelope } from './envelope.ts';

export const PAYLOAD_TYPE = 'application/vnd.in-toto+json';

/** Checks signatures with a public key. */
export interface Checker {
  readonly keyId: string;
  /** SPKI in PEM. */
  readonly publicPem: string;
  hasSigned(envelope: SealEnvelope): Signed;
}

/** Signs seals. It exposes only the public half of its key. */
export interface Signer extends Checker {
  /** Returns the signature of a payload and its type, in base64. */
  sign(payload: readonly Uint8Array[]): string;
}

export function checkerWith(publicKey: KeyObject): Checker {
  return {
    keyId: keyIdOf(publicKey),
    publicPem: publicKey.export({ type: 'spki', format: 'pem' }) as string,
    hasSigned: envelope => signedBy(publicKey, envelope),
  };
}

export function signerWith(privateKey: KeyObject): Signer {
  return {
    ...checkerWith(createPublicKey(privateKey)),
    sign: payload => sign(null, signedBytes(payload), privateKey).toString('base64'),
  };
}

export type Signed = 'right' | 'wrong' | 'by another key';

/**
 * Whether a key has signed an envelope. A signature's key id is not authenticated: it only selects the signatures
 * to check.
 */
export function signedBy(publicKey: KeyObject, { payload, signatures }: SealEnvelope): Signed {
  const id = keyIdOf(publicKey);
  const ours = signatures.filter(({ keyid }) => keyid === undefined || keyid === id);
  if (ours.length === 0) return 'by another key';
  const message = signedBytes([Buffer.from(payload, 'base64')]);
  const isRight = ours.some(({ sig }) => {
    const bytes = Buffer.from(sig, 'base64');
    return bytes.toString('base64') === sig && verify(null, message, publicKey, bytes);
  });
  return isRight ? 'right' : 'wrong';
}

/** The pre-authentication encoding of DSSE 1: type and payload, each with its length. */
function signedBytes(payload: readonly Uint8Array[]): Buffer {
  const length = payload.reduce((sum, part) => sum + part.length, 0);
  const head = `DSSEv1 ${Buffer.byteLength(PAYLOAD_TYPE)} ${PAYLOAD_TYPE} ${length} `;
  return Buffer.concat([Buffer.from(head), ...payload]);
}
