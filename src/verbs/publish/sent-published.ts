import { createReadStream, existsSync, readdirSync, renameSync, rmSync, statSync } from 'node:fs';
import path from 'node:path';
import { Readable } from 'node:stream';
import { syncFolder, writeAtomic } from '../../base/atomic.ts';
import { canonicalize } from '../../base/canonical.ts';
import { instantText, systemClock } from '../../base/clock.ts';
import { Fault } from '../../base/fault.ts';
import { fileHashInTurns } from '../../base/file-hash.ts';
import { bytesHash, type ContentHash } from '../../base/hash.ts';
import { readJson } from '../../base/json.ts';
import { makeFolders } from '../../base/private.ts';
import { readRegular } from '../../base/regular.ts';
import { attemptKey } from '../../contracts/attempt-key.ts';
import {
  bareNameOf,
  PUBLISHED_CASE,
  type PublishedRequest,
  SENT_FILE_BYTES_MAX,
} from '../../contracts/published-request/index.ts';
import { runner } from '../../contracts/runner/index.ts';
import type { Runner } from '../../contracts/runner/shape.ts';
import { limitsRecord, SCRIPT_LIMITS } from '../../contracts/script-limits.ts';
import { scriptRequest } from '../../contracts/script-request/index.ts';
import type { ScriptRequest } from '../../contracts/script-request/shape.ts';
import { openSeal, seal, type SealEnvelope, type Signer } from '../../contracts/seal/index.ts';
import type { SuiteCase } from '../../contracts/suite/index.ts';
import { SEAL } from '../../evidence/run-folder/finish.ts';
import { homeFrom } from '../../evidence/run-folder/runs.ts';
import { readScriptFolder } from '../../evidence/script/script-folder.ts';
import { capsFrom } from '../../policy/caps.ts';
import { noRun, noteRun, readRecord, stagedFolder, takingFolder } from '../../publish/script-runs.ts';
import { checkedVersion, SCRIPT_YAML } from '../../publish/versions.ts';
import type { AttemptRequest } from '../../queue/queue.ts';
import { PUBLISHED_ANSWER, PUBLISHED_NEEDS, publishedHashes } from '../../run/suite/published-question.ts';
import { PUBLISHED_PROTOCOL } from '../../run/suite/attempt-question.ts';
import { reportedAttempt } from '../../run/suite/reported-attempt.ts';
import type { BlobStore } from '../../store/store.ts';
import type { ReplyReader } from '../../targets/reader.ts';
import { ledgerOf } from '../ledger.ts';
import { settingsIn } from '../settings.ts';
import { type ReadPacked, runTaker, type SentKind, soundPacked } from '../taken-runs.ts';
import { OWN_FILES_MAX } from '../taken-scripts.ts';
import { chosenVersion, finishPublished, startOf } from './run-published.ts';

export { Offers } from '../../run/suite/offers.ts';

/**
 * Puts the files of an order into the store, and notes that only a worker may run it from here on. Repeated, it goes
 * on where it was.
 */
export async function sendStaged(cwd: string, runId: string, store: BlobStore): Promise<AttemptRequest> {
  const home = homeFrom(cwd);
  const record = readRecord(home, runId);
  if (!record) throw noRun();
  if (record.sent) return queueRequest(record.sent, await putRequest(record.sent, store));
  const { published, by } = record.ordered;
  chosenVersion(home, published.name, published.version, by);
  const version = checkedVersion(home, published);
  const { script, bundled, bounds } = startOf(version);
  const staged = stagedFolder(home, runId);
  const needed = new Set([SCRIPT_YAML, script, ...bundled]);
  const inputs: PublishedRequest['inputs'] = [];
  for (const name of readdirSync(staged)) inputs.push(await inputIn(staged, name));
  // A server that ran its scripts itself may have accepted the order.
  if (inputs.some(({ bytes }) => bytes > SENT_FILE_BYTES_MAX)) throw tooLargeToSend();
  const request: PublishedRequest = {
    schema_version: 'published-request.v1',
    key: attemptKey({ run_id: runId, case_id: PUBLISHED_CASE, attempt: 1 }),
    run_id: runId,
    published,
    files: version.stored.files.map(({ path: file, mode, bytes, sha256 }) => ({ path: file, mode, bytes, sha256 })),
    script,
    bundled: [...bundled],
    inputs,
    requested: { profile: null, sandbox: null, isolation: null, ...limitsRecord(bounds) },
    caps: capsNote(capsFrom(settingsIn(home))),
  };
  for (const { path: file, sha256, bytes } of request.files.filter(one => needed.has(one.path)))
    await putFile(store, sha256, bytes, path.join(version.folder, file));
  for (const { name, sha256, bytes } of request.inputs) await putFile(store, sha256, bytes, path.join(staged, name));
  const digest = await putRequest(request, store);
  noteRun(home, runId, { is: 'sent', at: instantText(systemClock.now()), request });
  return queueRequest(request, digest);
}

