import { isUtf8 } from 'node:buffer';
import {
  closeSync,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readdirSync,
  realpathSync,
  renameSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { Fault } from '../base/fault.ts';
import { unsafePath } from '../base/path.ts';
import { printable } from '../base/printable.ts';
import { readRegular } from '../base/regular.ts';
import type { RunArtifact } from '../contracts/artifacts/index.ts';
import type { Comparison } from '../contracts/comparison/index.ts';
import type { Evaluation } from '../contracts/evaluation/index.ts';
import type { SuiteRequest } from '../contracts/suite/index.ts';
import type { Format } from './formats.ts';
import { evaluationIn, suiteFolder } from './sides.ts';

/** What a report is about: a comparison, or one run and what judging says of it. */
export type Subject =
  | {
      readonly comparison: Comparison;
      /** The folders of the trials of each side, as far as they are here. */
      readonly folders: { readonly baseline: readonly string[]; readonly new: readonly string[] };
    }
  | {
      readonly run: RunArtifact;
      readonly evaluation: Evaluation;
      readonly repetition: SuiteRequest['repetition'];
      readonly folder: string;
    };

/** Writes reports into a folder, each whole or not at all, and says where. */
export async function writeReports(
  folder: string,
  subject: Subject,
  formats: readonly Format[],
): Promise<Partial<Record<Format, string>>> {
  const files: Partial<Record<Format, string>> = {};
  try {
    mkdirSync(folder, { recursive: true });
  } catch (cause) {
    throw new Fault('folder_failed', 'The folder for the reports could not be made. Name another one (--out, out).', {
      cause,
    });
  }
  for (const format of formats) {
    const { file, pieces } = await reportOf(subject, format);
    files[format] = path.join(folder, file);
    writePieces(files[format], pieces);
  }
  return files;
}

/** The text of a report, piece by piece. */
export async function reportOf(
  subject: Subject,
  format: Format,
): Promise<{ readonly file: string; readonly pieces: Iterable<string> }> {
  if (format === 'html') return { file: 'report.html', pieces: await htmlOf(subject) };
  const { reports } = await import('../reports/index.ts');
  const report = reports[format];
  const pieces = 'comparison' in subject ? report.ofComparison(subject.comparison) : report.ofRun(subject);
  return { file: report.file, pieces };
}

async function htmlOf(subject: Subject): Promise<Iterable<string>> {
  const [{ htmlReport, htmlRunReport }, room] = await Promise.all([
    import('../reports/html.ts'),
    import('../evidence/suite-folder.ts'),
  ]);
  const { casesById, readCaseArtifact, readRun, suiteCases } = room;
  if ('comparison' in subject) {
    const { comparison, folders } = subject;
    const asked = folders.new[0] ?? folders.baseline[0];
    const caseOf = asked === undefined ? () => undefined : casesById(asked);
    const compared = new Map(comparison.cases.map(one => [one.case_id, one]));
    /** Where the case lies that was read last: its assets are asked for before the next one. */
    const from: { baseline?: string | undefined; new?: string | undefined } = {};
    /** The trial that shows best what happened: one that passed before, and one that does not now. */
    const shown = (id: string, side: 'baseline' | 'new') => {
      const trials = compared.get(id)?.[side].trials ?? [];
      const telling = trials.findIndex(({ verdict }) => (verdict === 'pass') === (side === 'baseline'));
      const index = Math.max(0, telling);
      const folder = folders[side][index];
      from[side] = folder;
      const artifact = folder === undefined ? undefined : readCaseArtifact(folder, id);
      return { artifact, runId: comparison.sides[side].run_ids[index] };
    };
    const urlOf = (side: 'baseline' | 'new') => folders[side][0] && readRun(folders[side][0])?.base_url;
    return htmlReport({
      comparison,
      targets: { baseline: urlOf('baseline'), new: urlOf('new') },
      pairs: id => {
        const before = shown(id, 'baseline');
        const now = shown(id, 'new');
        const runIds = { baseline: before.runId, new: now.runId };
        return { baseline: before.artifact, new: now.artifact, case: caseOf(id), runIds };
      },
      assetText: (side, href) => assetIn(from[side], href),
    });
  }
  const { run, evaluation, repetition, folder } = subject;
  const caseOf = casesById(folder);
  return htmlRunReport({
    run,
    evaluation,
    repetition,
    cases: () => suiteCases(folder),
    pairs: id => ({ [run.version]: readCaseArtifact(folder, id), case: caseOf(id) }),
    assetText: (_side, href) => assetIn(folder, href),
  });
}

/** The text of a small file that an artifact of ours names. */
function assetIn(folder: string | undefined, href: string): string | undefined {
  if (folder === undefined || unsafePath(href) !== undefined || !href.startsWith('assets/')) return undefined;
  const file = path.join(folder, href);
  // A folder from elsewhere may hold links that lead out of it.
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

function writePieces(file: string, pieces: Iterable<string>): void {
  try {
    const fd = openSync(`${file}.tmp`, 'w', 0o644);
    try {
      for (const piece of pieces) writeFileSync(fd, piece);
      fsyncSync(fd);
    } finally {
      closeSync(fd);
    }
    renameSync(`${file}.tmp`, file);
  } catch (cause) {
    if (cause instanceof Fault) throw cause;
    throw new Fault('write_failed', `The report ${path.basename(file)} could not be written.`, { cause });
  }
}

/**
 * What a word means to a report: a comparison or a run of a suite, by path, id, beginning of one, or `latest`. And the
 * folder where reports of it go: a run is sealed, so they lie beside the runs.
 */
export async function subjectOf(
  word: string,
  cwd: string,
  out?: string,
): Promise<{ readonly subject: Subject; readonly folder: string }> {
  const { homeFrom, listRuns } = await import('../evidence/runs.ts');
  const home = homeFrom(cwd);
  const given = out === undefined ? undefined : path.resolve(cwd, out);
  const comparison = comparisonFolder(word, home, cwd, newestSuite(listRuns(home)));
  if (comparison !== undefined) {
    return { subject: await comparisonSubject(comparison, home), folder: given ?? comparison };
  }
  const folder = await suiteFolder(word, home);
  if (folder === undefined) throw new Fault('no_run', `No run or comparison is called "${printable(word)}".`);
  const { readSuite } = await import('../evidence/suite-folder.ts');
  const { run, request } = readSuite(folder);
  const evaluation = await evaluationIn(folder, { home });
  const subject = { run, evaluation, repetition: request.repetition, folder };
  return { subject, folder: given ?? path.join(home, 'reports', run.run_id) };
}

function newestSuite(runs: readonly { readonly id: string; readonly lane: string }[]): string {
  const suites = runs.filter(({ lane }) => lane === 'baseline' || lane === 'new');
  return timeIn(suites.at(-1)?.id ?? '');
}

function timeIn(id: string): string {
  return /\d{8}_\d{6}/.exec(id)?.[0] ?? '';
}

/** The folder of the comparison that a word means; undefined if it means a run. */
function comparisonFolder(word: string, home: string, cwd: string, newestRun: string): string | undefined {
  const root = path.join(home, 'comparisons');
  const ids = existsSync(root)
    ? readdirSync(root)
        .filter(id => hasComparison(path.join(root, id)))
        .sort()
    : [];
  if (word === 'latest') {
    const latest = ids.at(-1);
    // Of the same second, the comparison came last: it needs runs.
    return latest !== undefined && timeIn(latest) >= newestRun ? path.join(root, latest) : undefined;
  }
  const given = path.resolve(cwd, word);
  if (hasComparison(given)) return given;
  if (path.basename(given) === 'comparison.json' && existsSync(given)) return path.dirname(given);
  const matches = ids.filter(id => id === word || id.startsWith(word) || id.endsWith(word));
  return matches.length === 1 ? path.join(root, matches[0] as string) : undefined;
}

function hasComparison(folder: string): boolean {
  return existsSync(path.join(folder, 'comparison.json'));
}

async function comparisonSubject(folder: string, home: string): Promise<Subject> {
  const [{ comparison: contract }, { documentIn }, { listRuns }, { readSuite }] = await Promise.all([
    import('../contracts/comparison/index.ts'),
    import('../evidence/read.ts'),
    import('../evidence/runs.ts'),
    import('../evidence/suite-folder.ts'),
  ]);
  const comparison = documentIn(folder, 'comparison.json', contract) as Comparison | undefined;
  if (!comparison) throw new Fault('bad_comparison', 'The comparison cannot be believed. proctor verify says why.');
  const runs = listRuns(home);
  const foldersOf = ({ run_ids, seals }: Comparison['sides']['new']): string[] =>
    run_ids.flatMap((id, index) => {
      const place = runs.find(run => run.id === id && (run.lane === 'baseline' || run.lane === 'new'));
      // A run of the same name that was sealed otherwise is another run.
      return place && readSuite(place.folder).sealSha256 === seals[index] ? [place.folder] : [];
    });
  const { baseline, new: candidate } = comparison.sides;
  return { comparison, folders: { baseline: foldersOf(baseline), new: foldersOf(candidate) } };
}
