import { existsSync, readdirSync, rmSync, statSync } from 'node:fs';
import path from 'node:path';
import { systemClock } from '../base/clock.ts';
import { Fault } from '../base/fault.ts';
import { newCorrelationId } from '../base/ids.ts';
import { printable } from '../base/printable.ts';
import { makeFolders } from '../base/private.ts';
import { repetitionId, type SuiteRequest, suiteRequest } from '../contracts/suite/index.ts';
import { documentIn } from '../evidence/document.ts';
import { findRun } from '../evidence/run-folder/runs.ts';
import { verifyFolder } from '../verify/folder.ts';
import { PACK_ENDING } from '../verify/pack.ts';
import { firstViolation } from './pack.ts';
import { unpack } from './unpack.ts';

/** Finds the parts that words name: run folders, run ids, packs, or folders with packs. Repetitions come with their run. */
export function partFiles(words: readonly string[], home: string, cwd: string): string[] {
  const named = words.flatMap(word => {
    const file = path.resolve(cwd, word);
    if (!existsSync(file)) return [findRun(home, word).folder];
    if (statSync(file).isFile() || existsSync(path.join(file, 'evidence'))) return [file];
    const packs = packsIn(file, DEPTH_MAX);
    if (packs.length > 0) return packs;
    throw new Fault('no_parts', `${printable(word)} contains no packs (*${PACK_ENDING}) and is not a run folder.`);
  });
  const known = new Set(named);
  const repetitions = named.flatMap(repetitionsBeside).filter(folder => !known.has(folder) && known.add(folder));
  return [...named, ...repetitions];
}

/** Downloads of CI artifacts have a folder for each artifact. */
const DEPTH_MAX = 3;

function packsIn(folder: string, depth: number): string[] {
  const entries = readdirSync(folder, { withFileTypes: true }).sort((a, b) => (a.name < b.name ? -1 : 1));
  return entries.flatMap(entry => {
    const file = path.join(folder, entry.name);
    if (entry.isDirectory() && depth > 1) return packsIn(file, depth - 1);
    return entry.isFile() && entry.name.endsWith(PACK_ENDING) ? [file] : [];
  });
}

function repetitionsBeside(folder: string): string[] {
  if (!statSync(folder).isDirectory()) return [];
  const request = documentIn(folder, 'evidence/request.json', suiteRequest) as SuiteRequest | undefined;
  // A request that is not valid is refused later, when the part is verified.
  const { of, total } = request?.repetition ?? { of: '', total: 0 };
  return Array.from({ length: total }, (_, at) => path.join(path.dirname(folder), repetitionId(of, at + 1))).filter(
    one => existsSync(one),
  );
}

/** Verifies parts and calls `act` with their folders. Packs are unpacked for as long as it takes. */
export async function withVerifiedParts<Result>(
  files: readonly string[],
  { home, signal }: { readonly home: string; readonly signal?: AbortSignal | undefined },
  act: (folders: readonly string[]) => Promise<Result>,
): Promise<Result> {
  const cache = path.join(home, 'cache');
  const room = path.join(cache, `${ROOM}${newCorrelationId()}`);
  removeAbandonedRooms(cache);
  try {
    const folders: string[] = [];
    for (const [index, file] of files.entries()) {
      const name = printable(path.basename(file));
      if (signal?.aborted) throw new Fault('cancelled', 'The merge was stopped. Nothing was written.');
      if (statSync(file).isDirectory()) {
        const trouble = await firstViolation(verifyFolder(file, {}), signal);
        if (trouble !== undefined) throw new Fault('part_invalid', `The part ${name} does not verify: ${trouble}`);
        folders.push(file);
      } else {
        makeFolders(room);
        folders.push(await unpacked(file, path.join(room, String(index + 1)), name, signal));
      }
    }
    return await act(folders);
  } finally {
    rmSync(room, { recursive: true, force: true });
  }
}

async function unpacked(file: string, to: string, name: string, signal: AbortSignal | undefined): Promise<string> {
  try {
    return (await unpack(file, { to, ...(signal && { signal }) })).folder;
  } catch (error) {
    if (!(error instanceof Fault && error.code === 'not_valid')) throw error;
    throw new Fault('part_invalid', `The part ${name}: ${error.message}`, { cause: error });
  }
}

const ROOM = 'merge-';
const ABANDONED_MS = 24 * 60 * 60 * 1000;

/** A killed merge leaves its unpacked parts. */
function removeAbandonedRooms(cache: string): void {
  if (!existsSync(cache)) return;
  for (const name of readdirSync(cache)) {
    const room = path.join(cache, name);
    const isOld = name.startsWith(ROOM) && systemClock.now() - statSync(room).mtimeMs > ABANDONED_MS;
    if (isOld) rmSync(room, { recursive: true, force: true });
  }
}
