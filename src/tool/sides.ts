import { existsSync, readdirSync, statSync } from 'node:fs';
import path from 'node:path';
import { Fault } from '../base/fault.ts';
import { printable } from '../base/printable.ts';
import { meant, readRegular } from '../base/regular.ts';
import type { Baseline } from '../contracts/baseline/index.ts';
import type { Checker } from '../contracts/seal/index.ts';
import { repetitionId, rerunId, ROUNDS_MAX } from '../contracts/suite/index.ts';
import type { RunPlace } from '../evidence/runs.ts';
import type { openPack } from '../judge/baseline-pack.ts';
import type { Side, TrialOfSide } from '../judge/compare-input.ts';
import { type Judge, judgedRun, type Told } from './judged.ts';

/** A side, and what is told of the evaluations of its runs. */
export interface JudgedSide {
  readonly side: Side;
  readonly told: readonly Told[];
}

/**
 * A side of a comparison, by the word that people have for it: a run and its repetitions, `baseline` or `new` for the
 * newest of these, or the file of an accepted baseline. A side that nobody has run yet is empty. `side` tells apart two
 * runs of one name.
 */
export async function sideOf(word: string, cwd: string, judge: Judge, side?: 'baseline' | 'new'): Promise<JudgedSide> {
  const file = path.resolve(cwd, word);
  if (existsSync(file) && statSync(file).isFile()) return { side: await acceptedIn(file, judge.key), told: [] };
  // The file of a baseline that nobody has accepted yet.
  if (word.endsWith('.json') && !existsSync(file)) return { side: { source: 'accepted', trials: [] }, told: [] };
  const { folders, incomplete } = await repetitionsOf(await suitePlace(word, judge.home, side));
  const { isUnanswered, trialFrom } = await import('../judge/side.ts');
  const trials: TrialOfSide[] = [];
  const told: Told[] = [];
  for (const folder of folders) {
    const judged = await judgedRun(folder, judge, 'anew');
    const names = side === 'new' && trials.length === 0 ? judged.names : undefined;
    const trial = { ...trialFrom(folder, judged.evaluation, judged.seal), ...(names && { names }) };
    told.push(judged.told);
    // A baseline that was gone when it was asked again has not failed.
    if (side !== 'baseline' || !isUnanswered(trial)) trials.push(trial);
  }
  const missing = incomplete ?? replacedIn(trials);
  return { side: { source: 'runs', trials, ...(missing !== undefined && { incomplete: missing }) }, told };
}

/** A copy of another run in the place of a repetition is no trial of its own. */
function replacedIn(trials: readonly TrialOfSide[]): string | undefined {
  if (trials.length < 2) return undefined;
  const other = trials.find(({ folder, runId }) => folder !== undefined && path.basename(folder) !== runId);
  const seals = trials.flatMap(({ sealSha256 }) => sealSha256 ?? []);
  if (new Set(seals).size < seals.length && !other) return 'Two runs of one side have the same seal, so one is a copy.';
  if (!other?.folder) return undefined;
  const [name, run] = [path.basename(other.folder), other.runId].map(printable);
  return `The folder ${name} holds the run ${run}, so the trials may have been chosen.`;
}

/** An accepted baseline. One that is not as it was sealed, or not signed with the key that is known, is refused. */
async function acceptedIn(file: string, key: Checker | undefined): Promise<Side> {
  const [{ baseline }, { check }, { readJson }, { sideFromAccepted }, { notSignedBy }] = await Promise.all([
    import('../contracts/baseline/index.ts'),
    import('../contracts/check.ts'),
    import('../base/json.ts'),
    import('../judge/baseline.ts'),
    import('../evidence/judgement.ts'),
  ]);
  const name = printable(path.basename(file));
  const bytes = readRegular(meant(file), baseline.bytesMax);
  const reading = bytes && readJson(bytes, { bytesMax: baseline.bytesMax });
  if (!reading?.ok) throw new Fault('bad_baseline', `${name} is not one acceptable JSON document.`);
  const [first] = check(baseline, reading.value, { strict: false, internal: false }).violations;
  if (first) throw new Fault('bad_baseline', `${name} is not a baseline that can be believed: ${first.message}`);
  const accepted = reading.value as Baseline;
  if (!accepted.seal) {
    throw new Fault('bad_baseline', `${name} has no seal, so nothing shows that it is what was accepted. ${ACCEPT}`);
  }
  const trouble = key && notSignedBy(key, accepted.seal);
  if (trouble) throw new Fault('bad_baseline', `${name} is not trusted: it ${trouble}. ${SAY_KEY}`);
  return sideFromAccepted(accepted, await packBeside(meant(file), accepted));
}

/** The documents that the pack beside a baseline keeps; undefined where it is not there. Another pack is refused. */
async function packBeside(file: string, { pack }: Baseline): Promise<ReturnType<typeof openPack>> {
  const packFile = packFileOf(file);
  if (!pack || !existsSync(packFile)) return undefined;
  const { openPack } = await import('../judge/baseline-pack.ts');
  const kept = openPack(meant(packFile), pack);
  if (kept) return kept;
  const [name, baseline] = [packFile, file].map(one => printable(path.basename(one)));
  throw new Fault(
    'bad_baseline',
    `${name} is not the pack that was accepted with ${baseline}: its bytes differ. Restore it, or remove it and do without causes.`,
  );
}

