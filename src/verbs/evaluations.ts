import { existsSync, readdirSync, statSync } from 'node:fs';
import path from 'node:path';
import { Fault } from '../base/fault.ts';
import { readJson } from '../base/json.ts';
import { printable } from '../base/printable.ts';
import { followLink, readRegular } from '../base/regular.ts';
import { type Baseline, baseline } from '../contracts/baseline/index.ts';
import { check } from '../contracts/check.ts';
import type { Checker } from '../contracts/seal/index.ts';
import { repetitionId, rerunId, ROUNDS_MAX, type SuiteRequest } from '../contracts/suite/index.ts';
import { notSignedBy } from '../evidence/judgement/judgement.ts';
import { isSealed } from '../evidence/recovery/recover.ts';
import { byAge, findRun, runsIn, type RunFolder } from '../evidence/run-folder/runs.ts';
import { readSuiteFolder } from '../evidence/suite/suite-folder.ts';
import { openPack } from '../judge/compare/baseline-pack.ts';
import { sideFromAccepted } from '../judge/compare/baseline.ts';
import type { Side, TrialOfSide } from '../judge/compare-input.ts';
import { isUnanswered, trialFrom } from '../judge/compare/side.ts';
import { type JudgeContext, judgedRun, type SealNotice } from './judged.ts';

export interface JudgedSide {
  readonly side: Side;
  readonly told: readonly SealNotice[];
}

/**
 * Finds a side of a comparison: a run and its repetitions, `baseline` or `new` for the newest run of that side, or an
 * accepted baseline file. A side without runs is empty. `side` distinguishes two runs with the same name.
 */
export async function sideOf(
  word: string,
  cwd: string,
  judge: JudgeContext,
  side?: 'baseline' | 'new',
): Promise<JudgedSide> {
  const file = path.resolve(cwd, word);
  if (existsSync(file) && statSync(file).isFile()) return { side: acceptedIn(file, judge.key), told: [] };
  // A baseline file that does not exist yet.
  if (word.endsWith('.json') && !existsSync(file)) return { side: { source: 'accepted', trials: [] }, told: [] };
  const { folders, incomplete } = repetitionsOf(suitePlace(word, judge.home, side));
  const trials: TrialOfSide[] = [];
  const told: SealNotice[] = [];
  for (const folder of folders) {
    const judged = await judgedRun(folder, judge, 'anew');
    const names = side === 'new' && trials.length === 0 ? judged.names : undefined;
    const trial = { ...trialFrom(folder, judged.evaluation, judged.seal), ...(names && { names }) };
    told.push(judged.told);
    // A baseline that stopped answering in a later round has not failed.
    if (side !== 'baseline' || !isUnanswered(trial)) trials.push(trial);
  }
  const missing = incomplete ?? partOf(folders[0]) ?? replacedIn(trials);
  return { side: { source: 'runs', trials, ...(missing !== undefined && { incomplete: missing }) }, told };
}

/** Says which part of a suite a run is; undefined for a whole one. A part says nothing about the other cases. */
function partOf(folder: string | undefined): string | undefined {
  const {
    run_id: id,
    shard,
    merged,
  } = folder === undefined ? ({} as Partial<SuiteRequest>) : readSuiteFolder(folder).request;
  const name = printable(id ?? '');
  if (shard)
    return `${name} is shard ${shard.index}/${shard.total}, only a part of the suite. Join all parts with proctor merge.`;
  const missing = (merged?.missing ?? []).reduce((sum, { cases }) => sum + cases, 0);
  if (missing === 0) return undefined;
  return `${name} was merged without all parts: ${missing} of ${merged?.all.count} cases are missing. Merge all parts.`;
}

