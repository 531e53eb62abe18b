import { createWriteStream, existsSync, rmSync } from 'node:fs';
import path from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { Fault, fullDisk } from '../base/fault.ts';
import { fileHash } from '../base/file-hash.ts';
import { newCorrelationId } from '../base/ids.ts';
import { printable } from '../base/printable.ts';
import { makeFolders, OWN_FILE } from '../base/private.ts';
import { SEAL } from '../evidence/run-folder/finish.ts';
import { homeFrom, makeHome, type RunFolder } from '../evidence/run-folder/runs.ts';
import { verifyInBatches } from '../verify/index.ts';
import { checkerIfUsable } from './keys.ts';
import { firstViolation } from './pack.ts';
import type { ShownSuiteResult } from './run-suite.ts';
import { showSuite } from './show-suite.ts';
import { suiteResultOf } from './suite-result.ts';
import { unpack } from './unpack.ts';

/**
 * Stores the pack of a suite that a server ran, verifies it, and unpacks it among the runs of this project. If the server
 * serves this project, the run is here already: then its folder is verified, and must have the seal of the pack.
 */
export async function fetchedSuite(
  stream: ReadableStream<Uint8Array>,
  { id, as, cwd, signingKey }: { id: string; as: 'baseline' | 'new'; cwd: string; signingKey?: string },
): Promise<ShownSuiteResult> {
  const home = homeFrom(cwd);
  makeHome(home);
  const folder = path.join(home, 'runs', as, id);
  makeFolders(path.dirname(folder));
  const isHere = existsSync(folder);
  const file = path.join(home, `.fetched-${newCorrelationId()}.proctor.tar`);
  const fetched = isHere ? `${file}.folder` : folder;
  try {
    await stored(stream, file);
    const { runId } = await unpack(file, { to: fetched, cwd });
    if (runId !== id) {
      rmSync(fetched, { recursive: true, force: true });
      throw new Fault('not_valid', 'The server sent the pack of another run.');
    }
    if (isHere) await refuseAnotherRun(folder, fetched);
  } finally {
    rmSync(file, { force: true });
    if (isHere) rmSync(fetched, { recursive: true, force: true });
  }
  return suiteResultIn({ id, lane: as, folder }, cwd, signingKey);
}

async function refuseAnotherRun(here: string, fetched: string): Promise<void> {
  const [own, sent] = [here, fetched].map(folder => fileHash(path.join(folder, SEAL)));
  const name = printable(path.basename(here));
  if (own === undefined || own !== sent)
    throw new Fault('run_exists', `This project has another run called ${name}. Choose another name with --run-id.`);
  const trouble = await firstViolation(verifyInBatches(here));
  if (trouble !== undefined) throw new Fault('not_valid', `The run ${name} does not verify: ${trouble}`);
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
