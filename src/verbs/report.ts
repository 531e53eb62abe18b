import { isUtf8 } from 'node:buffer';
import { existsSync, readdirSync, realpathSync, rmSync } from 'node:fs';
import path from 'node:path';
import { writeAtomic } from '../base/atomic.ts';
import { Fault } from '../base/fault.ts';
import { unsafePath } from '../base/path.ts';
import { printable } from '../base/printable.ts';
import { makeFolders, modesIn } from '../base/private.ts';
import { readRegular } from '../base/regular.ts';
import type { RunArtifact } from '../contracts/artifacts/index.ts';
import type { Comparison } from '../contracts/comparison/index.ts';
import type { Evaluation } from '../contracts/evaluation/index.ts';
import type { Checker } from '../contracts/seal/index.ts';
import type { SuiteRequest } from '../contracts/suite/index.ts';
import { readComparison } from '../evidence/judgement/comparison-files.ts';
import { byAge, homeFrom, runsIn, type RunFolder, secondOf } from '../evidence/run-folder/runs.ts';
import {
  caseInputs,
  casesById,
  readCaseArtifact,
  readRun,
  readSuiteFolder,
  suiteCases,
} from '../evidence/suite/suite-folder.ts';
import type { KeptDocuments } from '../judge/compare-input.ts';
import { firstTrial } from '../judge/compare/pairing.ts';
import { htmlReport, htmlRunReport } from '../reports/html.ts';
import { reports } from '../reports/index.ts';
import type { CasePlaces } from '../reports/report.ts';
import { casePlaces } from './case-places.ts';
import type { Format } from './formats.ts';
import { type JudgeContext, judgedRun, type SealNotice } from './judged.ts';
import { checkerAt, checkerIfUsable } from './keys.ts';
import { suiteFolder } from './evaluations.ts';

interface ComparisonSubject {
  readonly comparison: Comparison;
  /** The run folder of each trial, in order; undefined if the run is not available. */
  readonly folders: { readonly baseline: Folders; readonly new: Folders };
  /** The documents in the pack of an accepted baseline, one entry per trial. */
  readonly kept?: readonly (KeptDocuments | undefined)[];
}

interface RunSubject {
  readonly run: RunArtifact;
  readonly evaluation: Evaluation;
  readonly repetition: SuiteRequest['repetition'];
  readonly folder: string;
}

/** The subject of a report: a comparison, or one run and its evaluation. `places` says where its cases are written. */
export type Subject = (ComparisonSubject | RunSubject) & { readonly places?: CasePlaces | undefined };

type Folders = readonly (string | undefined)[];

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
  const report = reports[format];
  const { places } = subject;
  const pieces =
    'comparison' in subject ? report.ofComparison(subject.comparison, places) : report.ofRun(subject, places);
  return { file: report.file, pieces };
}

function htmlOf(subject: Subject): Iterable<string> {
  if ('comparison' in subject) return htmlOfComparison(subject);
  const { run, evaluation, repetition, folder } = subject;
  const caseOf = casesById(folder);
  return htmlRunReport({
    run,
    evaluation,
    repetition,
    cases: () => suiteCases(folder),
    inputs: () => caseInputs(folder),
    pairs: id => ({ [run.version]: readCaseArtifact(folder, id), case: caseOf(id) }),
    assetText: (_side, href) => assetIn(folder, href),
  });
}

function htmlOfComparison({ comparison, folders, kept }: ComparisonSubject): Iterable<string> {
  const asked = [...folders.new, ...folders.baseline].find(folder => folder !== undefined);
  const caseOf = asked === undefined ? () => undefined : casesById(asked);
  const compared = new Map(comparison.cases.map(one => [one.case_id, one]));
  /** The folders of the case read last. The report requests its assets before it reads the next case. */
  const from: { baseline?: string | undefined; new?: string | undefined } = {};
  /** The trial that the cause cites: one that passed in the baseline, and one that fails in the candidate. */
  const shown = (id: string, side: 'baseline' | 'new') => {
    const trials = compared.get(id)?.[side].trials ?? [];
    const index = firstTrial(trials, side === 'baseline' ? 'passed' : 'failed') ?? 0;
    const folder = folders[side][index];
    from[side] = folder;
    const packed = side === 'baseline' ? kept?.[index]?.artifactOf(id) : undefined;
    const artifact = folder === undefined ? packed : readCaseArtifact(folder, id);
    return { artifact, runId: comparison.sides[side].run_ids[index] };
  };
  const urlOf = (side: 'baseline' | 'new') => {
    const folder = folders[side].find(one => one !== undefined);
    return folder === undefined ? undefined : readRun(folder)?.base_url;
  };
  return htmlReport({
    comparison,
    targets: { baseline: urlOf('baseline'), new: urlOf('new') },
    inputs: asked === undefined ? undefined : () => caseInputs(asked),
    pairs: id => {
      const before = shown(id, 'baseline');
      const now = shown(id, 'new');
      const runIds = { baseline: before.runId, new: now.runId };
      return { baseline: before.artifact, new: now.artifact, case: caseOf(id), runIds };
    },
    assetText: (side, href) => assetIn(from[side], href),
  });
}

