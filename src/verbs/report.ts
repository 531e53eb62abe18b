import { existsSync, readdirSync, realpathSync, rmSync } from 'node:fs';
import path from 'node:path';
import { writeAtomic } from '../base/atomic.ts';
import { Fault } from '../base/fault.ts';
import { printable } from '../base/printable.ts';
import { makeFolders, modesIn } from '../base/private.ts';
import type { RunArtifact } from '../contracts/artifacts/index.ts';
import type { Comparison } from '../contracts/comparison/index.ts';
import type { Checker } from '../contracts/seal/index.ts';
import { readComparison } from '../evidence/judgement/comparison-files.ts';
import { SEAL } from '../evidence/run-folder/finish.ts';
import { notAsSealed } from '../evidence/run-folder/sealed-folder.ts';
import { byAge, homeFrom, runsIn, type RunFolder, secondOf } from '../evidence/run-folder/runs.ts';
import { readSuiteFolder } from '../evidence/suite/suite-folder.ts';
import { reports } from '../reports/index.ts';
import type { CasePlaces } from '../reports/report.ts';
import { keptBehind } from './accepted-file.ts';
import { casePlaces } from './case-places.ts';
import type { Format } from './formats.ts';
import { type JudgeContext, judgedRun, type SealNotice, shownEvaluation } from './judged.ts';
import { checkerAt, checkerIfUsable } from './keys.ts';
import { suiteFolder } from './evaluations.ts';
import { partNote } from './part-note.ts';
import { type ComparisonSubject, type Folders, htmlOf, type RunSubject } from './report-html.ts';
import { type Damage, damageIn } from './shown-run.ts';

/** The subject of a report: a comparison, or one run and its evaluation. `places` says where its cases are written. */
export type Subject = (ComparisonSubject | RunSubject) & { readonly places?: CasePlaces | undefined };

/** Writes reports to a folder, each completely or not at all, and returns their files. */
export function writeReports(
  folder: string,
  subject: Subject,
  formats: readonly Format[],
): Partial<Record<Format, string>> {
  const files: Partial<Record<Format, string>> = {};
  makeReportFolder(folder);
  for (const format of formats) {
    const { file, pieces } = reportOf(subject, format);
    files[format] = path.join(folder, file);
    writeAtomic(files[format], pieces, modesIn(folder).file);
  }
  return files;
}

export function makeReportFolder(folder: string): void {
  refuseSealed(folder);
  try {
    makeFolders(folder, modesIn(folder).folder);
  } catch (cause) {
    throw new Fault('folder_failed', 'Cannot create the folder for the reports. Specify another one with --out.', {
      cause,
    });
  }
}

/** Creates the folder before a test, so that a bad one is refused early. Removes the reports of an earlier test. */
export function prepareReports(folder: string): void {
  const files = ['report.html', ...Object.values(reports).map(({ file }) => file)];
  makeReportFolder(folder);
  try {
    for (const file of files) rmSync(path.join(folder, file), { force: true });
  } catch (cause) {
    throw new Fault('folder_failed', 'Cannot replace the earlier reports. Specify another folder with --out.', {
      cause,
    });
  }
}

/** The file name and the text of a report, in pieces. */
export function reportOf(
  subject: Subject,
  format: Format,
): { readonly file: string; readonly pieces: Iterable<string> } {
  if (format === 'html') return { file: 'report.html', pieces: htmlOf(subject) };
  // Only a page can say which parts were changed. Other reports are for programs, which would trust them.
  const [first] = subject.damage ?? [];
  if (first) throw notAsSealed(first.folder, first.trouble);
  const report = reports[format];
  const { places } = subject;
  const pieces =
    'comparison' in subject ? report.ofComparison(subject.comparison, places) : report.ofRun(subject, places);
  return { file: report.file, pieces };
}

export interface ReportOptions {
  /** The folder for the reports; `.proctor/reports/<id>` by default. */
  readonly out?: string | undefined;
  /** The case file, for reports that point to lines. */
  readonly cases?: string | undefined;
  /** Public key that must have signed the comparison; the project's key by default. */
  readonly key?: string | undefined;
  /** The accepted baseline of the comparison; by default, Proctor looks for it in the project. */
  readonly baseline?: string | undefined;
  readonly signingKey?: string | undefined;
  readonly signal?: AbortSignal | undefined;
  /** The run folders were just checked against their seals. */
  readonly isChecked?: boolean;
}

