import { compare } from '../../contracts/check.ts';
import type { PackDocument } from '../../contracts/pack/index.ts';
import type { SealStatement } from '../../contracts/seal/index.ts';
import { EXPIRED } from '../run-folder/expired.ts';
import { SEAL } from '../run-folder/finish.ts';

/** The prefix of the files in the run folder. They come first in the archive, and pack.json comes last. */
export const FOLDER = 'folder/';

/** The run's ledger line, with its line feed. It is a single line, so it cannot be verified as a ledger. */
export const LEDGER_LINE = 'ledger-line.json';

export const PACK = 'pack.json';

export const INTERNAL = 'evidence/internal/';

/** Files that may be added to a run folder after it is sealed. */
export const LATER: readonly string[] = [
  'evaluation.json',
  'evaluation.seal.json',
  'evidence/evaluation.json',
  'evidence/evaluation.seal.json',
  EXPIRED,
];

/** The files to pack: the sealed files, the seal, and files added later. Sorted. */
export function packedFiles(
  { subject }: SealStatement,
  withInternal: boolean,
  has: (file: string) => boolean,
  expired: ReadonlySet<string>,
): string[] {
  const names = subject.map(({ name }) => name).filter(name => !expired.has(name) || has(name));
  const sealed = withInternal ? names : names.filter(name => !name.startsWith(INTERNAL));
  return [...sealed, SEAL, ...LATER.filter(has)].sort(compare);
}

/** An entry that no seal covers. */
export type Unsealed = PackDocument['unsealed'][number];

/** Builds pack.json. Every value follows from the other entries in the pack. */
export function packDocument(
  { subject, predicate }: SealStatement,
  sealSha256: string,
  unsealed: readonly Unsealed[],
  withInternal: boolean,
): PackDocument {
  const internal = subject.map(({ name }) => name).filter(name => name.startsWith(INTERNAL));
  return {
    schema_version: 'pack.v1',
    run_id: predicate.run_id,
    kind: predicate.kind,
    seal_sha256: sealSha256,
    unsealed: [...unsealed].sort((a, b) => compare(a.path, b.path)),
    left_out: withInternal ? [] : internal.map(name => FOLDER + name).sort(compare),
  };
}
