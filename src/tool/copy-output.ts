import { closeSync, constants, existsSync, openSync, readdirSync, statSync, writeSync } from 'node:fs';
import path from 'node:path';
import { readChunk } from '../base/chunk.ts';
import { Fault } from '../base/fault.ts';
import { makeFolders } from '../base/private.ts';

/** Refuses a place to copy output to that holds something, before anything is run. */
export function checkTarget(folder: string): void {
  if (!existsSync(folder)) return;
  if (!statSync(folder).isDirectory()) throw new Fault('usage', 'The place to copy the output to is not a folder.');
  if (readdirSync(folder).length > 0)
    throw new Fault(
      'usage',
      'The folder to copy the output to is not empty. Give an empty one, or one that is not there yet.',
    );
}

/** Copies what a run left to where somebody wants it. The copies are for use, so their modes follow the umask. */
export function copyOutput(folder: string, target: string): void {
  try {
    makeFolders(target, 0o777);
    const output = path.join(folder, 'output');
    if (existsSync(output)) copyFolder(output, target);
  } catch (cause) {
    throw new Fault(
      'copy_failed',
      'The output is in the run folder, but could not be copied from there. Name another folder.',
      { cause },
    );
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

/** By hand: `copyFileSync` gives a copy the mode of its source. */
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
