import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { Fault } from '../base/fault.ts';
import { OWN_FOLDER } from '../base/private.ts';
import { type AttemptQuestion } from '../contracts/attempt-request/index.ts';
import { limitsOfRecord } from '../contracts/script-limits.ts';
import { bareNameFault } from '../contracts/script-request/bare-name.ts';
import type { Signer } from '../contracts/seal/index.ts';
import { effectiveLimits, type Requested } from '../policy/effective-limits.ts';
import { offersOf } from '../run/pipeline/runner-plan.ts';
import { checkOrder, SCRIPT_BYTES_MAX } from '../run/script/order.ts';
import { scriptTarget } from '../run/suite/script-target.ts';
import { settingsFrom } from '../run/suite/settings.ts';
import type { Target } from '../run/suite/target.ts';
import { OFFERED_SCRIPTS_MAX, type OfferedScripts } from '../queue/queue.ts';
import type { BlobStore } from '../store/store.ts';
import { sharedLauncher } from './launcher.ts';
import { sendingTarget } from './sent-runs.ts';
import { namedBlob } from './worker-blobs.ts';

/** Reads `--allow-script`. Undefined without any. A network would bypass the limit to origins. */
export function allowedScripts(
  words: readonly string[] | undefined,
  isLimitedToOrigins: boolean,
): OfferedScripts | undefined {
  if (!words || words.length === 0) return undefined;
  const digests = words.filter(word => word !== 'any').map(word => word.replace(/^sha256:/, ''));
  if (!digests.every(digest => /^[0-9a-f]{64}$/.test(digest)))
    throw new Fault('usage', 'A script is allowed by its SHA-256, 64 hexadecimal digits, or by the word any.');
  const named = [...new Set(digests)].map(digest => `sha256:${digest}`);
  if (named.length > OFFERED_SCRIPTS_MAX)
    throw new Fault(
      'usage',
      `A worker allows at most ${OFFERED_SCRIPTS_MAX} scripts. Start a second worker for the others.`,
    );
  return { digests: named, isAny: words.includes('any'), network: isLimitedToOrigins ? 'blocked' : 'open' };
}

/** What this machine and its operator offer: sandboxes that the machine has, by the weakest isolation that they satisfy. */
export async function scriptNeeds({
  digests,
  network,
}: OfferedScripts): Promise<{ readonly needs: readonly string[]; readonly hasSecrets: boolean }> {
  const offers = offersOf(await (await sharedLauncher()).machine());
  const needs = offers.flatMap(({ sandbox, isolation, unusable }) => {
    if (sandbox === 'none') return digests.length > 0 && network === 'open' ? ['script/none/none'] : [];
    if (unusable !== undefined) return [];
    return isolation === 'strict'
      ? [`script/${sandbox}/strict`, `script/${sandbox}/standard`]
      : [`script/${sandbox}/standard`];
  });
  const unusable = offers.find(offer => offer.unusable !== undefined)?.unusable;
  if (needs.length === 0)
    throw new Fault('sandbox_unavailable', `${unusable ?? ''} Run proctor doctor to see how to install them.`.trim());
  return { needs, hasSecrets: digests.length > 0 };
}

/** What a worker needs to run scripts. */
export interface ScriptWorker {
  readonly allowed: OfferedScripts;
  readonly store: BlobStore | undefined;
  /** Where the runs of this worker lie until the queue has their outcomes. */
  readonly home: string;
  readonly signer: Signer;
}

/** Opens the script of an attempt. Rejects if this worker must not or cannot run it, before anything has begun. */
export async function workerScript(
  question: AttemptQuestion,
  secrets: Readonly<Record<string, string>>,
  worker: ScriptWorker,
): Promise<Target> {
  const { target, script, settings, run_id: runId, version: side, keep_credentials } = question;
  if (target.kind !== 'script' || !script) throw new Fault('attempt_request', 'The attempt names no script.');
  const { requested, profile } = script;
  if (requested.sandbox !== target.sandbox)
    throw new Fault('attempt_request', 'The attempt asks for another sandbox than its target has.');
  const bounds = {
    ...limitsOfRecord(requested),
    ...(profile && { profile }),
    sandbox: requested.sandbox,
    ...(requested.isolation !== null && { isolation: requested.isolation }),
  } as Requested;
  const { sandbox, isolation, network } = effectiveLimits(bounds, offersOf(await (await sharedLauncher()).machine()));
  if (sandbox !== target.sandbox || (target.isolation === 'strict' && isolation !== 'strict'))
    throw new Fault('not_enforceable', 'This worker cannot isolate the script as strictly as the suite requires.');
  refuseUnlessAllowed(target.sha256, { network, hasSecrets: question.secret_names.length > 0 }, worker);
  const folder = await fetchedScript(target, worker);
  try {
    const file = path.join(folder, target.name);
    checkOrder({ script: file, bounds, secrets });
    const { home, signer } = worker;
    const options = { side, runId, launcher: sharedLauncher, home, signer, bounds, secrets };
    const asked = scriptTarget({
      ...options,
      script: file,
      settings: settingsFrom(settings),
      ...(keep_credentials && { keepCredentials: true }),
    });
    const sending = sendingTarget(asked, 'script', home);
    return { ...sending, close: async () => rmSync(folder, { recursive: true, force: true }) };
  } catch (error) {
    rmSync(folder, { recursive: true, force: true });
    throw error;
  }
}

/** Anyone who can write to the queue chooses the script, so the worker decides what it may reach. */
export function refuseUnlessAllowed(
  sha256: string,
  { network, hasSecrets }: { readonly network: 'blocked' | 'open'; readonly hasSecrets: boolean },
  { allowed }: ScriptWorker,
): void {
  const isNamed = allowed.digests.includes(sha256);
  if (!isNamed && !allowed.isAny)
    throw new Fault(
      'not_offered',
      'This worker may not run this script. Allow it with --allow-script and its SHA-256.',
    );
  if (network === 'open' && allowed.network === 'blocked')
    throw new Fault('not_offered', 'The script asks for a network, which would bypass --allow-target of this worker.');
  if (isNamed || (network === 'blocked' && !hasSecrets)) return;
  throw new Fault(
    'not_offered',
    `This worker allows any script, but only without secrets and without a network. Allow this one with --allow-script ${sha256.replace('sha256:', '')}.`,
  );
}

/** A new folder with the script. The name comes from the queue, and the bytes from a store that others write to. */
async function fetchedScript(
  { name, sha256, bytes }: { readonly name: string; readonly sha256: string; readonly bytes: number },
  { store, home }: ScriptWorker,
): Promise<string> {
  const trouble = bareNameFault(name);
  if (trouble) throw new Fault('attempt_request', `The name of the script ${trouble}.`);
  const script = await namedBlob(store, { what: 'script', sha256, bytes, bytesMax: SCRIPT_BYTES_MAX });
  const within = path.join(home, 'scripts');
  mkdirSync(within, { recursive: true, mode: OWN_FOLDER });
  const folder = mkdtempSync(path.join(within, 'script-'));
  writeFileSync(path.join(folder, name), script, { mode: 0o700 });
  return folder;
}
