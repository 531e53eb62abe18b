import type { OpenedPart } from './open.ts';

/** Files with lines of every part. */
export const SHARED_FILES = ['assets/cases.ndjson', 'assets/replies.ndjson'] as const;

/** The digest of the lines in a shared file that belong to a part, in their order. */
export type LinesOf = (file: string, part: OpenedPart) => string | undefined;

export function isShared(file: string): boolean {
  return (SHARED_FILES as readonly string[]).includes(file);
}

/** The cases and assets of a part, with their digests. */
export function* madeBy({ files, run }: OpenedPart): Generator<readonly [name: string, sha256: string]> {
  const cases = new Set(run.selected_case_ids.map(id => `${id}.json`));
  for (const [name, sha256] of files) if (cases.has(name) || isAsset(name)) yield [name, sha256];
}

/** Every merged run has an assets manifest of its own. */
export function isAsset(name: string): boolean {
  return name.startsWith('assets/') && name !== 'assets/manifest.json';
}

/** The name of a part's file in the merged folder; undefined if the folder lacks it. */
export function heldAs(
  { number }: OpenedPart,
  name: string,
  sha256: string,
  files: ReadonlyMap<string, string>,
): string | undefined {
  return [name, nameInPart(number, name)].find(file => file !== undefined && files.get(file) === sha256);
}

/** The name of an asset that belongs to no case, if another part has a different one with the same name. */
export function nameInPart(number: number, name: string): string | undefined {
  return isAsset(name) ? `assets/part${number}.${name.slice('assets/'.length)}` : undefined;
}
