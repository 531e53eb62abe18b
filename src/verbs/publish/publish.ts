import { rmSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { instantText, monotonicMs, systemClock } from '../../base/clock.ts';
import { Fault } from '../../base/fault.ts';
import { didYouMean } from '../../base/nearest.ts';
import { isPrintable, printable } from '../../base/printable.ts';
import { SCRIPT_NAME } from '../../contracts/published-script/index.ts';
import { SEMVER } from '../../contracts/shape.ts';
import { homeFrom, makeHome } from '../../evidence/run-folder/runs.ts';
import { takeLock } from '../../execute/host/locks.ts';
import { appendRelease, readReleases, type ReleaseLine, type Releases, releasesOf } from '../../publish/releases.ts';
import { makeServerFolder, scriptsFolder } from '../../publish/server-folder.ts';
import { type CopiedFolder, copyIntoStore, readVersion, storedNames, versionTaken } from '../../publish/versions.ts';
import type { PublishedView, ScriptListing } from '../../publish/views.ts';
import { refuseUnknown } from '../options.ts';
import { checkScriptFiles, readScriptFile } from './script-file.ts';

export interface PublishOptions {
  /** The project whose server offers the script; the working folder by default. */
  readonly cwd?: string;
  /** Stores the version without offering it. Only its author can try it. */
  readonly draft?: boolean;
  /** The person, as the server knows them. */
  readonly by?: string;
}

/** The person at the command line of this machine. */
export const LOCAL_USER = 'local';

/** Stores a folder with a script.yaml as an immutable version, and offers it to end users. */
export async function publishScript(folder: string, options: PublishOptions = {}): Promise<PublishedView> {
  refuseUnknown('publishScript', options, { cwd: true, draft: true, by: true });
  const { cwd = process.cwd(), draft = false, by = LOCAL_USER } = options;
  checkPerson(by);
  const home = homeFrom(cwd);
  makeHome(home);
  const copy = copyIntoStore(home, path.resolve(cwd, folder));
  try {
    const declared = readScriptFile(copy.folder);
    checkScriptFiles(copy.folder, new Set(copy.files.map(file => file.path)), declared);
    const { name, version } = declared;
    return await alone(home, name, () => {
      const lines = readReleases(home, name);
      const known = releasesOf(lines).releases.find(release => release.version === version);
      if (known && known.digest !== copy.digest) throw versionTaken(name, version);
      if (known?.state === 'withdrawn') throw withdrawn(name, version);
      if (!known) {
        // A version without a line was stored by a publication that did not complete.
        rmSync(path.join(scriptsFolder(home), name, version), { recursive: true, force: true });
        copy.keep(declared);
      }
      const isOffered = known?.state === 'published' || !draft;
      if (known?.state !== 'published' && (!known || !draft))
        appendRelease(home, name, lineOf(draft ? 'drafted' : 'published', version, copy.digest, by));
      return viewOf(copy, name, version, isOffered ? 'published' : 'draft', !known);
    });
  } finally {
    copy.drop();
  }
}

function viewOf(copy: CopiedFolder, name: string, version: string, state: 'draft' | 'published', isNew: boolean) {
  const bytes = copy.files.reduce((sum, file) => sum + file.bytes, 0);
  return { name, version, digest: copy.digest, state, is_new: isNew, files: copy.files.length, bytes };
}

export interface ReleaseOptions {
  readonly cwd?: string;
  readonly by?: string;
}

/** Offers a draft to end users. */
export async function offerVersion(
  name: string,
  version: string,
  options: ReleaseOptions = {},
): Promise<ScriptListing> {
  return changed(name, options, releases => {
    const { state, digest } = releaseIn(name, version, releases);
    if (state === 'withdrawn') throw withdrawn(name, version);
    return state === 'published' ? undefined : ['published', version, digest];
  });
}

/** Withdraws a version: no new run uses it. Runs that have started go on. */
export async function withdrawVersion(
  name: string,
  version: string,
  options: ReleaseOptions = {},
): Promise<ScriptListing> {
  return changed(name, options, releases => {
    const { state, digest } = releaseIn(name, version, releases);
    return state === 'withdrawn' ? undefined : ['withdrawn', version, digest];
  });
}

/** Makes the version current that was current before. */
export async function rollBackScript(name: string, options: ReleaseOptions = {}): Promise<ScriptListing> {
  return changed(name, options, releases => {
    const { previous } = releases;
    if (previous === null)
      throw new Fault('no_previous_version', `${name} has no earlier published version to return to.`);
    return ['rolled_back', previous, releaseIn(name, previous, releases).digest];
  });
}

async function changed(
  name: string,
  options: ReleaseOptions,
  decide: (releases: Releases) => readonly [ReleaseLine['is'], string, string] | undefined,
): Promise<ScriptListing> {
  refuseUnknown('publish', options, { cwd: true, by: true });
  const { cwd = process.cwd(), by = LOCAL_USER } = options;
  checkPerson(by);
  const home = homeFrom(cwd);
  releasesIn(home, name);
  return alone(home, name, () => {
    const line = decide(releasesIn(home, name));
    if (line) appendRelease(home, name, lineOf(...line, by));
    return scriptListingOf(home, name);
  });
}

/** The releases of a script that exists. */
export function releasesIn(home: string, name: string): Releases {
  const lines = SCRIPT_NAME.test(name) ? readReleases(home, name) : [];
  if (lines.length > 0) return releasesOf(lines);
  throw new Fault('no_script', `There is no script "${printable(name)}".${didYouMean(name, storedNames(home))}`);
}

export function releaseIn(name: string, version: string, { releases }: Releases): Releases['releases'][number] {
  const release = SEMVER.test(version) ? releases.find(one => one.version === version) : undefined;
  if (release) return release;
  const known = releases.map(one => one.version);
  throw new Fault(
    'no_version',
    `${name} has no version "${printable(version)}".${didYouMean(version, known)} It has ${known.slice(-10).join(', ')}.`,
  );
}

/** All scripts of a project, sorted by name. A script that cannot be trusted is named in `refused`. */
export function listScripts(cwd: string): {
  readonly scripts: readonly ScriptListing[];
  readonly refused: readonly { readonly name: string; readonly message: string }[];
} {
  const home = homeFrom(cwd);
  const scripts: ScriptListing[] = [];
  const refused: { name: string; message: string }[] = [];
  for (const name of storedNames(home)) {
    try {
      if (SCRIPT_NAME.test(name) && readReleases(home, name).length > 0) scripts.push(scriptListingOf(home, name));
    } catch (error) {
      const message = error instanceof Fault ? error.message : `The script ${name} cannot be read.`;
      refused.push({ name, message });
    }
  }
  return { scripts, refused };
}

/** A script with its versions, newest first. */
export function scriptListingOf(home: string, name: string): ScriptListing {
  const { releases, current, previous } = releasesIn(home, name);
  const shown = current ?? releases.at(-1)?.version;
  const title = shown === undefined ? undefined : readVersion(home, name, shown)?.script.title;
  const versions = releases
    .map(({ version, digest, state, author, at }) => ({
      version,
      digest,
      state,
      is_current: version === current,
      author,
      at,
    }))
    .reverse();
  return { name, title: title ?? null, current, previous, versions };
}

export function withdrawn(name: string, version: string): Fault {
  return new Fault('withdrawn', `${name} ${version} was withdrawn. Publish a new version.`);
}

function lineOf(is: ReleaseLine['is'], version: string, digest: string, by: string): ReleaseLine {
  return { is, version, digest, by, at: instantText(systemClock.now()) };
}

export function checkPerson(by: string): void {
  if (by === '' || by.length > 200 || !isPrintable(by))
    throw new Fault('usage', 'by must be the name of a person, of at most 200 visible characters.');
}

/** Lets one process at a time change a script. */
async function alone<Answer>(home: string, name: string, act: () => Answer): Promise<Answer> {
  const folder = scriptsFolder(home);
  makeServerFolder(home, folder);
  const untilMs = monotonicMs() + WAIT_MS;
  for (;;) {
    const lock = takeLock(folder, `.${name}.lock`);
    if (lock) {
      try {
        return act();
      } finally {
        lock.close();
      }
    }
    if (monotonicMs() > untilMs) throw new Fault('script_busy', `Another process is changing ${name}. Try again.`);
    await wait(20);
  }
}

const WAIT_MS = 10_000;