/** The text of a small asset that an artifact names. */
function assetIn(folder: string | undefined, href: string): string | undefined {
  if (folder === undefined || unsafePath(href) !== undefined || !href.startsWith('assets/')) return undefined;
  const file = path.join(folder, href);
  // A folder from elsewhere may contain links that point outside it.
  if (!isWithin(folder, file)) return undefined;
  const bytes = readRegular(file, ASSET_BYTES_MAX);
  return bytes && isUtf8(bytes) ? bytes.toString() : undefined;
}

function isWithin(folder: string, file: string): boolean {
  try {
    return realpathSync(file) === path.join(realpathSync(folder), path.relative(folder, file));
  } catch {
    return false;
  }
}

const ASSET_BYTES_MAX = 64 * 1024;

export interface ReportOptions {
  /** The folder for the reports; `.proctor/reports/<id>` by default. */
  readonly out?: string | undefined;
  /** The case file, for reports that point to lines. */
  readonly cases?: string | undefined;
  /** Public key that must have signed the comparison; the project's key by default. */
  readonly key?: string | undefined;
  readonly signingKey?: string | undefined;
  readonly signal?: AbortSignal | undefined;
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
  const { out, cases, key: named, signal } = options;
  const home = homeFrom(cwd);
  const given = out === undefined ? undefined : path.resolve(cwd, out);
  if (given !== undefined) refuseSealed(given);
  const key = named === undefined ? checkerIfUsable(cwd, options.signingKey) : checkerAt(cwd, { key: named });
  const places = cases === undefined ? undefined : casePlaces(cases, cwd);
  const comparison = comparisonFolder(word, home, cwd);
  if (comparison !== undefined) {
    const subject = { ...comparisonSubject(comparison, home, key), places };
    const { comparison_id: id } = subject.comparison;
    const judgement = { id, state: 'sound', message: null, judged: 'as_sealed' } as const;
    return { subject, folder: given ?? path.join(home, 'reports', id), judgement };
  }
  const folder = suiteFolder(word, home);
  if (folder === undefined)
    throw new Fault('no_run', `There is no run or comparison "${printable(word)}". Run proctor list to see the runs.`);
  const { run, request } = readSuiteFolder(folder);
  const judge: JudgeContext = { home, key, ...(signal && { signal }) };
  const { evaluation, told: judgement } = await judgedRun(folder, judge, 'as sealed');
  const subject = { run, evaluation, repetition: request.repetition, folder, places };
  return { subject, folder: given ?? path.join(home, 'reports', reportsName(run, runsIn(home))), judgement };
}

/** The name of the report folder. A run of the other side may have the same id. */
function reportsName({ run_id, version }: RunArtifact, places: readonly RunFolder[]): string {
  return places.filter(({ id }) => id === run_id).length > 1 ? `${version}-${run_id}` : run_id;
}

/** Rejects a sealed folder, because its seal covers exactly its files. */
export function refuseSealed(folder: string): void {
  let isSealed = existsSync(path.join(folder, 'comparison.seal.json'));
  for (let within = folder; within !== path.dirname(within); within = path.dirname(within)) {
    isSealed ||= existsSync(path.join(within, 'evidence', 'seal.json'));
  }
  if (!isSealed) return;
  throw new Fault(
    'usage',
    'The folder for the reports belongs to a sealed run or comparison. Specify another one with --out.',
  );
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

function comparisonSubject(folder: string, home: string, key: Checker | undefined): ComparisonSubject {
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
  return { comparison, folders: { baseline: foldersOf(baseline), new: foldersOf(candidate) } };
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