/** Where the pack of a baseline lies. */
export function packFileOf(file: string): string {
  return `${file.replace(/\.json$/, '')}.pack`;
}

const ACCEPT = 'Accept a run again: proctor baseline accept RUN.';
const SAY_KEY = 'If somebody else accepted it whom you trust, name their public key: --key FILE.';

/** The folder of one run: the one that was named, or the first of the newest repetitions. */
export async function suiteFolder(word: string, home: string): Promise<string | undefined> {
  const place = await suitePlace(word, home);
  const [first] = (await repetitionsOf(place)).folders;
  return word === 'latest' || word === 'baseline' || word === 'new' ? first : place?.folder;
}

/** Folders of one side, and a sentence about those that should be there and are not. */
interface Repetitions {
  readonly folders: readonly string[];
  readonly incomplete?: string | undefined;
}

/** The folders of a run, of its repetitions and of the rounds in which its cases were asked again. */
async function repetitionsOf(place: RunPlace | undefined): Promise<Repetitions> {
  if (!place) return { folders: [] };
  const { readSuite } = await import('../evidence/suite-folder.ts');
  const { repetition, rerun, version } = readSuite(place.folder).request;
  const beside = path.dirname(place.folder);
  const first = path.join(beside, rerun?.of ?? repetition.of);
  if (rerun && !existsSync(first)) {
    const [round, run] = [path.basename(place.folder), rerun.of].map(printable);
    return { folders: [place.folder], incomplete: `${round} asked cases of ${run} again, and ${run} is not here.` };
  }
  const { of, total } = rerun ? readSuite(first).request.repetition : repetition;
  const planned = Array.from({ length: total }, (_, index) => path.join(beside, repetitionId(of, index + 1)));
  const there = planned.filter(folder => existsSync(folder));
  const reruns = await rerunsOf(of, version, beside);
  const folders = [...there, ...reruns.folders];
  const gone = reruns.missing;
  if (folders.includes(place.folder)) return { folders, incomplete: notHere(of, total - there.length, total) ?? gone };
  // A folder that was copied out of its place may have another name, and no repetition beside it.
  const left = reruns.folders.length > 0 ? `The rounds of ${printable(of)} are not counted for its copy` : undefined;
  return { folders: [place.folder], incomplete: notHere(of, total - 1, total) ?? (left && `${left}, ${CHOSEN}`) };
}

function notHere(of: string, missing: number, total: number): string | undefined {
  if (missing === 0) return undefined;
  return `${missing} of ${total} repetitions of ${printable(of)} ${missing === 1 ? 'is' : 'are'} not here, ${CHOSEN}`;
}

const CHOSEN = 'so the trials may have been chosen.';

/** The rounds in which cases were asked again. One that was interrupted does not count until it is resumed. */
async function rerunsOf(of: string, version: string, beside: string): Promise<{ folders: string[]; missing?: string }> {
  const all = Array.from({ length: ROUNDS_MAX }, (_, index) => path.join(beside, rerunId(of, index + 1)));
  if (!all.some(folder => existsSync(folder))) return { folders: [] };
  const [{ isSealed }, { readSuite }] = await Promise.all([
    import('../evidence/recover.ts'),
    import('../evidence/suite-folder.ts'),
  ]);
  /** A folder of that name may hold anything, such as a copy of a run that did well. */
  const isRound = (folder: string, round: number): boolean => {
    if (!existsSync(folder) || !isSealed(folder)) return false;
    try {
      const { request, run } = readSuite(folder);
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
    ...(isGap && { missing: `Round ${gap + 1} of ${printable(of)} is not here, and a later one is, ${CHOSEN}` }),
  };
}

/** Asking cases of an old run again does not make it the newest. */
const RERUN = /\.a\d+$/;

/** The run of a suite that a word means; undefined if there is none of that side yet. */
async function suitePlace(word: string, home: string, side?: 'baseline' | 'new'): Promise<RunPlace | undefined> {
  const { byAge, findRun, listRuns } = await import('../evidence/runs.ts');
  const suites = listRuns(home).filter(({ id, lane }) => (lane === 'baseline' || lane === 'new') && !RERUN.test(id));
  if (word === 'baseline' || word === 'new') return suites.findLast(({ lane }) => lane === word);
  if (word !== 'latest') return asGiven(findRun(home, word, ['baseline', 'new'], side), byAge);
  const latest = suites.at(-1);
  if (!latest) throw new Fault('no_run', 'There is no run of a suite yet. proctor run suite CASES makes one.');
  return latest;
}

/** `--out` of the runner holds `baseline/` and `new/`, and each holds runs; who names one of these means its newest run. */
function asGiven(place: RunPlace, byAge: (places: readonly RunPlace[]) => RunPlace[]): RunPlace {
  if (existsSync(path.join(place.folder, 'run.json')) || existsSync(path.join(place.folder, 'journal.ndjson'))) {
    return place;
  }
  const lane = path.basename(place.folder);
  const inner = readdirSync(place.folder)
    .map(id => ({ id, lane, folder: path.join(place.folder, id) }))
    .filter(({ folder }) => existsSync(path.join(folder, 'run.json')));
  const newest = byAge(inner).at(-1);
  if (!newest) throw new Fault('not_a_suite', 'The folder holds no run of a suite.');
  return newest;
}
