import { existsSync, readdirSync, statSync } from 'node:fs';
import path from 'node:path';
import { Fault } from '../base/fault.ts';
import { printable } from '../base/printable.ts';
import { meant, readRegular } from '../base/regular.ts';
import type { Evaluation } from '../contracts/evaluation/index.ts';
import { repetitionId } from '../contracts/suite/index.ts';
import type { RunPlace } from '../evidence/runs.ts';
import type { Side } from '../judge/compare-input.ts';
import { withThread } from './judge-thread.ts';

/** Who judges: where runs of checks lie while they last, and who stops them. */
export interface Judge {
  readonly home: string;
  readonly signal?: AbortSignal;
  /** Judges anew, whatever evaluation lies in the folder. */
  readonly again?: boolean;
}

/** The evaluation of a run, made now if there is none. */
export async function evaluationIn(folder: string, { home, signal, again = false }: Judge): Promise<Evaluation> {
  const [{ evaluationOf }, { checkByScript }, { sharedLauncher }, { attemptsIn }] = await Promise.all([
    import('../judge/evaluate.ts'),
    import('../judge/check-script.ts'),
    import('./run-script.ts'),
    import('../evidence/runs.ts'),
  ]);
  const runCheck = checkByScript({ launcher: sharedLauncher, home: attemptsIn(home), ...(signal && { signal }) });
  return withThread(signal, judgeApart =>
    evaluationOf(folder, { runCheck, judgeApart, again, ...(signal && { signal }) }),
  );
}

/**
 * A side of a comparison, by the word that people have for it: a run and its repetitions, `baseline` or `new` for the
 * newest of these, or the file of an accepted baseline. A side that nobody has run yet is empty.
 */
export async function sideOf(word: string, cwd: string, judge: Judge): Promise<Side> {
  const file = path.resolve(cwd, word);
  if (existsSync(file) && statSync(file).isFile()) return acceptedIn(file);
  // The file of a baseline that nobody has accepted yet.
  if (word.endsWith('.json') && !existsSync(file)) return { source: 'accepted', trials: [] };
  const folders = await repetitionsOf(await suitePlace(word, judge.home));
  const { trialFrom } = await import('../judge/side.ts');
  const { sealTrouble } = await import('../evidence/sealed-folder.ts');
  const trials = [];
  for (const folder of folders) {
    const { trouble, hasChecks } = await sealTrouble(folder);
    if (trouble !== undefined) {
      const id = printable(path.basename(folder));
      throw new Fault('not_as_sealed', `${id} is not as it was sealed: ${trouble}. proctor verify says more.`);
    }
    // An evaluation is not sealed. Where judging again costs no more than reading, nobody needs to believe it.
    const evaluation = await evaluationIn(folder, { ...judge, again: judge.again === true || !hasChecks });
    trials.push(trialFrom(folder, evaluation));
  }
  return { source: 'runs', trials };
}

async function acceptedIn(file: string): Promise<Side> {
  const [{ baseline }, { check }, { readJson }, { sideFromAccepted }] = await Promise.all([
    import('../contracts/baseline/index.ts'),
    import('../contracts/check.ts'),
    import('../base/json.ts'),
    import('../judge/baseline.ts'),
  ]);
  const name = printable(path.basename(file));
  const bytes = readRegular(meant(file), baseline.bytesMax);
  const reading = bytes && readJson(bytes, { bytesMax: baseline.bytesMax });
  if (!reading?.ok) throw new Fault('bad_baseline', `${name} is not one acceptable JSON document.`);
  const [first] = check(baseline, reading.value, { strict: false, internal: false }).violations;
  if (first) throw new Fault('bad_baseline', `${name} is not a baseline that can be believed: ${first.message}`);
  return sideFromAccepted(reading.value as Parameters<typeof sideFromAccepted>[0]);
}

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
  const { of, total } = readSuite(place.folder).request.repetition;
  const beside = path.dirname(place.folder);
  const folders = Array.from({ length: total }, (_, index) => path.join(beside, repetitionId(of, index + 1)));
  const there = folders.filter(folder => existsSync(folder));
  // A folder that was copied out of its place may have another name, and no repetition beside it.
  return there.includes(place.folder) ? there : [place.folder];
}

/** The run of a suite that a word means; undefined if there is none of that side yet. */
async function suitePlace(word: string, home: string): Promise<RunPlace | undefined> {
  const { byAge, findRun, listRuns } = await import('../evidence/runs.ts');
  const suites = listRuns(home).filter(({ lane }) => lane === 'baseline' || lane === 'new');
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
