import { chmodSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import path from 'node:path';
import { canonicalize } from '../base/canonical.ts';
import { codeOf, Fault } from '../base/fault.ts';
import type { ContentHash } from '../base/hash.ts';
import { OWN_FOLDER } from '../base/private.ts';
import { type PublishedRequest, SENT_FILE_BYTES_MAX } from '../contracts/published-request/index.ts';
import { declaredLimits } from '../contracts/published-script/index.ts';
import { limitsOfRecord, limitsRecord } from '../contracts/script-limits.ts';
import { effectiveLimits } from '../policy/effective-limits.ts';
import { FOLDER_BYTES_MAX } from '../publish/folder-files.ts';
import { SCRIPT_YAML } from '../publish/versions.ts';
import { offersOf } from '../run/pipeline/runner-plan.ts';
import { checkOrder, INPUT_BYTES_MAX, type ScriptOrder } from '../run/script/order.ts';
import { PUBLISHED_ANSWER } from '../run/suite/published-question.ts';
import { executeScript } from '../run/script/script.ts';
import { CANCELLED, type Target } from '../run/suite/target.ts';
import type { BlobStore } from '../store/store.ts';
import { writeBlob } from '../store/write-blob.ts';
import { sharedLauncher } from './launcher.ts';
import { readScriptFile } from './publish/script-file.ts';
import { sendingTarget } from './sent-runs.ts';
import { refuseUnlessAllowed, type ScriptWorker } from './worker-scripts.ts';

/** Fetches a run of a published script. Rejects if this worker must not or cannot make it, before anything has begun. */
export async function workerPublished(
  request: PublishedRequest,
  worker: ScriptWorker,
  signal: AbortSignal,
): Promise<Target> {
  const bounds = limitsOfRecord(request.requested);
  const { network } = effectiveLimits(bounds, offersOf(await (await sharedLauncher()).machine()));
  refuseUnlessAllowed(request.published.digest, { network, hasSecrets: false }, worker);
  const within = path.join(worker.home, 'scripts');
  mkdirSync(within, { recursive: true, mode: OWN_FOLDER });
  const folder = mkdtempSync(path.join(within, 'published-'));
  const close = async (): Promise<void> => rmSync(folder, { recursive: true, force: true });
  try {
    const order = { ...(await fetchedRun(request, folder, worker, signal)), bounds };
    checkOrder(order);
    return { ...sendingTarget(publishedTarget(order, worker), 'script', worker.home), close };
  } catch (error) {
    await close();
    throw error;
  }
}

/** Runs the script once. Its sealed run is the answer, however the script ends. */
function publishedTarget(order: ScriptOrder, { home, signer }: ScriptWorker): Target {
  return {
    async ask({ signal, onRun }) {
      try {
        const { place, plan, ending, completedAtMs } = await executeScript(order, {
          launcher: await sharedLauncher(),
          home,
          signer,
          signal,
          onFolder: ({ id }) => onRun?.(id),
        });
        const isCancelled = ending.how === 'killed' && ending.by === 'cancel';
        return {
          latencyMs: completedAtMs - plan.startedAtMs,
          runId: place.id,
          outcome: isCancelled ? CANCELLED : PUBLISHED_ANSWER,
        };
      } catch (error) {
        if (signal.aborted) return { latencyMs: 0, outcome: CANCELLED };
        throw error;
      }
    },
    // Nothing to do: the run observes its own abort signal.
    cancel: () => undefined,
    close: async () => undefined,
  };
}

/** The names come from the queue, so they can be too long, or name a file and a folder at once. */
const NAME_FAULTS: ReadonlySet<string> = new Set(['EEXIST', 'EISDIR', 'ENAMETOOLONG', 'ENOTDIR']);

/** False if the store does not have the file. */
async function writeFile(store: BlobStore, sha256: ContentHash, bytes: number, file: string): Promise<boolean> {
  try {
    mkdirSync(path.dirname(file), { recursive: true, mode: OWN_FOLDER });
    return await writeBlob(store, sha256, bytes, file);
  } catch (error) {
    if (!NAME_FAULTS.has(codeOf(error))) throw error;
    throw new Fault('attempt_request', 'A file of the run has a name that cannot be used here.', { cause: error });
  }
}

/** Refuses sizes that no server sends, before the files fill the disk of this machine. */
function refuseTooLarge(version: readonly Sized[], inputs: readonly Sized[]): void {
  const isFileTooLarge = [...version, ...inputs].some(({ bytes }) => bytes > SENT_FILE_BYTES_MAX);
  if (isFileTooLarge || sumOf(version) > FOLDER_BYTES_MAX || sumOf(inputs) > INPUT_BYTES_MAX)
    throw new Fault('attempt_request', 'The files of the run are larger than a server may send.');
}

interface Sized {
  readonly bytes: number;
}

function sumOf(files: readonly Sized[]): number {
  return files.reduce((sum, { bytes }) => sum + bytes, 0);
}

/** Writes the files that the run needs. Their names come from the queue, and the bytes from a store that others write to. */
async function fetchedRun(
  { run_id: runId, published, files, script, bundled, inputs, requested, caps }: PublishedRequest,
  folder: string,
  { store }: ScriptWorker,
  signal: AbortSignal,
): Promise<ScriptOrder> {
  if (!store) throw new Fault('internal', 'A worker without a store cannot fetch a run.');
  const fetch = async (file: string, { sha256, bytes }: { sha256: string; bytes: number }): Promise<void> => {
    if (signal.aborted) throw new Fault('cancelled', 'The run was stopped before the worker had all its files.');
    const isThere = await writeFile(store, sha256 as ContentHash, bytes, file);
    if (!isThere)
      throw new Fault(
        'no_blob',
        'The store does not have all files of the run. Start the worker with the same --store.',
      );
  };
  const names = new Set([SCRIPT_YAML, script, ...bundled]);
  const needed = files.filter(one => names.has(one.path));
  refuseTooLarge(needed, inputs);
  for (const file of needed) {
    const target = path.join(folder, 'version', file.path);
    await fetch(target, file);
    if (file.mode === '755') chmodSync(target, 0o700);
  }
  for (const input of inputs) await fetch(path.join(folder, 'inputs', input.name), input);
  const declared = readScriptFile(path.join(folder, 'version'));
  // Whoever allowed the version allowed it to run as its script.yaml says.
  const asDeclared = [declared.name, declared.version, declared.script, declared.files ?? []];
  const limits = limitsRecord(declaredLimits(declared.limits ?? {}));
  if (
    canonicalize([published.name, published.version, script, bundled]) !== canonicalize(asDeclared) ||
    canonicalize(requested) !== canonicalize({ profile: null, sandbox: null, isolation: null, ...limits })
  )
    throw new Fault('attempt_request', 'The run is not the one that the script.yaml of its version declares.');
  return {
    script: path.join(folder, 'version', script),
    inputs: [
      ...inputs.map(({ name }) => path.join(folder, 'inputs', name)),
      ...bundled.map(file => path.join(folder, 'version', file)),
    ],
    runId,
    published,
    caps: {
      stdoutBytes: caps.stdout_bytes,
      stderrBytes: caps.stderr_bytes,
      htmlBytes: caps.html_bytes,
      summaryBytes: caps.summary_bytes,
    },
  };
}
