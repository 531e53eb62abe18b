import { createPublicKey, type KeyObject } from 'node:crypto';
import { bundleFromJSON } from '@sigstore/bundle';
import { toSignedEntity, toTrustMaterial, Verifier } from '@sigstore/verify';
import { describe, expect, test } from 'vitest';
import { canonicalize } from '../../src/base/canonical.ts';
import { newKeyPair, privateKeyIn } from '../../src/base/ed25519.ts';
import { bytesHash } from '../../src/base/hash.ts';
import { sealPieces } from '../../src/contracts/seal/envelope.ts';
import { type SealEnvelope, signerWith } from '../../src/contracts/seal/index.ts';

const pair = newKeyPair();
const publicKey = createPublicKey(pair.publicPem);

/** A seal.json as a run writes it. */
const text = [
  ...sealPieces(
    {
      runId: 'script_20260403_101500_4f1c9a7be210',
      kind: 'script',
      sealedAt: '2026-04-03T10:15:07.412Z',
      files: ['evidence/outcome.json', 'result.json'].map(path => ({ path, sha256: bytesHash(path), bytes: 7 })),
    },
    signerWith(privateKeyIn(pair.privatePem) as KeyObject),
  ),
].join('');

/**
 * Verifies Proctor's envelope, as stored, in a Sigstore bundle (v0.3). `Verifier` trusts only the given key. The
 * thresholds for transparency logs and timestamps are 0, because an offline seal has neither.
 */
function verifiedBySigstore(envelope: SealEnvelope, key: KeyObject = publicKey): void {
  const bundle = bundleFromJSON({
    mediaType: 'application/vnd.dev.sigstore.bundle.v0.3+json',
    verificationMaterial: { publicKey: { hint: pair.keyId }, tlogEntries: [] },
    dsseEnvelope: envelope,
  });
  const nobody = { mediaType: '', certificateAuthorities: [], timestampAuthorities: [], tlogs: [], ctlogs: [] };
  const trusted = toTrustMaterial(nobody, hint => {
    expect(hint).toBe(pair.keyId);
    return { publicKey: key, validFor: () => true };
  });
  const witnesses = { tlogThreshold: 0, ctlogThreshold: 0, timestampThreshold: 0 };
  new Verifier(trusted, witnesses).verify(toSignedEntity(bundle));
}

describe('the Sigstore verifier', () => {
  const envelope = JSON.parse(text) as SealEnvelope;

  test('accepts a signed seal', () => {
    verifiedBySigstore(envelope);
  });

  test('rejects another payload, another signature and another key', () => {
    const statement = JSON.parse(Buffer.from(envelope.payload, 'base64').toString()) as { predicate: object };
    const forged = { ...statement, predicate: { ...statement.predicate, run_id: 'script_other' } };
    const payload = Buffer.from(canonicalize(forged)).toString('base64');
    const [{ sig, keyid }] = envelope.signatures as [{ sig: string; keyid: string }];
    const bytes = Buffer.from(sig, 'base64');
    bytes.writeUInt8(bytes.readUInt8(3) ^ 1, 3);
    const signatures = [{ keyid, sig: bytes.toString('base64') }];
    const failure = 'signature verification failed';
    expect(() => verifiedBySigstore({ ...envelope, payload })).toThrow(failure);
    expect(() => verifiedBySigstore({ ...envelope, signatures })).toThrow(failure);
    expect(() => verifiedBySigstore(envelope, createPublicKey(newKeyPair().publicPem))).toThrow(failure);
  });
});
