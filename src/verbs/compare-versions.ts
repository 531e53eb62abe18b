import path from 'node:path';
import { writeAtomic } from '../base/atomic.ts';
import { instantText, systemClock } from '../base/clock.ts';
import { Fault } from '../base/fault.ts';
import { newRunId } from '../base/ids.ts';
import { printable } from '../base/printable.ts';
import { modesIn } from '../base/private.ts';
import { type Matrix, MATRIX_VERSIONS_MAX } from '../contracts/matrix.ts';
import { homeFrom, makeHome } from '../evidence/run-folder/runs.ts';
import type { Side } from '../judge/compare-input.ts';
import { matrixOf } from '../judge/compare/matrix.ts';
import type { NamedVersion } from '../judge/compare/matrix-versions.ts';
import { caseNames, casesInFolders } from '../judge/compare/side.ts';
import { factsOf, NAME_UNITS_MAX, versionNames } from '../judge/compare/version-names.ts';
import { type MatrixFormat, matrixReports } from '../reports/matrix.ts';
import { sideOf } from './evaluations.ts';
import { gateFor, type GateSettings } from './gate-settings.ts';
import type { JudgeContext, SealNotice } from './judged.ts';
import { checkerAt } from './keys.ts';
import { pairReports } from './pair-reports.ts';
import { makeReportFolder, refuseSealed } from './report.ts';
import { checkVersionOptions } from './suite-options.ts';

export interface CompareVersionsOptions extends GateSettings {
  /** Two to eight versions. The first is the reference. */
  readonly versions: readonly VersionWord[];
  /** Judges each version against every earlier one, instead of only the first. */
  readonly allPairs?: boolean;
  readonly formats?: readonly MatrixFormat[];
  /** The folder for the reports; `.proctor/reports/<id>` by default. */
  readonly out?: string;
  /** Judges the runs again, even if they have evaluations. */
  readonly rejudge?: boolean;
  /** Public key that must have signed an accepted baseline; the project's key by default. */
  readonly key?: string;
  readonly signingKey?: string;
  readonly cwd?: string;
  readonly signal?: AbortSignal;
}

export interface VersionWord {
  /** A run, `baseline`, `new`, `latest`, or an accepted baseline file. */
  readonly run: string;
  /** The name in the matrix; derived from the run's agent, model and target by default. */
  readonly name?: string | undefined;
}

export interface ComparedVersions {
  readonly matrix: Matrix;
  readonly folder: string;
  readonly files: Readonly<Partial<Record<MatrixFormat, string>>>;
  /** Whether the stored evaluations match their seals, and what Proctor did about those that do not. */
  readonly judgements: readonly SealNotice[];
}

/** Judges every pair of versions by the gate, and writes the matrix as a report. It seals nothing. */
export async function compareVersions(options: CompareVersionsOptions): Promise<ComparedVersions> {
  checkVersionOptions(options);
  const { versions: words, cwd = process.cwd(), formats = ['html'], signal, rejudge } = options;
  checkCount(words);
  checkFormats(formats);
  const home = homeFrom(cwd);
  const given = options.out === undefined ? undefined : path.resolve(cwd, options.out);
  if (given !== undefined) refuseSealed(given);
  const gate = gateFor(options, cwd);
  const key = checkerAt(cwd, options);
  const judge: JudgeContext = { home, key, ...(signal && { signal }), ...(rejudge && { again: true }) };
  const { versions, judgements } = await judgedVersions(words, cwd, judge);
  const matrix = await matrixOf(versions, gate, {
    matrixId: newRunId('matrix', systemClock),
    generatedAt: instantText(systemClock.now()),
    decidedBy: options.allPairs ? 'all_pairs' : 'reference',
    caseOf: casesInFolders(),
    signal,
  });
  if (given === undefined) makeHome(home);
  const folder = given ?? path.join(home, 'reports', matrix.matrix_id);
  // A page elsewhere could be sent to another person, so it links to nothing on this machine.
  const links = given === undefined ? pairReports(versions, home) : [];
  makeReportFolder(folder);
  const files: Partial<Record<MatrixFormat, string>> = {};
  for (const format of formats) {
    const { file, pieces } = matrixReports[format](matrix, links);
    files[format] = path.join(folder, file);
    writeAtomic(files[format], pieces, modesIn(folder).file);
  }
  return { matrix, folder, files, judgements };
}

/** Callers in JavaScript may ask for a format that only two-sided comparisons have. */
function checkFormats(formats: readonly string[]): void {
  const unknown = formats.find(format => !Object.hasOwn(matrixReports, format));
  if (unknown === undefined) return;
  throw new Fault(
    'usage',
    `There is no ${printable(unknown)} report of three or more runs. Use ${Object.keys(matrixReports).join(', ')}.`,
  );
}

function checkCount(words: readonly VersionWord[]): void {
  if (words.length < 2) throw new Fault('usage', 'compareVersions requires at least two versions.');
  const beyond = words.slice(MATRIX_VERSIONS_MAX).map(({ run }) => `"${printable(run)}"`);
  if (beyond.length === 0) return;
  throw new Fault(
    'usage',
    `A matrix has at most ${MATRIX_VERSIONS_MAX} versions, and you named ${words.length}. Leave out ${beyond.slice(0, NAMED_MAX).join(', ')}${beyond.length > NAMED_MAX ? ` and ${beyond.length - NAMED_MAX} more` : ''}.`,
  );
}

const NAMED_MAX = 5;

async function judgedVersions(words: readonly VersionWord[], cwd: string, judge: JudgeContext) {
  const sides: Side[] = [];
  const judgements: SealNotice[] = [];
  for (const { run } of words) {
    const { side, told } = await sideOf(run, cwd, judge);
    if (side.trials.length === 0)
      throw new Fault('no_run', `There is no run "${printable(run)}" yet. Run proctor list to see the runs.`);
    sides.push(side);
    judgements.push(...told);
  }
  const named = namesOf(words, sides);
  const versions = sides.map((side, index): NamedVersion => {
    const folder = side.trials.find(trial => trial.folder !== undefined)?.folder;
    const { name, facts } = named[index] as (typeof named)[number];
    return { name, facts, side, names: folder === undefined ? undefined : caseNames(folder) };
  });
  return { versions, judgements };
}

/** Given names, and derived ones for the others. Two versions never have the same name. */
function namesOf(words: readonly VersionWord[], sides: readonly Side[]) {
  const nameless = sides.map((side, index) => ({
    facts: factsOf(side),
    id: side.source === 'accepted' ? path.basename(words[index]?.run ?? '', '.json') : (side.trials[0]?.runId ?? ''),
  }));
  const derived = versionNames(nameless);
  const names = words.map(({ name }, index) => name ?? (derived[index] as string));
  for (const [index, name] of names.entries()) {
    if (name.trim() === '' || name.length > NAME_UNITS_MAX)
      throw new Fault('usage', `The name of a version has 1 to ${NAME_UNITS_MAX} characters.`);
    if (names.indexOf(name) < index)
      throw new Fault('usage', `Two versions have the name "${printable(name)}". Name one of them with --name.`);
  }
  return nameless.map(({ facts }, index) => ({ facts, name: names[index] as string }));
}
