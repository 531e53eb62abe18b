import { existsSync, lstatSync, mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { instantText, systemClock } from '../base/clock.ts';
import { Fault } from '../base/fault.ts';
import { readJson } from '../base/json.ts';
import { didYouMean } from '../base/nearest.ts';
import { isMineOrRoots } from '../base/owner.ts';
import { printable } from '../base/printable.ts';
import { makeFolders, OWN_FILE, OWN_FOLDER } from '../base/private.ts';
import { readRegular } from '../base/regular.ts';

/** Where a run lies. */
export interface RunPlace {
  readonly id: string;
  /** What kind of run it is, or the side of a comparison that it is on. */
  readonly lane: string;
  readonly folder: string;
}

/**
 * The folder of everything that Proctor keeps: the one here, even if it is empty, else the nearest one upwards that has
 * runs, else a new one here. What another user has put there, or could change, is passed over: it is believed when it
 * says that a sandbox holds, or that a run has died.
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
    throw new Fault('foreign_home', `What is called ${HOME} here is not a folder of yours alone. ${ELSEWHERE}`);
  }
  return here;
}

const HOME = '.proctor';
const ELSEWHERE = 'Change to a folder of your own, which you can write to.';

/** Whoever owns a link decides where it leads to, so both must be right. */
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

/** Makes the folder of a new run. */
export function makeRunFolder(home: string, lane: string, id: string): RunPlace {
  const within = path.join(home, 'runs', lane);
  if (!existsSync(path.join(home, 'runs'))) makeHome(home);
  return { id, lane, folder: makeFolderIn(within, id) };
}

/** Makes the folder of everything that Proctor keeps. */
export function makeHome(home: string): void {
  try {
    if (makeFolders(path.join(home, 'runs')) !== undefined) keepOutOfGit(home);
  } catch (cause) {
    throw new Fault('folder_failed', `The folder of the run could not be made here. ${ELSEWHERE}`, { cause });
  }
}

/** Where the attempts of scripts lie that answer the cases of a suite: runs as any other, and not what people ran. */
export function attemptsIn(home: string): string {
  return path.join(home, 'attempts');
}

/** Whether the runs of a home stand in a ledger. Attempts do not: the suite that they belong to does. */
export function hasLedger(home: string): boolean {
  return path.basename(home) === HOME;
}

/** Makes the folder of a run among those of its kind. */
export function makeFolderIn(within: string, id: string): string {
  const folder = path.join(within, id);
  try {
    makeFolders(within);
    // Lists do not follow it, so nobody would find the run again.
    if (!lstatSync(within).isDirectory()) {
      const place = `${path.basename(path.dirname(within))}/${path.basename(within)}`;
      throw new Fault('folder_failed', `${place} is a link, and runs are not written through one.`);
    }
    mkdirSync(folder, { mode: OWN_FOLDER });
    return folder;
  } catch (cause) {
    if (cause instanceof Fault) throw cause;
    throw new Fault('folder_failed', `The folder of the run could not be made here. ${ELSEWHERE}`, { cause });
  }
}

/** Evidence is kept or sent on purpose, not by `git add .`. */
function keepOutOfGit(home: string): void {
  const file = path.join(home, '.gitignore');
  if (!existsSync(file)) writeFileSync(file, '*\n', { mode: OWN_FILE });
}

/** All runs, the newest last. Their ids begin with the time, so their order is that of their names after the kind. */
export function listRuns(home: string): RunPlace[] {
  const root = path.join(home, 'runs');
  return byAge(
    foldersIn(root).flatMap(lane =>
      foldersIn(path.join(root, lane)).map(id => ({ id, lane, folder: path.join(root, lane, id) })),
    ),
  );
}

/** A name that only a run of ours has: see `newRunId`. */
export const RUN_ID = /^(?:[a-z]+_\d{8}_\d{6}_[0-9a-f]{12}|suite_\d{8}_\d{6}_[0-9a-f]{12}\.a?\d+)$/;

/** The newest last: by the second in their names, and within one by when their folders were made. Future times come first. */
export function byAge(places: readonly RunPlace[]): RunPlace[] {
  const made = new Map<RunPlace, bigint>();
  const madeOnce = (place: RunPlace): bigint => {
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
 * `20260106_120000`, also of a run that was named by a person. Empty if that time is still to come, so that a folder that
 * claims a future time is never the latest.
 */
export function secondOf(place: RunPlace, nowMs = systemClock.now()): string {
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

/** In nanoseconds. A folder that was copied is made anew, so one whose name tells no time is asked itself when it began. */
function madeAt({ id, folder }: RunPlace): bigint {
  const beganAtMs = TIME_IN_NAME.test(id) ? undefined : beganAt(folder);
  return beganAtMs === undefined ? statSync(folder, { bigint: true }).birthtimeNs : BigInt(beganAtMs) * 1_000_000n;
}

function beganAt(folder: string): number | undefined {
  const bytes = readRegular(path.join(folder, 'evidence/metadata.json'), METADATA_BYTES_MAX);
  const reading = bytes && readJson(bytes, { bytesMax: METADATA_BYTES_MAX });
  const { started_at: text } = (reading?.ok ? (reading.value ?? {}) : {}) as { started_at?: unknown };
  const atMs = typeof text === 'string' ? Date.parse(text) : Number.NaN;
  return Number.isNaN(atMs) ? undefined : atMs;
}

const METADATA_BYTES_MAX = 1024 * 1024;

/** `20260106_120000_…` of an id. */
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
 * The run that a word means: a path, an id, the beginning of one, or `latest`. A run of each side may have the same id:
 * `side` says which is meant, or the word itself does, such as `new/ID`. `words` are others that would have meant one.
 */
export function findRun(home: string, word: string, words: readonly string[] = [], side?: string): RunPlace {
  const runs = listRuns(home);
  if (word === 'latest') {
    const last = runs.at(-1);
    if (!last)
      throw new Fault(
        'no_run',
        'There is no run yet. proctor run script FILE, run intent FILE or run suite CASES makes one.',
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
      `${names.length} runs are called "${printable(word)}": ${names.join(', ')}. Name one of these.`,
    );
  }
  // A folder that is here is meant before a run of which it has a part of the name.
  if (existsSync(path.join(word, 'evidence'))) return placeAt(path.resolve(word));
  const matches = runs.filter(({ id }) => beginsOrEndsWith(id, word));
  if (matches.length === 1 && matches[0]) return matches[0];
  if (matches.length > 1)
    throw new Fault(
      'ambiguous_run',
      `${matches.length} runs begin with "${printable(word)}". Give more of the id; proctor list shows them.`,
    );
  if (existsSync(word)) {
    if (statSync(word).isDirectory()) return placeAt(path.resolve(word));
    throw new Fault(
      'no_run',
      `"${printable(word)}" is a file, not a run. If it is a pack, proctor unpack makes its folder.`,
    );
  }
  const meant = didYouMean(word, ['latest', ...words, ...runs.map(({ id }) => id)]);
  throw new Fault('no_run', `No run is called "${printable(word)}".${meant} proctor list shows them.`);
}

/** The end of an id is what people copy from a list; one or two characters of it are chance. */
function beginsOrEndsWith(id: string, word: string): boolean {
  return id.startsWith(word) || timeIn(id).startsWith(word) || (word.length >= 4 && id.endsWith(word));
}

function placeAt(folder: string): RunPlace {
  return { id: path.basename(folder), lane: path.basename(path.dirname(folder)), folder };
}