function capsNote(caps: ReturnType<typeof capsFrom>): PublishedRequest['caps'] {
  return {
    stdout_bytes: caps.stdoutBytes,
    stderr_bytes: caps.stderrBytes,
    html_bytes: caps.htmlBytes,
    summary_bytes: caps.summaryBytes,
  };
}

export function tooLargeToSend(): Fault {
  return new Fault('file_too_large', 'This server lets workers run its scripts. A file may have at most 64 MiB.');
}

async function inputIn(staged: string, name: string): Promise<PublishedRequest['inputs'][number]> {
  const file = path.join(staged, name);
  const sha256 = await fileHashInTurns(file);
  if (sha256 === undefined) throw new Fault('upload_failed', 'An uploaded file cannot be read.');
  return { name, sha256, bytes: statSync(file).size };
}

async function putFile(store: BlobStore, sha256: string, bytes: number, file: string): Promise<void> {
  await store.put(sha256 as ContentHash, createReadStream(file), bytes);
}

/** The request is always in the store: a worker at a server names its claim with every beat, so that stays short. */
async function putRequest(request: PublishedRequest, store: BlobStore): Promise<ContentHash> {
  const bytes = Buffer.from(canonicalize(request));
  const digest = bytesHash(bytes);
  await store.put(digest, Readable.from([bytes]), bytes.length);
  return digest;
}

function queueRequest({ key, run_id: runId, published, requested }: PublishedRequest, ask: string): AttemptRequest {
  const timeoutMs = (requested.timeout_ms ?? SCRIPT_LIMITS.timeoutMs.usual) + SETTLE_MS;
  return {
    key,
    runId,
    protocol: PUBLISHED_PROTOCOL,
    needs: PUBLISHED_NEEDS,
    script: { sha256: published.digest, network: 'blocked' },
    priority: 0,
    timeoutMs: Math.min(timeoutMs, TIMEOUT_MS_MAX),
    ask,
  };
}

/** How long a worker may take to fetch the files, and to send the run. */
const SETTLE_MS = 600_000;
const TIMEOUT_MS_MAX = 86_400_000;

/** What a server needs to accept the runs of workers. */
export interface TakesRuns {
  readonly cwd: string;
  readonly store: BlobStore;
  /** The ids of the keys that may sign; undefined if every worker of the queue is trusted. */
  readonly trusted: ReadonlySet<string> | undefined;
  /** Adds the signature of the server. */
  readonly signer: Signer;
  readonly onWarning?: ((sentence: string) => void) | undefined;
}

/** Why there is no result: `failed` if the worker says so, `refused` if the server does not believe the worker. */
export type NotTaken = { readonly is: 'failed' | 'refused'; readonly why: string };

/**
 * Takes the run of a worker over: verifies it, compares it with what was asked for, adds the signature of the server, and
 * shows it like a run of its own. Repeated after a crash, it goes on where it was.
 */
export async function takeSent(runId: string, report: string, server: TakesRuns): Promise<NotTaken | undefined> {
  const { cwd, store, trusted, signer, onWarning } = server;
  const home = homeFrom(cwd);
  const record = readRecord(home, runId);
  const request = record?.sent;
  if (!request) throw noRun();
  const folder = path.join(home, 'runs', 'script', runId);
  const isThere = existsSync(folder);
  const taking = takingFolder(home, runId);
  if (!isThere) rmSync(taking, { recursive: true, force: true });
  const asked = {
    key: request.key,
    caseId: PUBLISHED_CASE,
    one: NO_CASE,
    ...publishedHashes(request),
    otherwise: 'the worker ran another script, another version, or other inputs',
  };
  const result = await reportedAttempt(report, asked, {
    side: 'new',
    read: unread,
    bodyBytesMax: 0,
    store,
    trusted,
    // An earlier server accepted it before it died.
    takeRun: isThere ? async () => ({ outcome: PUBLISHED_ANSWER }) : runTaker(sentPublished(request), taking, store),
  });
  if (typeof result === 'string') return { is: 'refused', why: result };
  if (!result.outcome.ok) return { is: 'failed', why: result.outcome.message };
  if (!isThere) {
    const taken = path.join(taking, 'runs', 'script', runId);
    addSignature(taken, signer);
    makeFolders(path.dirname(folder));
    renameSync(taken, folder);
    syncFolder(path.dirname(folder));
  }
  const { statement, sha256 } = sealOf(folder);
  const { sealed_at } = statement.predicate;
  const ledger = ledgerOf(home, onWarning, isThere ? 'all of it' : 'its end');
  await ledger.enter({ run_id: runId, kind: 'script', sealed_at, seal_sha256: sha256, intent: null });
  const { worker = '', signer: by } = result;
  const keyId = by?.keyId ?? '';
  if (!record.taken) noteRun(home, runId, { is: 'taken', at: instantText(systemClock.now()), worker, key_id: keyId });
  await finishPublished(home, runId, onWarning);
  return undefined;
}