/** Detects a copy of another run in a repetition's folder. A copy is not a trial. */
function replacedIn(trials: readonly TrialOfSide[]): string | undefined {
  if (trials.length < 2) return undefined;
  const other = trials.find(({ folder, runId }) => folder !== undefined && path.basename(folder) !== runId);
  const seals = trials.flatMap(({ sealSha256 }) => sealSha256 ?? []);
  if (new Set(seals).size < seals.length && !other) return 'Two runs of one side have the same seal, so one is a copy.';
  if (!other?.folder) return undefined;
  const [name, run] = [path.basename(other.folder), other.runId].map(printable);
  return `The folder ${name} contains the run ${run}, so the trials may be hand-picked.`;
}

/** Reads an accepted baseline. Rejects one that does not match its seal or is not signed with the known key. */
export function acceptedIn(file: string, key: Checker | undefined): Side {
  const name = printable(path.basename(file));
  const bytes = readRegular(followLink(file), baseline.bytesMax);
  if (!bytes) throw new Fault('bad_baseline', `Cannot read ${name}: it is missing, too large or not a file.`);
  const reading = readJson(bytes, { bytesMax: baseline.bytesMax });
  if (!reading.ok) throw new Fault('bad_baseline', `${name} is not a valid JSON document: ${reading.refusal.message}`);
  const [first] = check(baseline, reading.value, { strict: false, internal: false }).violations;
  if (first) throw new Fault('bad_baseline', `${name} is not a valid baseline: ${first.message}`);
  const accepted = reading.value as Baseline;
  if (!accepted.seal) {
    throw new Fault('bad_baseline', `${name} has no seal, so nothing proves that it is unchanged. ${ACCEPT}`);
  }
  const trouble = key && notSignedBy(key, accepted.seal);
  if (trouble) throw new Fault('bad_baseline', `${name} is not trusted: it ${trouble}. ${SAY_KEY}`);
  return sideFromAccepted(accepted, packBeside(followLink(file), accepted));
}

/** The documents in the pack next to a baseline; undefined if there is no pack. Rejects a different pack. */
function packBeside(file: string, { pack }: Baseline): ReturnType<typeof openPack> {
  const packFile = packFileOf(file);
  if (!pack || !existsSync(packFile)) return undefined;
  const kept = openPack(followLink(packFile), pack);
  if (kept) return kept;
  const [name, baseline] = [packFile, file].map(one => printable(path.basename(one)));
  throw new Fault(
    'bad_baseline',
    `${name} is not the pack that was accepted with ${baseline}: its bytes differ. Restore it, or remove it to compare without causes.`,
  );
}

export function packFileOf(file: string): string {
  return `${file.replace(/\.json$/, '')}.pack`;
}

const ACCEPT = 'Accept a run again with proctor baseline accept RUN.';
const SAY_KEY = 'If someone you trust accepted it, specify their public key with --key FILE.';

/** The folder of the named run, or of the first of the newest repetitions. */
export function suiteFolder(word: string, home: string): string | undefined {
  const place = suitePlace(word, home);
  const [first] = repetitionsOf(place).folders;
  return word === 'latest' || word === 'baseline' || word === 'new' ? first : place?.folder;
}

/** The folders of one side, and a sentence if some are missing. */
interface Repetitions {
  readonly folders: readonly string[];
  readonly incomplete?: string | undefined;
}

/** The folders of a run, its repetitions and its later rounds. */
function repetitionsOf(place: RunFolder | undefined): Repetitions {
  if (!place) return { folders: [] };
  const { repetition, rerun, version } = readSuiteFolder(place.folder).request;
  const beside = path.dirname(place.folder);
  const first = path.join(beside, rerun?.of ?? repetition.of);
  if (rerun && !existsSync(first)) {
    const [round, run] = [path.basename(place.folder), rerun.of].map(printable);
    return { folders: [place.folder], incomplete: `${round} is a later round of ${run}, but ${run} is missing.` };
  }
  const { of, total } = rerun ? readSuiteFolder(first).request.repetition : repetition;
  const planned = Array.from({ length: total }, (_, index) => path.join(beside, repetitionId(of, index + 1)));
  const there = planned.filter(folder => existsSync(folder));
  const reruns = rerunsOf(of, version, beside);
  const folders = [...there, ...reruns.folders];
  const gone = reruns.missing;
  if (folders.includes(place.folder)) return { folders, incomplete: notHere(of, total - there.length, total) ?? gone };
  // A copied folder may have another name and no repetitions next to it.
  const left = reruns.folders.length > 0 ? `The later rounds of ${printable(of)} do not count for its copy` : undefined;
  return { folders: [place.folder], incomplete: notHere(of, total - 1, total) ?? (left && `${left}, ${CHOSEN}`) };
}

