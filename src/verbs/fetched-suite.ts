import { createWriteStream, rmSync } from 'node:fs';
import path from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { Fault, fullDisk } from '../base/fault.ts';
import { newCorrelationId } from '../base/ids.ts';
import { makeFolders, OWN_FILE } from '../base/private.ts';
import { homeFrom, makeHome, type RunFolder } from '../evidence/run-folder/runs.ts';
import { checkerIfUsable } from './keys.ts';
import type { ShownSuiteResult } from './run-suite.ts';
import { showSuite } from './show-suite.ts';
import { suiteResultOf } from './suite-result.ts';
import { unpack } from './unpack.ts';

/** Stores the pack of a suite that a server ran, verifies it, and unpacks it among the runs of this project. */
export async function fetchedSuite(
  stream: ReadableStream<Uint8Array>,
  { id, as, cwd, signingKey }: { id: string; as: 'baseline' | 'new'; cwd: string; signingKey?: string },
): Promise<ShownSuiteResult> {
  const home = homeFrom(cwd);
  makeHome(home);
  const folder = path.join(home, 'runs', as, id);
  makeFolders(path.dirname(folder));
  const file = path.join(home, `.fetched-${newCorrelationId()}.proctor.tar`);
  try {
    await stored(stream, file);
    const unpacked = await unpack(file, { to: folder, cwd });
    if (unpacked.runId !== id) {
      rmSync(folder, { recursive: true, force: true });
      throw new Fault('not_valid', 'The server sent the pack of another run.');
    }
  } finally {
    rmSync(file, { force: true });
  }
  return suiteResultIn({ id, lane: as, folder }, cwd, signingKey);
}

async function stored(stream: ReadableStream<Uint8Array>, file: string): Promise<void> {
  let bytes = 0;
  const limited = async function* (pieces: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
    for await (const piece of pieces) {
      bytes += piece.length;
      if (bytes > PACK_BYTES_MAX) throw new Fault('answer_too_large', 'The pack exceeds 16 GiB.');
      yield piece;
    }
  };
  try {
    await pipeline(
      Readable.fromWeb(stream as never),
      limited,
      createWriteStream(file, { flags: 'wx', mode: OWN_FILE }),
    );
  } catch (cause) {
    if (cause instanceof Fault) throw cause;
    throw new Fault('not_fetched', `The pack could not be fetched${fullDisk(cause)}.`, { cause });
  }
}

const PACK_BYTES_MAX = 16 * 1024 ** 3;

/** The result of a sealed suite, as its command prints it. The reasons of failed cases are in `proctor show`. */
export async function suiteResultIn(
  place: RunFolder,
  cwd: string,
  signingKey: string | undefined,
): Promise<ShownSuiteResult> {
  const { run, request, evaluation, keyIds } = (await showSuite(place, checkerIfUsable(cwd, signingKey))) ?? {};
  if (!run || !request) throw new Fault('not_valid', 'The run folder contains no suite run.');
  return suiteResultOf([{ place, run, request, evaluation }], keyIds?.[0] ?? null);
}
