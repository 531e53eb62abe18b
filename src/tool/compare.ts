import path from 'node:path';
import { instantText, systemClock } from '../base/clock.ts';
import { Fault } from '../base/fault.ts';
import { newRunId } from '../base/ids.ts';
import { makeFolders, modesIn } from '../base/private.ts';
import type { Comparison } from '../contracts/comparison/index.ts';
import type { Side } from '../judge/compare-input.ts';
import type { Gate } from '../judge/gate.ts';
import type { AgainOptions } from './ask-again.ts';
import type { Format } from './formats.ts';
import { gateFor, type GateSettings } from './gate-settings.ts';
import { writeReports } from './report.ts';
import type { Judge, Told } from './judged.ts';
import { checkerAt, signerAt } from './keys.ts';
import { sideOf } from './sides.ts';
import { checkCompareOptions } from './suite-options.ts';

export interface CompareOptions extends GateSettings {
  /** A run, `baseline`, or the file of an accepted baseline. */
  readonly baseline: string;
  /** A run, or `new`. */
  readonly candidate: string;
  readonly formats?: readonly Format[];
  /** Where the comparison and its reports go; else `.proctor/comparisons/<id>`. */
  readonly out?: string;
  /** Judges the runs again, whatever evaluation lies in their folders. */
  readonly rejudge?: boolean;
  /** Asks cases that look broken again before it decides. */
  readonly again?: AgainOptions;
  /** The file of the public key that a baseline must be signed with; else that of this place, if it has a key. */
  readonly key?: string;
  /** The file of the key that the comparison is signed with; else that of `.proctor`, if it has one. */
  readonly signingKey?: string;
  readonly cwd?: string;
  readonly signal?: AbortSignal;
}

export interface Compared {
  readonly comparison: Comparison;
  readonly folder: string;
  /** The files of the reports, by their formats. */
  readonly files: Readonly<Partial<Record<Format, string>>>;
  /** Whether the evaluations that were found are bound to their seals, and what was done about those that are not. */
  readonly judgements: readonly Told[];
  /** The key that the comparison was signed with, or null. */
  readonly keyId: string | null;
}

/** Says whether a new side is worse than its baseline, and writes down why. */
export async function compareRuns(options: CompareOptions): Promise<Compared> {
  checkCompareOptions(options);
  const { cwd = process.cwd(), formats = ['html'], signal, rejudge } = options;
  const { homeFrom, makeHome } = await import('../evidence/runs.ts');
  const home = homeFrom(cwd);
  const gate = await gateFor(options, cwd);
  if (options.again && gate.mode === 'strict')
    throw new Fault(
      'usage',
      'strict counts planned trials only, so asking again changes nothing. Leave --again out, or choose balanced or proven.',
    );
  const signer = await signerAt(cwd, options.signingKey);
  const key = await checkerAt(cwd, options);
  const judge: Judge = { home, key, ...(signal && { signal }), ...(rejudge && { again: true }) };
  const { comparison, input, restsOn, judgements } = await judgedSides(options, gate, judge, cwd);
  if (options.out === undefined) makeHome(home);
  const folder =
    options.out === undefined
      ? path.join(home, 'comparisons', comparison.comparison_id)
      : path.resolve(cwd, options.out);
  makeFolder(folder);
  const { sealComparison, writeComparison } = await import('../evidence/comparison-files.ts');
  writeComparison(folder, comparison);
  const files = await writeReports(folder, { comparison, ...input }, formats);
  const reports = Object.values(files).map(file => path.basename(file));
  sealComparison(folder, comparison, reports, restsOn, signer);
  return { comparison, folder, files, judgements, keyId: signer?.keyId ?? null };
}

/** Judges both sides and compares them. What judging said of every case is let go before reports are written. */
async function judgedSides(options: CompareOptions, gate: Gate, judge: Judge, cwd: string) {
  const { signingKey } = options;
  const first = await bothSides(options, cwd, judge);
  const { baseline, candidate, told, again } = options.again
    ? await (await import('./ask-again.ts')).askSuspects(first, options.again, { gate, judge, cwd, signingKey })
    : { ...first, told: [], again: undefined };
  const { foundationsOf } = await import('../judge/foundations.ts');
  return {
    comparison: { ...(await compared(baseline, candidate, gate)), ...(again && { again }) },
    input: {
      folders: { baseline: foldersOf(baseline), new: foldersOf(candidate) },
      kept: baseline.trials.map(({ kept }) => kept),
    },
    restsOn: [...foundationsOf(baseline, 'baseline'), ...foundationsOf(candidate, 'new')],
    judgements: [...first.judgements, ...told],
  };
}

async function bothSides(options: CompareOptions, cwd: string, judge: Judge) {
  const { side: baseline, told: toldBefore } = await sideOf(options.baseline, cwd, judge, 'baseline');
  const { side: candidate, told } = await sideOf(options.candidate, cwd, judge, 'new');
  checkApart(baseline, candidate);
  return { baseline, candidate, judgements: [...toldBefore, ...told] };
}

function makeFolder(folder: string): void {
  try {
    makeFolders(folder, modesIn(folder).folder);
  } catch (cause) {
    throw new Fault(
      'folder_failed',
      'The folder for the comparison could not be made. Name another one (--out, out).',
      {
        cause,
      },
    );
  }
}

async function compared(baseline: Side, candidate: Side, gate: Gate): Promise<Comparison> {
  const [{ compareSides }, { artifactInFolder, caseNames, casesInFolders }] = await Promise.all([
    import('../judge/compare.ts'),
    import('../judge/side.ts'),
  ]);
  const named = candidate.trials[0]?.folder ?? baseline.trials[0]?.folder;
  const names = candidate.trials[0]?.names ?? (named === undefined ? undefined : caseNames(named));
  return compareSides(baseline, candidate, gate, {
    comparisonId: newRunId('comparison', systemClock),
    generatedAt: instantText(systemClock.now()),
    artifactOf: artifactInFolder,
    caseOf: casesInFolders(),
    ...(names && { names }),
  });
}

/** A run that is held against itself is never worse. */
function checkApart(baseline: Side, candidate: Side): void {
  const seals = new Set(baseline.trials.map(({ sealSha256 }) => sealSha256));
  if (!candidate.trials.some(({ sealSha256 }) => sealSha256 !== undefined && seals.has(sealSha256))) return;
  throw new Fault(
    'same_run',
    baseline.source === 'accepted'
      ? 'The baseline was accepted from this run, so the run cannot be compared with it. Name another run.'
      : 'Both sides are the same run. proctor list shows which runs there are.',
  );
}

/** Where a report finds what it shows. */
function foldersOf({ trials }: Side): (string | undefined)[] {
  return trials.map(({ folder }) => folder);
}
