import type { MaskingNote } from '../../contracts/script-outcome/masking.ts';
import { shortListOf } from './bounded.ts';
import type { ShortList, PageFile, PageMasking } from './run-data.ts';

interface KeptFile {
  readonly path: string;
  readonly bytes: number;
  readonly sha256: string | undefined;
}

/** The output files; those that need review first. `total` counts all files, including those that no document lists. */
export function filePart(
  files: readonly KeptFile[],
  total: number,
  masking: MaskingNote | undefined,
): ShortList<PageFile> {
  const flags = new Map(masking?.flagged.map(one => [one.path, one]));
  const reviewOf = (path: string): string | null => {
    const flag = flags.get(path) ?? flags.get(path.replace(/^output\//, ''));
    if (!flag) return null;
    const kinds = flag.kinds.filter(kind => kind !== 'declared_secret').slice(0, KINDS_MAX);
    return `${REVIEW[flag.code]}${kinds.length > 0 ? ` (${kinds.join(', ').replaceAll('_', ' ')})` : ''}`;
  };
  const all = files.map(({ path, bytes, sha256 }) => ({
    path,
    bytes,
    sha256: sha256 ?? null,
    review: reviewOf(path),
  }));
  const flagged = all.filter(({ review }) => review !== null);
  const rest = all.filter(({ review }) => review === null);
  return { ...shortListOf([...flagged, ...rest], FILES_MAX), total: Math.max(total, files.length) };
}

const FILES_MAX = 500;
const KINDS_MAX = 10;

const REVIEW: Readonly<Record<MaskingNote['flagged'][number]['code'], string>> = {
  secret_in_file: 'contains a declared secret',
  credential_in_file: 'contains a credential',
  credential_file_name: 'is named like a credential file',
};

export function maskingPart(masking: MaskingNote | undefined): PageMasking | null {
  if (!masking) return null;
  const { credentials, kinds, flagged } = masking;
  return { credentials, kinds: shortListOf(Object.entries(kinds), MASKED_MAX), flagged: flagged.length };
}

const MASKED_MAX = 50;
