import { compare } from '../contracts/check.ts';
import type { PackDocument } from '../contracts/pack/index.ts';
import type { SealStatement } from '../contracts/seal/index.ts';
import { SEAL } from './finish.ts';

/** The files of the run, as they lay in its folder. Their names come first, and that of the pack's own document last. */
export const FOLDER = 'folder/';

/** The line of the ledger that tells of the run, with its line feed. It is no ledger: the lines before it are elsewhere. */
export const LEDGER_LINE = 'ledger-line.json';

/** What the pack says of itself. */
export const PACK = 'pack.json';

export const INTERNAL = 'evidence/internal/';

/** What may come into the folder of a run after its seal. */
export const LATER: readonly string[] = [
  'evaluation.json',
  'evaluation.seal.json',
  'evidence/evaluation.json',
  'evidence/evaluation.seal.json',
];

/** The files of a run that are packed: what the seal names, the seal, and what came after it. Sorted. */
export function packedFiles(
  { subject }: SealStatement,
  withInternal: boolean,
  has: (file: string) => boolean,
): string[] {
  const names = subject.map(({ name }) => name);
  const sealed = withInternal ? names : names.filter(name => !name.startsWith(INTERNAL));
  return [...sealed, SEAL, ...LATER.filter(has)].sort(compare);
}

/** An entry that no seal covers. */
export type Unsealed = PackDocument['unsealed'][number];

/** What a pack says of itself. Every word of it follows from what else is in the pack. */
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
