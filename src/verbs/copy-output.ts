import { closeSync, constants, existsSync, openSync, readdirSync, statSync, writeSync } from 'node:fs';
import path from 'node:path';
import { readChunk } from '../base/chunk.ts';
import { Fault } from '../base/fault.ts';
import { makeFolders } from '../base/private.ts';

/** Rejects a target folder that is not empty, before anything runs. */
export function checkTarget(folder: string): void {
  if (!existsSync(folder)) return;
  if (!statSync(folder).isDirectory())
    throw new Fault('usage', 'The destination for the output is not a folder. Specify an empty or new folder.');
  if (readdirSync(folder).length > 0)
    throw new Fault('usage', 'The folder for the output is not empty. Specify an empty or new folder.');
}

/** Copies a run's output. File modes follow the umask. */
export function copyOutput(folder: string, target: string): void {
  try {
    makeFolders(target, 0o777);
    const output = path.join(folder, 'output');
    if (existsSync(output)) copyFolder(output, target);
  } catch (cause) {
    throw new Fault('copy_failed', 'Cannot copy the output from the run folder. Specify another folder.', { cause });
  }
}

function copyFolder(from: string, to: string): void {
  for (const entry of readdirSync(from, { withFileTypes: true })) {
    const [source, target] = [path.join(from, entry.name), path.join(to, entry.name)];
    if (entry.isDirectory()) {
      makeFolders(target, 0o777);
      copyFolder(source, target);
    } else copyFile(source, target);
  }
}

/** `copyFileSync` would keep the mode of the source. */
function copyFile(source: string, target: string): void {
  const from = openSync(source, constants.O_RDONLY | constants.O_NOFOLLOW);
  try {
    const to = openSync(target, 'wx', 0o666);
    try {
      const chunk = Buffer.allocUnsafe(CHUNK_BYTES);
      for (let length = readChunk(from, chunk); length > 0; length = readChunk(from, chunk)) {
        for (let at = 0; at < length; ) at += writeSync(to, chunk, at, length - at);
      }
    } finally {
      closeSync(to);
    }
  } finally {
    closeSync(from);
  }
}

const CHUNK_BYTES = 256 * 1024;
