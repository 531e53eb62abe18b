import { createHash } from 'node:crypto';
import { lstatSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import path from 'node:path';
import { setImmediate as others } from 'node:timers/promises';

/**
 * A text that changes when a file below a folder changes, appears or disappears. It follows no links and reads no
 * contents; the time of the last change of state cannot be set back. Undefined for a folder with too many files.
 */
export async function treeStamp(folder: string): Promise<string | undefined> {
  const hash = createHash('sha256');
  const folders = [folder];
  let entries = 0;
  for (let at = folders.pop(); at !== undefined; at = folders.pop()) {
    for (const entry of await entriesOf(at)) {
      const file = path.join(at, entry.name);
      if (entry.isDirectory()) folders.push(file);
      const stat = lstatSync(file, { bigint: true, throwIfNoEntry: false });
      hash.update(`${file}\0${stat?.ino}\0${stat?.size}\0${stat?.ctimeNs}\0`);
      if (++entries > ENTRIES_MAX) return undefined;
      if (entries % ENTRIES_AT_ONCE === 0) await others();
    }
  }
  return hash.digest('base64');
}

const ENTRIES_MAX = 500_000;
/** About 5 ms. */
const ENTRIES_AT_ONCE = 1_000;

async function entriesOf(folder: string) {
  try {
    return await readdir(folder, { withFileTypes: true });
  } catch {
    // The folder was removed in the meantime, which its parent shows.
    return [];
  }
}