interface Reported {
  readonly subject: Subject;
  readonly folder: string;
  /** Whether the stored evaluation matches its seal. */
  readonly judgement: SealNotice;
}

/**
 * Finds the comparison or suite run to report on, by path, id, id prefix, or `latest`, and the folder for its reports.
 * Reports never go to the folder of the run or comparison, which is sealed.
 */
export async function reportSubject(word: string, cwd: string, options: ReportOptions = {}): Promise<Reported> {
  const { out, cases, key: named, baseline, signal } = options;
  const home = homeFrom(cwd);
  const given = out === undefined ? undefined : path.resolve(cwd, out);
  if (given !== undefined) refuseSealed(given);
  const key = named === undefined ? checkerIfUsable(cwd, options.signingKey) : checkerAt(cwd, { key: named });
  const places = cases === undefined ? undefined : casePlaces(cases, cwd);
  const comparison = comparisonFolder(word, home, cwd);
  if (comparison !== undefined) {
    const found = comparisonSubject(comparison, home, key, { cwd, baseline });
    const damage = options.isChecked ? [] : await damageIn([...found.folders.baseline, ...found.folders.new]);
    const subject = { ...found, damage, places, cwd };
    const { comparison_id: id } = subject.comparison;
    const judgement = { id, state: 'sound', message: null, judged: 'as_sealed' } as const;
    return { subject, folder: given ?? path.join(home, 'reports', id), judgement };
  }
  if (baseline !== undefined)
    throw new Fault('usage', '--baseline applies only to a comparison with an accepted baseline. Omit it.');
  const folder = suiteFolder(word, home);
  if (folder === undefined)
    throw new Fault('no_run', `There is no run or comparison "${printable(word)}". Run proctor list to see the runs.`);
  const { run, request } = readSuiteFolder(folder);
  const damage = options.isChecked ? [] : await damageIn([folder]);
  const judge: JudgeContext = { home, key, ...(signal && { signal }) };
  const { evaluation, told: judgement } = damage[0]
    ? await sealedEvaluation(damage[0], run.run_id, key)
    : await judgedRun(folder, judge, 'as sealed');
  const parts = partNote(request, folder);
  const subject = { run, evaluation, repetition: request.repetition, parts, folder, damage, places, cwd };
  return { subject, folder: given ?? path.join(home, 'reports', reportsName(run, runsIn(home))), judgement };
}

/** The sealed evaluation of a damaged run. Proctor never judges changed files, so without one there is no verdict. */
async function sealedEvaluation({ folder, runId, trouble }: Damage, id: string, key: Checker | undefined) {
  const { evaluation, told } = await shownEvaluation(folder, id, key);
  if (evaluation) return { evaluation, told };
  throw new Fault(
    'not_as_sealed',
    `${printable(runId)} does not match its seal: ${trouble}. It has no sealed evaluation either, so there is no verdict to show. Run proctor verify for details.`,
  );
}

/** The name of the report folder. A run of the other side may have the same id. */
function reportsName({ run_id, version }: RunArtifact, places: readonly RunFolder[]): string {
  return places.filter(({ id }) => id === run_id).length > 1 ? `${version}-${run_id}` : run_id;
}

/**
 * Rejects a sealed folder and those below it, because a seal covers exactly the files of its folder. Follows links,
 * because the folder may lie behind one.
 */
export function refuseSealed(folder: string): void {
  const real = realFolder(folder);
  let isSealed = existsSync(path.join(real, 'comparison.seal.json'));
  for (let within = real; within !== path.dirname(within); within = path.dirname(within)) {
    isSealed ||= existsSync(path.join(within, SEAL));
  }
  if (!isSealed) return;
  throw new Fault(
    'usage',
    'The folder for the reports belongs to a sealed run or comparison. Specify another one with --out.',
  );
}

