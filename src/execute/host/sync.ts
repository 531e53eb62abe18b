import { execFile } from 'node:child_process';
import { closeSync, fsyncSync, openSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';

/** Syncs the whole file system, which is faster than an fsync for each of ten thousand files. */
export async function flushFolder(folder: string): Promise<void> {
  try {
    await run('sync', ['-f', folder], { timeout: SYNC_MS });
  } catch {
    // `sync -f` is not available everywhere.
    for (const entry of readdirSync(folder, { withFileTypes: true })) {
      if (entry.isFile()) syncFile(path.join(folder, entry.name));
    }
    syncFile(folder);
  }
}

const run = promisify(execFile);

const SYNC_MS = 120_000;

function syncFile(file: string): void {
  const fd = openSync(file, 'r');
  try {
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}
