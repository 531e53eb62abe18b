import { existsSync, readdirSync, statSync } from 'node:fs';
import path from 'node:path';
import { Fault } from '../base/fault.ts';
import { printable } from '../base/printable.ts';
import { meant, readRegular } from '../base/regular.ts';
import type { Baseline } from '../contracts/baseline/index.ts';
import type { Checker } from '../contracts/seal/index.ts';
import { repetitionId, rerunId, ROUNDS_MAX } from '../contracts/suite/index.ts';
import type { RunPlace } from '../evidence/runs.ts';
import type { Side } from '../judge/compare-input.ts';
import { type Judge, judgedRun, type Told } from './judged.ts';

/** A side, and what is told of the evaluations of its runs. */
export interface JudgedSide {
  readonly side: Side;
  readonly told: readonly Told[];
}

/**
 * A side of a comparison, by the word that people have for it: a run and its repetitions, `baseline` or `new` for the
 * newest of these, or the file of an accepted baseline. A side that nobody has run yet is empty.
 */
export async function sideOf(word: string, cwd: string, judge: Judge): Promise<JudgedSide> {
  const file = path.resolve(cwd, word);
  if (existsSync(file) && statSync(file).isFile()) return { side: await acceptedIn(file, judge.key), told: [] };
  // The file of a baseline that nobody has accepted yet.
  if (word.endsWith('.json') && !existsSync(file)) return { side: { source: 'accepted', trials: [] }, told: [] };
  const folders = await repetitionsOf(await suitePlace(word, judge.home));
  const { trialFrom } = await import('../judge/side.ts');
  const trials = [];
  const told: Told[] = [];
  for (const folder of folders) {
    const judged = await judgedRun(folder, judge, 'anew');
    trials.push(trialFrom(folder, judged.evaluation, judged.seal));
    told.push(judged.told);
  }
  return { side: { source: 'runs', trials }, told };
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
  return sideFromAccepted(accepted);
}

const ACCEPT = 'Accept a run again: proctor baseline accept RUN.';
const SAY_KEY = 'If somebody else accepted it whom you trust, name their public key: --key FILE.';

/** The folder of one run: the one that was named, or the first of the newest repetitions. */
export async function suiteFolder(word: string, home: string): Promise<string | undefined> {
  const place = await suitePlace(word, home);
  const [first] = await repetitionsOf(place);
  return word === 'latest' || word === 'baseline' || word === 'new' ? first : place?.folder;
}

/** The folders of a run and of its repetitions. */
async function repetitionsOf(place: RunPlace | undefined): Promise<string[]> {
  if (!place) return [];
  const { readSuite } = await import('../evidence/suite-folder.ts');
  const { repetition, rerun } = readSuite(place.folder).request;
  const beside = path.dirname(place.folder);
  const first = path.join(beside, rerun?.of ?? repetition.of);
  const { of, total } = rerun && existsSync(first) ? readSuite(first).request.repetition : repetition;
  const folders = Array.from({ length: total }, (_, index) => path.join(beside, repetitionId(of, index + 1)));
  const there = [...folders.filter(folder => existsSync(folder)), ...(await rerunsOf(of, beside))];
  // A folder that was copied out of its place may have another name, and no repetition beside it.
  return there.includes(place.folder) ? there : [place.folder];
}

/** The rounds in which cases were asked again. One that was interrupted does not count until it is resumed. */
async function rerunsOf(of: string, beside: string): Promise<string[]> {
  const { isSealed } = await import('../evidence/recover.ts');
  const rounds = Array.from({ length: ROUNDS_MAX }, (_, index) => path.join(beside, rerunId(of, index + 1)));
  return rounds.filter(folder => existsSync(folder) && isSealed(folder));
}

/** Asking cases of an old run again does not make it the newest. */
const RERUN = /\.a\d+$/;

/** The run of a suite that a word means; undefined if there is none of that side yet. */
async function suitePlace(word: string, home: string): Promise<RunPlace | undefined> {
  const { byAge, findRun, listRuns } = await import('../evidence/runs.ts');
  const suites = listRuns(home).filter(({ id, lane }) => (lane === 'baseline' || lane === 'new') && !RERUN.test(id));
  if (word === 'baseline' || word === 'new') return suites.findLast(({ lane }) => lane === word);
  if (word !== 'latest') return asGiven(findRun(home, word, ['baseline', 'new']), byAge);
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
