import { createReadStream, rmSync } from 'node:fs';
import path from 'node:path';
import { fileHash } from '../base/file-hash.ts';
import { Fault } from '../base/fault.ts';
import type { RunKind } from '../contracts/seal/statement.ts';
import { hasJournal } from '../evidence/recovery/recover.ts';
import { writePack } from '../evidence/pack/pack.ts';
import { SEAL } from '../evidence/run-folder/finish.ts';
import { type FailedAttempt, NotBegun, type PackedAttempt, type Target } from '../run/suite/target.ts';
import { PACK_BYTES_MAX } from './taken-runs.ts';

/**
 * A target on a worker whose runs leave the machine: each answer comes with its run as a pack. A run that did not begin is
 * handed back, and one that cannot be sent is removed.
 */
export function sendingTarget(target: Target, lane: RunKind, home: string): Target {
  return {
    ...target,
    async ask(question) {
      let id: string | undefined;
      const asking = target.ask({ ...question, onRun: begun => (id = begun) });
      const result = await asking.catch((error: unknown) => {
        if (id !== undefined) removeRun(folderOf(home, lane, id));
        else if (error instanceof Fault) throw new NotBegun(error.code, error.message, { cause: error.cause });
        throw error;
      });
      if (id === undefined) return result;
      const folder = folderOf(home, lane, id);
      const { outcome } = result;
      if (!outcome.ok && outcome.cancelled) {
        removeRun(folder);
        return result;
      }
      const packed = await packedRun(id, folder).catch((error: unknown) => {
        removeRun(folder);
        throw error;
      });
      if (packed) return { ...result, packed };
      removeRun(folder);
      return { latencyMs: result.latencyMs, outcome: TOO_LARGE };
    },
  };
}

const TOO_LARGE: FailedAttempt = {
  ok: false,
  class: 'other',
  message: `The run is larger than ${PACK_BYTES_MAX / 1024 ** 2} MiB, so the worker could not send it.`,
  errorName: 'RUN_TOO_LARGE',
  mayRetry: false,
};

function folderOf(home: string, lane: string, id: string): string {
  return path.join(home, 'runs', lane, id);
}

/** Undefined if the pack is too large to send. */
async function packedRun(id: string, folder: string): Promise<PackedAttempt | undefined> {
  const sealSha256 = fileHash(path.join(folder, SEAL));
  if (sealSha256 === undefined) throw new Fault('not_sealed', 'The run of the attempt has no seal.');
  const file = `${folder}.tar`;
  const { sha256, bytes } = await writePack(folder, file, { withInternal: false, ledgerLine: undefined });
  const remove = (): void => {
    rmSync(file, { force: true });
    removeRun(folder);
  };
  if (bytes > PACK_BYTES_MAX) {
    remove();
    return undefined;
  }
  return { id, sealSha256, pack: { sha256, bytes }, read: () => createReadStream(file), remove };
}

/** A run that Proctor could not complete keeps its journal, for the next start of the worker. */
function removeRun(folder: string): void {
  if (!hasJournal(folder)) rmSync(folder, { recursive: true, force: true });
}
