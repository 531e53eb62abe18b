import { generateKeyPairSync } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { canonicalize } from '../../src/base/canonical.ts';
import { bytesHash } from '../../src/base/hash.ts';
import { type Signer, signerWith } from '../../src/contracts/seal/index.ts';
import { suiteFolder, type WorldCase, type WorldSuite } from './suite-world.ts';
import { temporaryFolder } from './support.ts';

export const PART_CASES: readonly WorldCase[] = ['b', 'a', 'd', 'c', 'f', 'e'].map(id => ({
  id,
  expected: { contains: `to ${id}` },
}));

/** Writes one shard of a suite in a folder of its own, as another machine would. */
export function partFolder(index: number, total: number, over: Partial<WorldSuite> = {}): Promise<string> {
  const { cases = PART_CASES, request, ...others } = over;
  const lines = cases.map(({ id, user = `What about ${id}?`, expected, title }) =>
    canonicalize({
      schema_version: 'suite-case.v1',
      id,
      input: { user },
      ...(title !== undefined && { title }),
      ...(expected && { expected }),
    }),
  );
  const text = lines.map(line => `${line}\n`).join('');
  const all = { sha256: bytesHash(text), bytes: Buffer.byteLength(text), count: cases.length };
  return suiteFolder(temporaryFolder(), {
    version: 'new',
    runId: `suite_20260106_120000_00000000000${index}`,
    cases: cases.filter((_, at) => at % total === index - 1),
    request: { shard: { index, total, all }, ...request },
    ...others,
  });
}

export function partFolders(total: number, over: Partial<WorldSuite> = {}): Promise<string[]> {
  return Promise.all(Array.from({ length: total }, (_, at) => partFolder(at + 1, total, over)));
}

/** A signer, and the file of its public key. */
export function keyPair(): { readonly signer: Signer; readonly file: string; readonly pem: string } {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519');
  const pem = publicKey.export({ type: 'spki', format: 'pem' }) as string;
  const file = path.join(temporaryFolder(), 'signing.pub');
  writeFileSync(file, pem);
  return { signer: signerWith(privateKey), file, pem };
}
