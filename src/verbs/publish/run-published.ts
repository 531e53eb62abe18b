import { constants, copyFileSync, readdirSync, statSync } from 'node:fs';
import path from 'node:path';
import { writeAtomic } from '../../base/atomic.ts';
import { instantText, systemClock } from '../../base/clock.ts';
import { Fault, fullDisk } from '../../base/fault.ts';
import { newRunId } from '../../base/ids.ts';
import { declaredLimits, INPUTS_FILE, type PublishedVersion } from '../../contracts/published-script/index.ts';
import { homeFrom, makeHome } from '../../evidence/run-folder/runs.ts';
import { InputsFault } from '../../publish/inputs-fault.ts';
import { type StagedUpload, typedInputs, type UploadedFile } from '../../publish/inputs.ts';
import {
  beginRecord,
  dropStaged,
  noRun,
  noteRun,
  type OrderedRunLine,
  readRecord,
  stagedFolder,
} from '../../publish/script-runs.ts';
import { type CheckedVersion, checkedVersion } from '../../publish/versions.ts';
import { refuseUnknown } from '../options.ts';
import { runScript, type RunScriptOptions, type ScriptRunResult } from '../run-script.ts';
import { scriptSettingsIn } from '../settings.ts';
import { checkPerson, LOCAL_USER, releaseIn, releasesIn, withdrawn } from './publish.ts';
import { readScriptFile } from './script-file.ts';
import { scanOutputs } from './scan-outputs.ts';

/** A run of a published script, as its user orders it. */
export interface PublishedOrder {
  readonly name: string;
  /** The current version by default. A draft only for its author. */
  readonly version?: string;
  /** What the form sent, by the names of the inputs. */
  readonly values?: Readonly<Record<string, unknown>>;
  readonly files?: readonly UploadedFile[];
  /** The person, as the server knows them. Evidence never contains it. */
  readonly by?: string;
  readonly cwd?: string;
  /** How a client repeats the order; see `OrderedRunLine`. */
  readonly repeat?: NonNullable<OrderedRunLine['repeat']>;
}

type Watching = Pick<RunScriptOptions, 'signal' | 'onOutput' | 'onWait' | 'onFolder' | 'onWarning' | 'signingKey'>;

/** Runs a published script with checked inputs, within its declared limits. Throws `InputsFault` for bad inputs. */
export async function runPublished(order: PublishedOrder, watching: Watching = {}): Promise<ScriptRunResult> {
  const { runId } = stagePublished(order);
  return runStaged(order.cwd ?? process.cwd(), runId, watching);
}

/**
 * Checks an order and stores its inputs, so that it can start later, even after a crash. Nothing is stored if a check
 * fails.
 */
export function stagePublished(order: PublishedOrder): {
  readonly runId: string;
  readonly published: PublishedVersion;
} {
  refuseUnknown('runPublished', order, { name: 1, version: 1, values: 1, files: 1, by: 1, cwd: 1, repeat: 1 });
  const { name, values = {}, files = [], by = LOCAL_USER, cwd = process.cwd() } = order;
  checkPerson(by);
  const home = homeFrom(cwd);
  const { published, isTrial } = chosenVersion(home, name, order.version, by);
  const { folder } = checkedVersion(home, published);
  const declared = readScriptFile(folder);
  const typed = typedInputs(declared, values, files);
  if (!typed.ok) throw new InputsFault(typed.faults);
  makeHome(home);
  const runId = newRunId('script', systemClock);
  const at = instantText(systemClock.now());
  const ordered = { is: 'ordered', at, by, published, title: declared.title, is_trial: isTrial } as const;
  beginRecord(home, runId, order.repeat ? { ...ordered, repeat: order.repeat } : ordered, input => {
    storeUploads(input, typed.uploads, files);
    writeAtomic(path.join(input, INPUTS_FILE), `${JSON.stringify(typed.values, null, 2)}\n`);
  });
  return { runId, published };
}

/** The version of an order, if this person may run it now. */
export function chosenVersion(home: string, name: string, wanted: string | undefined, by: string) {
  const releases = releasesIn(home, name);
  const version = wanted ?? releases.current;
  if (version === null) throw new Fault('not_offered', `${name} has no published version at the moment.`);
  const { state, digest, author } = releaseIn(name, version, releases);
  if (state === 'withdrawn') throw withdrawn(name, version);
  const isTrial = state === 'draft';
  if (isTrial && by !== author)
    throw new Fault('not_offered', `${name} ${version} is a draft. Only its author can try it.`);
  return { published: { name, version, digest }, isTrial };
}