/** The folder without links. Parts that do not exist yet stay as they are. */
function realFolder(folder: string): string {
  try {
    return realpathSync(folder);
  } catch {
    const parent = path.dirname(folder);
    return parent === folder ? folder : path.join(realFolder(parent), path.basename(folder));
  }
}

/** The folder of the comparison; undefined if the word names a run. */
export function comparisonFolder(word: string, home: string, cwd: string): string | undefined {
  const root = path.join(home, 'comparisons');
  const places = (existsSync(root) ? readdirSync(root) : [])
    .map(id => ({ id, lane: 'comparison', folder: path.join(root, id) }))
    .filter(({ folder }) => hasComparison(folder));
  if (word === 'latest') {
    const latest = byAge(places).at(-1);
    const run = runsIn(home).findLast(({ lane }) => lane === 'baseline' || lane === 'new');
    // Within the same second, the comparison is newer, because it needs the run.
    return latest && (!run || secondOf(latest) >= secondOf(run)) ? latest.folder : undefined;
  }
  const given = path.resolve(cwd, word);
  if (hasComparison(given)) return given;
  if (path.basename(given) === 'comparison.json' && existsSync(given)) return path.dirname(given);
  const matches = places.filter(({ id }) => id.startsWith(word) || id.endsWith(word));
  return matches.length === 1 ? matches[0]?.folder : undefined;
}

function hasComparison(folder: string): boolean {
  return existsSync(path.join(folder, 'comparison.json'));
}

/** Reads a sealed comparison, and finds its runs. */
export function comparisonSubject(
  folder: string,
  home: string,
  key: Checker | undefined,
  asked: { readonly cwd: string; readonly baseline: string | undefined },
): ComparisonSubject {
  const comparison = readComparison(folder, key);
  if ('why' in comparison) {
    throw new Fault(
      'bad_comparison',
      `The comparison is not trusted: it ${comparison.why}. Run proctor compare again.`,
    );
  }
  const runs = runsIn(home);
  const foldersOf = ({ run_ids, seals }: Comparison['sides']['new']): Folders =>
    run_ids.map((id, index) => {
      const named = runs.filter(run => run.id === id && (run.lane === 'baseline' || run.lane === 'new'));
      // A run with the same id but another seal is a different run.
      return named.find(place => readSuiteFolder(place.folder).sealSha256 === seals[index])?.folder;
    });
  const { baseline, new: candidate } = comparison.sides;
  const folders = { baseline: foldersOf(baseline), new: foldersOf(candidate) };
  if (asked.baseline === undefined && !folders.baseline.includes(undefined)) return { comparison, folders };
  const kept = (): ReturnType<typeof keptBehind> => keptBehind(folder, comparison, asked.cwd, asked.baseline);
  // Check a file that the user names, whatever the format.
  if (asked.baseline === undefined) return { comparison, folders, kept };
  const named = kept();
  return { comparison, folders, kept: () => named };
}

/** Warns that a page shows changed files; undefined if it does not. */
export function damageWarning({ damage = [] }: Pick<Subject, 'damage'>): string | undefined {
  const [first] = damage;
  if (!first) return undefined;
  const runs = damage.length === 1 ? '' : ` ${damage.length - 1} more changed.`;
  return `${printable(first.runId)} does not match its seal: ${first.trouble}.${runs} The page says so, and marks the cases. Run proctor verify for details.`;
}

/** Whether the comparison read the pack of an accepted baseline that is not here any more. */
export function isPackAway(subject: Subject): boolean {
  if (!('comparison' in subject)) return false;
  const { comparison, folders, kept } = subject;
  return comparison.sides.baseline.pack === 'read' && folders.baseline.includes(undefined) && !kept?.();
}

/** The runs of a comparison that are not in this project, so the report cannot show them. */
export function runsNotHere(subject: Subject): readonly string[] {
  if (!('comparison' in subject)) return [];
  const { comparison, folders } = subject;
  return (['baseline', 'new'] as const).flatMap(side => {
    const { source, run_ids } = comparison.sides[side];
    return source === 'runs' ? run_ids.filter((_, index) => folders[side][index] === undefined) : [];
  });
}
