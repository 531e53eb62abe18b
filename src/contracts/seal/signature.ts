import { createPublicKey, type KeyObject, sign, verify } from 'node:crypto';
import { keyIdOf } from '../../base/ed25519.ts';
import type { SealEnvelope } from './envelope.ts';

export const PAYLOAD_TYPE = 'application/vnd.in-toto+json';

/** A key that signatures are checked with. */
export interface Checker {
  readonly keyId: string;
  hasSigned(envelope: SealEnvelope): Signed;
}

/** Who signs seals. It holds the key, and gives away no more than what the key is called. */
export interface Signer extends Checker {
  /** The signature over a payload and its type, in base64. */
  sign(payload: readonly Uint8Array[]): string;
}

export function checkerWith(publicKey: KeyObject): Checker {
  return { keyId: keyIdOf(publicKey), hasSigned: envelope => signedBy(publicKey, envelope) };
}

export function signerWith(privateKey: KeyObject): Signer {
  return {
    ...checkerWith(createPublicKey(privateKey)),
    sign: payload => sign(null, signedBytes(payload), privateKey).toString('base64'),
  };
}

/** What one key says of an envelope. */
export type Signed = 'right' | 'wrong' | 'by another key';

/**
 * Whether a key has signed an envelope. The id beside a signature is a hint that nothing protects: it says which
 * signature to look at, and only the key says whether that is right.
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

/** What is signed: the pre-authentication encoding of DSSE 1, over the type and the payload with the length of each. */
function signedBytes(payload: readonly Uint8Array[]): Buffer {
  const length = payload.reduce((sum, part) => sum + part.length, 0);
  const head = `DSSEv1 ${Buffer.byteLength(PAYLOAD_TYPE)} ${PAYLOAD_TYPE} ${length} `;
  return Buffer.concat([Buffer.from(head), ...payload]);
}
