import { existsSync, lstatSync, mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { instantText, systemClock } from '../../base/clock.ts';
import { Fault } from '../../base/fault.ts';
import { didYouMean } from '../../base/nearest.ts';
import { isMineOrRoots } from '../../base/owner.ts';
import { printable } from '../../base/printable.ts';
import { makeFolders, OWN_FILE, OWN_FOLDER } from '../../base/private.ts';
import { looseKeys } from '../document.ts';

export interface RunFolder {
  readonly id: string;
  /** The kind of run, or its side in a comparison. */
  readonly lane: string;
  readonly folder: string;
}

/**
 * Finds the Proctor home: the one in `cwd`, even if it is empty, else the nearest one above that has runs, else a new
 * one in `cwd`. Skips a home that another user owns or can change, because Proctor trusts what it finds there.
 */
export function homeFrom(cwd: string): string {
  for (let folder = cwd; ; folder = path.dirname(folder)) {
    const home = path.join(folder, HOME);
    const runs = path.join(home, 'runs');
    if (isOwnFolder(home) && (isOwnFolder(runs) || (folder === cwd && !existsSync(runs)))) return home;
    if (folder === path.dirname(folder)) break;
  }
  const here = path.join(cwd, HOME);
  if ([here, path.join(here, 'runs')].some(folder => isFolder(folder) && !isOwnFolder(folder))) {
    throw new Fault(
      'foreign_home',
      `The ${HOME} folder in the current directory must belong to you, and other users must not be able to write to it. ${ELSEWHERE}`,
    );
  }
  return here;
}

const HOME = '.proctor';
const ELSEWHERE = 'Change to a folder that you own and can write to.';

/** Checks the link as well as its target, because a link's owner decides where it leads. */
function isOwnFolder(folder: string): boolean {
  try {
    const stat = statSync(folder);
    const isOpenToAll = (stat.mode & 0o002) !== 0;
    return isMineOrRoots(lstatSync(folder)) && isMineOrRoots(stat) && stat.isDirectory() && !isOpenToAll;
  } catch {
    return false;
  }
}

function isFolder(file: string): boolean {
  try {
    return statSync(file).isDirectory();
  } catch {
    return false;
  }
}

export function makeRunFolder(home: string, lane: string, id: string): RunFolder {
  const within = path.join(home, 'runs', lane);
  if (!existsSync(path.join(home, 'runs'))) makeHome(home);
  return { id, lane, folder: makeFolderIn(within, id) };
}

export function makeHome(home: string): void {
  try {
    if (makeFolders(path.join(home, 'runs')) !== undefined) keepOutOfGit(home);
  } catch (cause) {
    throw new Fault('folder_failed', `The run folder could not be created here. ${ELSEWHERE}`, { cause });
  }
}

/** The runs that answer or check the cases of a suite. They are kept apart from the runs that you start yourself. */
export function attemptsIn(home: string): string {
  return path.join(home, 'attempts');
}

/** Whether a home has a ledger. Attempts are not in a ledger, but their suite is. */
export function hasLedger(home: string): boolean {
  return path.basename(home) === HOME;
}

export function makeFolderIn(within: string, id: string): string {
  const folder = path.join(within, id);
  try {
    makeFolders(within);
    // Lists do not follow links, so the run could not be found again.
    if (!lstatSync(within).isDirectory()) {
      const place = `${path.basename(path.dirname(within))}/${path.basename(within)}`;
      throw new Fault('folder_failed', `${place} is a link. Proctor does not write runs through links.`);
    }
    mkdirSync(folder, { mode: OWN_FOLDER });
    return folder;
  } catch (cause) {
    if (cause instanceof Fault) throw cause;
    throw new Fault('folder_failed', `The run folder could not be created here. ${ELSEWHERE}`, { cause });
  }
}

/** `git add .` must not add evidence, but settings belong to the project. */
function keepOutOfGit(home: string): void {
  const file = path.join(home, '.gitignore');
  if (!existsSync(file)) writeFileSync(file, '*\n!/settings.json\n', { mode: OWN_FILE });
}

/** All runs, newest last. */
export function runsIn(home: string): RunFolder[] {
  const root = path.join(home, 'runs');
  return byAge(
    foldersIn(root).flatMap(lane =>
      foldersIn(path.join(root, lane)).map(id => ({ id, lane, folder: path.join(root, lane, id) })),
    ),
  );
}

/** The folders that contain runs, and the folder around them. A run that is added or removed changes one of them. */
export function laneFolders(home: string): string[] {
  const root = path.join(home, 'runs');
  return [root, ...foldersIn(root).map(lane => path.join(root, lane))];
}

/** The run ids that Proctor creates; see `newRunId`. */
export const RUN_ID = /^(?:[a-z]+_\d{8}_\d{6}_[0-9a-f]{12}|suite_\d{8}_\d{6}_[0-9a-f]{12}\.a?\d+)$/;

/**
 * Sorts runs, newest last: by the second in their names, then by the creation time of their folders. Runs that claim
 * a future time come first.
 */
export function byAge(places: readonly RunFolder[]): RunFolder[] {
  const made = new Map<RunFolder, bigint>();
  const madeOnce = (place: RunFolder): bigint => {
    const at = made.get(place) ?? madeAt(place);
    made.set(place, at);
    return at;
  };
  const nowMs = systemClock.now();
  return places
    .map(place => ({ place, second: secondOf(place, nowMs) }))
    .sort((a, b) =>
      a.second === b.second ? Number(madeOnce(a.place) - madeOnce(b.place)) : a.second < b.second ? -1 : 1,
    )
    .map(({ place }) => place);
}

/**
 * `20260106_120000`, from the name or the creation time. Empty for a future time, so that such a folder is never the
 * latest.
 */
export function secondOf(place: RunFolder, nowMs = systemClock.now()): string {
  const [named] = TIME_IN_NAME.exec(place.id) ?? [];
  const second = named ?? secondText(Number(madeAt(place) / 1_000_000n));
  return second > secondText(nowMs) ? '' : second;
}

function secondText(atMs: number): string {
  return instantText(atMs)
    .replace(/[-:]|\..*$/g, '')
    .replace('T', '_');
}

const TIME_IN_NAME = /\d{8}_\d{6}(?=_)/;

/** In nanoseconds. Copying a folder resets its creation time, so metadata.json decides if the name states no time. */
function madeAt({ id, folder }: RunFolder): bigint {
  const beganAtMs = TIME_IN_NAME.test(id) ? undefined : beganAt(folder);
  return beganAtMs === undefined ? birthOf(folder) : BigInt(beganAtMs) * 1_000_000n;
}

/** A folder that cannot be read, or that was just removed, comes first. */
function birthOf(folder: string): bigint {
  try {
    return statSync(folder, { bigint: true }).birthtimeNs;
  } catch {
    return 0n;
  }
}

function beganAt(folder: string): number | undefined {
  const { started_at: text } = looseKeys(path.join(folder, 'evidence/metadata.json'), METADATA_BYTES_MAX);
  const atMs = typeof text === 'string' ? Date.parse(text) : Number.NaN;
  return Number.isNaN(atMs) ? undefined : atMs;
}

const METADATA_BYTES_MAX = 1024 * 1024;

/** The part of an id that starts with its time: `20260106_120000_…`. */
function timeIn(id: string): string {
  return /\d{8}_\d{6}_.*$/.exec(id)?.[0] ?? id;
}

function foldersIn(folder: string): string[] {
  try {
    return readdirSync(folder, { withFileTypes: true })
      .filter(entry => entry.isDirectory())
      .map(({ name }) => name);
  } catch {
    return [];
  }
}

/**
 * Finds a run by path, id, part of an id, or `latest`. Both sides of a comparison may have a run with the same id:
 * `side` picks one, or a prefix does, as in `new/ID`. `words` are additional suggestions for a typo.
 */
export function findRun(home: string, word: string, words: readonly string[] = [], side?: string): RunFolder {
  const runs = runsIn(home);
  if (word === 'latest') {
    const last = runs.at(-1);
    if (!last)
      throw new Fault(
        'no_run',
        'There are no runs yet. Create one with `proctor run script FILE`, `proctor run intent FILE` or `proctor run suite CASES`.',
      );
    return last;
  }
  const exact = runs.filter(({ id, lane }) => id === word || `${lane}/${id}` === word);
  const [meantHere, another] = exact.length > 1 ? exact.filter(({ lane }) => lane === side) : exact;
  if (meantHere && !another) return meantHere;
  if (exact.length > 1) {
    const names = exact.map(({ id, lane }) => `${lane}/${id}`).sort();
    throw new Fault(
      'ambiguous_run',
      `${names.length} runs have the name "${printable(word)}": ${names.join(', ')}. Specify one of these.`,
    );
  }
  // An existing folder takes precedence over a partial run id.
  if (existsSync(path.join(word, 'evidence'))) return placeAt(path.resolve(word));
  const matches = runs.filter(({ id }) => beginsOrEndsWith(id, word));
  if (matches.length === 1 && matches[0]) return matches[0];
  if (matches.length > 1)
    throw new Fault(
      'ambiguous_run',
      `${matches.length} runs match "${printable(word)}". Use more of the id; \`proctor list\` shows all runs.`,
    );
  if (existsSync(word)) {
    if (statSync(word).isDirectory()) return placeAt(path.resolve(word));
    throw new Fault(
      'no_run',
      `"${printable(word)}" is a file, not a run. If it is a pack, extract it with \`proctor unpack\`.`,
    );
  }
  const meant = didYouMean(word, ['latest', ...words, ...runs.map(({ id }) => id)]);
  throw new Fault('no_run', `There is no run "${printable(word)}".${meant} \`proctor list\` shows all runs.`);
}

/** People copy the end of an id from a list. Fewer than four characters would match by chance. */
function beginsOrEndsWith(id: string, word: string): boolean {
  return id.startsWith(word) || timeIn(id).startsWith(word) || (word.length >= 4 && id.endsWith(word));
}

function placeAt(folder: string): RunFolder {
  return { id: path.basename(folder), lane: path.basename(path.dirname(folder)), folder };
}
