import { closeSync } from 'node:fs';
import path from 'node:path';
import { Fault } from '../../base/fault.ts';
import { printable } from '../../base/printable.ts';
import { linesOf } from '../../base/lines.ts';
import { openRegular, readBelow } from '../../base/regular.ts';
import { assetsManifest } from '../../contracts/artifacts/index.ts';
import type { Runner } from '../../contracts/runner/shape.ts';
import { seal } from '../../contracts/seal/index.ts';
import {
  type OpenedPart,
  openPart,
  PART_REQUEST,
  PART_RUN,
  PARTS_FILE,
  suitePart,
  type SuitePart,
} from '../../contracts/suite-part/index.ts';
import { documentIn, looseKeys, soundDocument } from '../document.ts';
import { SEAL } from '../run-folder/finish.ts';

/** A part of a suite in its own folder, to be merged. */
export interface PartFolder extends OpenedPart {
  readonly folder: string;
  /** Its line in evidence/parts.ndjson, without what depends on the other parts. */
  readonly line: Pick<SuitePart, 'seal' | 'documents'>;
  readonly assets: readonly PartAsset[];
  readonly runner: Runner | undefined;
  readonly environmentHash: string | undefined;
  readonly startedAtMs: number;
  readonly endedAtMs: number;
  /** Proctor gave up on the target before it sent every case. */
  readonly gaveUp: boolean;
}

/** An entry of assets/manifest.json. */
interface PartAsset {
  readonly href: string;
  readonly kind: string;
  readonly case_id: string | null;
}

/** Documents that describe a part; those that it lacks are left out. */
const DESCRIBING = [
  PART_RUN,
  PART_REQUEST,
  'evidence/runner.json',
  'evidence/metadata.json',
  'evidence/final-state.txt',
] as const;

/** Reads a sealed part. Verify its folder first; this checks only its seal and the documents that it takes over. */
export function readPartFolder(folder: string, number: number): PartFolder {
  const name = printable(path.basename(folder));
  const text = (file: string, bytesMax: number) => readBelow(folder, file, bytesMax)?.toString('utf8');
  const documents = DESCRIBING.flatMap(file => {
    const content = text(file, suitePart.bytesMax);
    return content === undefined ? [] : [{ path: file, text: content }];
  });
  const line = { seal: text(SEAL, seal.bytesMax) ?? '', documents };
  const opening = openPart({ schema_version: 'suite-part.v1', run_id: 'merged', number, ...line });
  if (!opening.ok)
    throw new Fault('part_invalid', `${name} is not a sealed suite run: ${opening.path} ${opening.message}.`);
  const bytes = [line.seal, ...documents.map(one => one.text)].reduce(
    (sum, one) => sum + Buffer.byteLength(JSON.stringify(one)),
    0,
  );
  if (bytes > suitePart.bytesMax - LINE_REST_BYTES)
    throw new Fault(
      'part_too_large',
      `${name} has too many cases for one part. Use more shards, so that each has fewer.`,
    );
  const metadata = looseKeys(path.join(folder, 'evidence/metadata.json'), suitePart.bytesMax);
  const runner = looseKeys(path.join(folder, 'evidence/runner.json'), suitePart.bytesMax);
  const hash = metadata['environment_hash'];
  return {
    ...opening.part,
    folder,
    line,
    assets: assetsIn(folder),
    runner: 'runner_id' in runner ? (runner as Runner) : undefined,
    environmentHash: typeof hash === 'string' ? hash : undefined,
    startedAtMs: timeOf(metadata['started_at'], opening.part),
    endedAtMs: timeOf(metadata['ended_at'], opening.part),
    gaveUp: metadata['termination'] !== 'completed',
  };
}

/** The ids of the first parts of a merged run, as their seals name them. */
export function partIdsIn(folder: string, max: number): string[] {
  const fd = openRegular(path.join(folder, PARTS_FILE));
  const ids: string[] = [];
  if (fd === undefined) return ids;
  try {
    for (const { bytes } of linesOf(fd, suitePart.bytesMax, 0)) {
      const part = bytes && (soundDocument(bytes, suitePart) as SuitePart | undefined);
      const opening = part && openPart(part);
      if (!opening?.ok) break;
      ids.push(opening.part.runId);
      if (ids.length === max) break;
    }
    return ids;
  } finally {
    closeSync(fd);
  }
}

/** The other keys of a line. */
const LINE_REST_BYTES = 4_096;

function assetsIn(folder: string): readonly PartAsset[] {
  const manifest = documentIn(folder, 'assets/manifest.json', assetsManifest) as
    | { items: readonly PartAsset[] }
    | undefined;
  return manifest?.items ?? [];
}

function timeOf(text: unknown, { run }: OpenedPart): number {
  const atMs = typeof text === 'string' ? Date.parse(text) : Number.NaN;
  return Number.isNaN(atMs) ? Date.parse(run.generated_at) : atMs;
}
