import { mkdirSync, rmSync } from 'node:fs';
import path from 'node:path';
import { Fault, fullDisk } from '../../base/fault.ts';
import { OWN_FOLDER } from '../../base/private.ts';
import { repetitionId } from '../../contracts/suite/index.ts';
import { missingShards } from '../../contracts/suite-part/index.ts';
import { finish, type Sealing, sealingOf } from '../run-folder/finish.ts';
import { Journal } from '../run-folder/journal.ts';
import { makeFolderIn, type RunFolder } from '../run-folder/runs.ts';
import { storedFiles } from '../run-folder/sealed-files.ts';
import { type Merged, mergedDocuments } from './merged-documents.ts';
import { copyParts } from './merged-files.ts';
import type { SuiteLine, SuitePlan } from './suite-run.ts';

export interface MergeContext extends Sealing {
  readonly owner: SuitePlan['owner'];
  /** Resolves once the files of a folder are on disk. */
  readonly sync: (folder: string) => Promise<void>;
}

/**
 * Writes the parts of a suite as one sealed run into a new folder below `within`. Until the seal exists, the folder has a
 * journal that says only who started it, so `proctor recover` removes what a killed merge left.
 */
export async function mergeSuite(merged: Merged, within: string, around: MergeContext): Promise<RunFolder> {
  const [{ request }] = merged.parts;
  const id = repetitionId(merged.of, request.repetition.number);
  const folder = makeFolderIn(path.join(within, request.version), id);
  let journal: Journal<SuiteLine> | undefined;
  let isSealed = false;
  try {
    journal = Journal.open<SuiteLine>(folder);
    journal.append({ is: 'laying', owner: around.owner });
    journal.sync();
    mkdirSync(path.join(folder, 'assets'), { mode: OWN_FOLDER });
    const files = copyParts(merged.parts, folder);
    if (missingShards(merged.parts).length === 0 && files.cases.sha256 !== request.shard?.all.sha256)
      throw new Fault('parts_contradict', 'The parts together do not have the cases that each of them names.');
    const assets = files.assets.map(({ href, sha256, bytes }) => ({ path: href, sha256, bytes }));
    await finish(folder, {
      runId: id,
      kind: 'suite',
      version: request.version,
      documents: mergedDocuments(merged, files),
      stored: storedFiles([...files.caseFiles, ...assets]),
      passing: [],
      sealedAtMs: merged.mergedAtMs,
      synced: around.sync(folder),
      ...sealingOf(around),
    });
    isSealed = true;
    journal.remove();
    return { id, lane: request.version, folder };
  } catch (cause) {
    journal?.close();
    if (!isSealed) rmSync(folder, { recursive: true, force: true });
    if (cause instanceof Fault) throw cause;
    throw new Fault('write_failed', `The merged run could not be written${fullDisk(cause)}.`, { cause });
  }
}