/** Why an order that waits may not begin any more: its version was withdrawn. */
export function checkOffered(home: string, runId: string): Fault | undefined {
  const record = readRecord(home, runId);
  if (!record) return undefined;
  const { published, by } = record.ordered;
  try {
    chosenVersion(home, published.name, published.version, by);
    return undefined;
  } catch (error) {
    if (error instanceof Fault && error.code === 'withdrawn') return error;
    return undefined;
  }
}

/** Copies uploaded files to their safe names. Checks the copies, because their sizes were judged. */
function storeUploads(folder: string, uploads: readonly StagedUpload[], files: readonly UploadedFile[]): void {
  for (const { name, source } of uploads) {
    const target = path.join(folder, name);
    try {
      copyFileSync(source, target, constants.COPYFILE_EXCL | constants.COPYFILE_FICLONE);
    } catch (cause) {
      throw new Fault('upload_failed', `An uploaded file could not be stored${fullDisk(cause)}.`, { cause });
    }
    const { bytes } = files.find(({ file }) => file === source) ?? { bytes: -1 };
    if (statSync(target).size !== bytes) throw new Fault('upload_failed', 'An uploaded file changed. Upload it again.');
  }
}

/** Starts a run that `stagePublished` stored. Its version must still be offered and unchanged. */
export async function runStaged(cwd: string, runId: string, watching: Watching = {}): Promise<ScriptRunResult> {
  const home = homeFrom(cwd);
  const record = readRecord(home, runId);
  if (!record) throw noRun();
  const { published, by } = record.ordered;
  let hasFolder = false;
  try {
    chosenVersion(home, published.name, published.version, by);
    const version = checkedVersion(home, published);
    // Refuse bad settings before the run, not when it has files to scan.
    scriptSettingsIn(home);
    const result = await runScript({
      ...watching,
      ...limitsAndFiles(version, stagedFolder(home, runId)),
      cwd,
      runId,
      published,
      onFolder: place => {
        hasFolder = true;
        watching.onFolder?.(place);
      },
    });
    await finishPublished(home, runId, watching.onWarning);
    return result;
  } catch (error) {
    if (!hasFolder) refuseRun(home, runId, error);
    else dropStaged(home, runId);
    throw error;
  }
}

/** What follows the seal of a run: its files are scanned, and its inputs removed. */
export async function finishPublished(
  home: string,
  runId: string,
  onWarning?: (sentence: string) => void,
): Promise<void> {
  await scanOutputs(home, path.join(home, 'runs', 'script', runId), runId, onWarning);
  dropStaged(home, runId);
}

function limitsAndFiles(version: CheckedVersion, staged: string) {
  const { script, bundled, bounds } = startOf(version);
  const { folder } = version;
  const uploads = readdirSync(staged).map(name => path.join(staged, name));
  return {
    script: path.join(folder, script),
    inputs: [...uploads, ...bundled.map(file => path.join(folder, file))],
    ...bounds,
  };
}

/** The files of a version that a run needs, and its limits. */
export function startOf({ folder, stored }: CheckedVersion) {
  const { name, version, script, files: bundled = [], limits = {} } = readScriptFile(folder);
  // The stored list and the file must name the same script: the digest covers only the file.
  if (name !== stored.script.name || version !== stored.script.version)
    throw new Fault('version_changed', 'The stored version does not match its script.yaml. Publish a new version.');
  return { script, bundled, bounds: declaredLimits(limits) };
}

/** Takes back an order that has not started. */
export function cancelStaged(cwd: string, runId: string): void {
  refuseRun(homeFrom(cwd), runId, new Fault('cancelled', 'The run was cancelled before it started.'));
}

/** Notes why a run did not start, or has no result, so that its user sees it. `why` is for operators. */
export function refuseRun(home: string, runId: string, error: unknown, why?: string): void {
  const { code, message } =
    error instanceof Fault ? error : { code: 'bug', message: 'The server hit an internal error.' };
  const at = instantText(systemClock.now());
  noteRun(home, runId, { is: 'refused', at, code, message, ...(why !== undefined && { why }) });
  dropStaged(home, runId);
}