function notHere(of: string, missing: number, total: number): string | undefined {
  if (missing === 0) return undefined;
  return `${missing} of ${total} repetitions of ${printable(of)} ${missing === 1 ? 'is' : 'are'} missing, ${CHOSEN}`;
}

const CHOSEN = 'so the trials may be hand-picked.';

/** The later rounds of a run. An interrupted round does not count until it is resumed. */
function rerunsOf(of: string, version: string, beside: string): { folders: string[]; missing?: string } {
  const all = Array.from({ length: ROUNDS_MAX }, (_, index) => path.join(beside, rerunId(of, index + 1)));
  if (!all.some(folder => existsSync(folder))) return { folders: [] };
  /** A folder with the right name may contain anything, such as a copy of a run that did well. */
  const isRound = (folder: string, round: number): boolean => {
    if (!existsSync(folder) || !isSealed(folder)) return false;
    try {
      const { request, run } = readSuiteFolder(folder);
      const isOurs = request.rerun?.of === of && request.rerun.round === round && request.version === version;
      return isOurs && request.run_id === path.basename(folder) && run.run_id === request.run_id;
    } catch (error) {
      if (error instanceof Fault) return false;
      throw error;
    }
  };
  const known = all.map((folder, index) => isRound(folder, index + 1));
  const gap = known.indexOf(false);
  const isGap = gap >= 0 && known.lastIndexOf(true) > gap;
  return {
    folders: all.filter((_, index) => known[index]),
    ...(isGap && { missing: `Round ${gap + 1} of ${printable(of)} is missing, but a later one exists, ${CHOSEN}` }),
  };
}

/** A later round does not make an old run the newest. */
const RERUN = /\.a\d+$/;

const OTHER_RUNS = 'To see a run of an agent, a script or an intent, run proctor show.';

/** The suite run; undefined if the side has no run yet. */
function suitePlace(word: string, home: string, side?: 'baseline' | 'new'): RunFolder | undefined {
  const suites = runsIn(home).filter(({ id, lane }) => (lane === 'baseline' || lane === 'new') && !RERUN.test(id));
  if (word === 'baseline' || word === 'new') return suites.findLast(({ lane }) => lane === word);
  if (word !== 'latest') return asGiven(findRun(home, word, ['baseline', 'new'], side), byAge);
  const latest = suites.at(-1);
  if (!latest) throw new Fault('no_run', `No suite has been run yet. Run proctor run suite CASES. ${OTHER_RUNS}`);
  return latest;
}

/** A suite's `--out` folder contains `baseline/` and `new/`. Naming either one selects its newest run. */
function asGiven(place: RunFolder, byAge: (places: readonly RunFolder[]) => RunFolder[]): RunFolder {
  if (existsSync(path.join(place.folder, 'run.json')) || existsSync(path.join(place.folder, 'journal.ndjson'))) {
    return place;
  }
  const lane = path.basename(place.folder);
  const inner = readdirSync(place.folder)
    .map(id => ({ id, lane, folder: path.join(place.folder, id) }))
    .filter(({ folder }) => existsSync(path.join(folder, 'run.json')));
  const newest = byAge(inner).at(-1);
  if (!newest) throw new Fault('not_a_suite', `The folder contains no suite run. ${OTHER_RUNS}`);
  return newest;
}