/** A published script has no cases, and no reply apart from its run. */
const NO_CASE = { id: PUBLISHED_CASE } as SuiteCase;
const unread: ReplyReader = () => ({ ok: false, class: 'schema_mismatch', message: 'There is no reply.' });

function sealOf(folder: string) {
  const bytes = readRegular(path.join(folder, SEAL), seal.bytesMax);
  const reading = bytes && readJson(bytes, { bytesMax: seal.bytesMax });
  const envelope = reading?.ok ? reading.value : undefined;
  const opened = openSeal(envelope);
  if (!bytes || !opened.ok) throw new Fault('not_sealed', 'The run of the worker has no readable seal.');
  return { envelope: envelope as SealEnvelope, statement: opened.statement, sha256: bytesHash(bytes) };
}

/** The server signs what it accepts, next to the worker. So it can later prove the run, and let files of it expire. */
function addSignature(folder: string, signer: Signer): void {
  const { envelope } = sealOf(folder);
  const own = { keyid: signer.keyId, sig: signer.sign([Buffer.from(envelope.payload, 'base64')]) };
  writeAtomic(path.join(folder, SEAL), canonicalize({ ...envelope, signatures: [...envelope.signatures, own] }));
}

/** How a server takes over the run of a published script. */
function sentPublished(request: PublishedRequest): SentKind {
  const { run_id: runId, requested } = request;
  return {
    kind: 'script',
    idForm: new RegExp(`^${runId}$`),
    filesMax: (requested.max_output_files ?? SCRIPT_LIMITS.outputFilesMax.usual) + OWN_FILES_MAX,
    fault: read => otherRun(read, request),
    async answer(folder) {
      const { outcome } = readScriptFolder(folder);
      if (!outcome) return 'its run has no outcome';
      return outcome.reason === 'cancelled' ? 'its run was cancelled' : { outcome: PUBLISHED_ANSWER };
    },
  };
}

/** Why the run is not the one that was asked for. */
function otherRun(read: ReadPacked, asked: PublishedRequest): string | undefined {
  const request = soundPacked(read, 'evidence/request.json', scriptRequest) as ScriptRequest | undefined;
  const record = soundPacked(read, 'evidence/runner.json', runner) as Runner | undefined;
  if (!request || !record) return 'its run has no request or no runner record';
  // A seal has room for 16 signatures. Others than that of the worker prove nothing, and may leave none for the server.
  const sealed = soundPacked(read, SEAL, seal) as SealEnvelope | undefined;
  if (sealed?.signatures.length !== 1) return 'its run does not have exactly one signature';
  const { script, inputs, args, env_names, secret_names, requested, published } = request;
  const file = (name: string) => asked.files.find(one => one.path === name);
  const program = file(asked.script);
  if (canonicalize(published ?? null) !== canonicalize(asked.published)) return 'its run is that of another version';
  if (script.name !== asked.script || script.sha256 !== program?.sha256 || script.bytes !== program.bytes)
    return 'its run is that of another script';
  const bundled = asked.bundled.map(name => ({ ...file(name), name: bareNameOf(name) }));
  if (listed(inputs) !== listed([...asked.inputs, ...bundled])) return 'its run had other inputs';
  const isSame =
    args.length + env_names.length + secret_names.length === 0 &&
    canonicalize(requested) === canonicalize(asked.requested);
  if (!isSame) return 'its run had other arguments, variables or limits';
  const { backend, network_blocked } = record.sandbox;
  return backend === 'process' && network_blocked ? undefined : 'its run was less isolated than the server requires';
}

function listed(
  files: readonly { readonly name: string; readonly sha256?: string; readonly bytes?: number }[],
): string {
  const entries = files.map(({ name, sha256 = '', bytes = -1 }) => ({ name, sha256, bytes }));
  return canonicalize(entries.sort((a, b) => (a.name < b.name ? -1 : 1)));
}
