import { readdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { bytesHash } from '../base/hash.ts';
import { makeFolders, OWN_FILE } from '../base/private.ts';

/** Keeps outcomes that the queue did not take, so that what an agent answered late can still be read. */
export interface OutcomeSpool {
  /** Whether the outcome was stored. */
  keep(key: string, report: string): boolean;
}

/** A spool in a folder, with one file per outcome. */
export function folderSpool(folder: string): OutcomeSpool {
  return {
    keep(key, report) {
      try {
        makeFolders(folder);
        if (readdirSync(folder).length >= FILES_MAX) return false;
        writeFileSync(path.join(folder, `${bytesHash(key).slice(-32)}.json`), report, { mode: OWN_FILE });
        return true;
      } catch {
        // The outcome does not count any more, so a full disk must not stop the worker.
        return false;
      }
    },
  };
}

const FILES_MAX = 1_000;
