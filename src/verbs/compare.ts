import path from 'node:path';
import { instantText, systemClock } from '../base/clock.ts';
import { Fault } from '../base/fault.ts';
import { newRunId } from '../base/ids.ts';
import { makeFolders, modesIn } from '../base/private.ts';
import type { Comparison } from '../contracts/comparison/index.ts';
import { sealComparison, writeComparison } from '../evidence/judgement/comparison-files.ts';
import { homeFrom, makeHome } from '../evidence/run-folder/runs.ts';
import type { Side } from '../judge/compare-input.ts';
import { compareSides } from '../judge/compare/compare.ts';
import { foundationsOf } from '../judge/compare/foundations.ts';
import type { Gate } from '../judge/compare/gate.ts';
import { artifactInFolder, caseNames, casesInFolders } from '../judge/compare/side.ts';
import type { AskAgainOptions } from './ask-again.ts';
import { casePlaces } from './case-places.ts';
import type { Format } from './formats.ts';
import { gateFor, type GateSettings } from './gate-settings.ts';
import type { JudgeContext, SealNotice } from './judged.ts';
import { checkerAt, signerAt } from './keys.ts';
import { writeReports } from './report.ts';
import { flagsToAskAgain } from './again-words.ts';
import { sideOf } from './evaluations.ts';
import { checkCompareOptions } from './suite-options.ts';

export interface CompareOptions extends GateSettings {
  /** A run, `baseline`, or an accepted baseline file. */
  readonly baseline: string;
  /** A run, or `new`. */
  readonly candidate: string;
  readonly formats?: readonly Format[];
  /** The case file, for reports that point to lines: annotations and codequality. */
  readonly cases?: string;
  /** The folder for the comparison and its reports; `.proctor/comparisons/<id>` by default. */
  readonly out?: string;
  /** Judges the runs again, even if they have evaluations. */
  readonly rejudge?: boolean;
  /** Runs suspect cases again before it decides. */
  readonly again?: AskAgainOptions;
  /** Public key that must have signed an accepted baseline; the project's key by default. */
  readonly key?: string;
  /** Key that signs the comparison; the key in `.proctor` by default. */
  readonly signingKey?: string;
  readonly cwd?: string;
  readonly signal?: AbortSignal;
}

export interface Compared {
  readonly comparison: Comparison;
  readonly folder: string;
  readonly files: Readonly<Partial<Record<Format, string>>>;
  /** Whether the stored evaluations match their seals, and what Proctor did about those that do not. */
  readonly judgements: readonly SealNotice[];
  /** The id of the signing key, or null. */
  readonly keyId: string | null;
  /** The flags that running the cases again needs besides --again. */
  readonly againFlags: string;
}

/** Decides whether the candidate is worse than its baseline, and writes the reasons to a sealed folder. */
export async function compareRuns(options: CompareOptions): Promise<Compared> {
  checkCompareOptions(options);
  const { cwd = process.cwd(), formats = ['html'], signal, rejudge } = options;
  const home = homeFrom(cwd);
  const gate = gateFor(options, cwd);
  if (options.again && gate.mode === 'strict')
    throw new Fault(
      'usage',
      'The strict gate counts only planned trials, so running cases again changes nothing. Omit --again, or use balanced or proven.',
    );
  const signer = signerAt(cwd, options.signingKey);
  const key = checkerAt(cwd, options);
  const judge: JudgeContext = { home, key, ...(signal && { signal }), ...(rejudge && { again: true }) };
  const { comparison, input, restsOn, judgements, againFlags } = await judgedSides(options, gate, judge, cwd);
  if (options.out === undefined) makeHome(home);
  const folder =
    options.out === undefined
      ? path.join(home, 'comparisons', comparison.comparison_id)
      : path.resolve(cwd, options.out);
  makeFolder(folder);
  writeComparison(folder, comparison);
  const places = options.cases === undefined ? undefined : casePlaces(options.cases, cwd);
  const files = writeReports(folder, { comparison, ...input, places, cwd }, formats);
  const reports = Object.values(files).map(file => path.basename(file));
  sealComparison(folder, comparison, reports, restsOn, signer);
  return { comparison, folder, files, judgements, keyId: signer?.keyId ?? null, againFlags };
}

/** Judges both sides and compares them. The evaluations are freed before the reports are written. */
async function judgedSides(options: CompareOptions, gate: Gate, judge: JudgeContext, cwd: string) {
  const { signingKey } = options;
  const first = await bothSides(options, cwd, judge);
  const { baseline, candidate, told, again } = options.again
    ? await (await import('./ask-again.ts')).askSuspects(first, againFrom(options.again, options.cases, cwd), {
        gate,
        judge,
        cwd,
        signingKey,
      })
    : { ...first, told: [], again: undefined };
  const kept = baseline.trials.map(trial => trial.kept);
  return {
    comparison: { ...compared(baseline, candidate, gate), ...(again && { again }) },
    input: {
      folders: { baseline: foldersOf(baseline), new: foldersOf(candidate) },
      kept: () => kept,
    },
    restsOn: [...foundationsOf(baseline, 'baseline'), ...foundationsOf(candidate, 'new')],
    judgements: [...first.judgements, ...told],
    againFlags: flagsToAskAgain(baseline, candidate),
  };
}

/** Paths in coding cases start at the folder of their file. */
function againFrom(again: AskAgainOptions, cases: string | undefined, cwd: string): AskAgainOptions {
  return cases === undefined ? again : { ...again, casesFolder: path.dirname(path.resolve(cwd, cases)) };
}

async function bothSides(options: CompareOptions, cwd: string, judge: JudgeContext) {
  const { side: baseline, told: toldBefore } = await sideOf(options.baseline, cwd, judge, 'baseline');
  const { side: candidate, told } = await sideOf(options.candidate, cwd, judge, 'new');
  checkApart(baseline, candidate);
  return { baseline, candidate, judgements: [...toldBefore, ...told] };
}

function makeFolder(folder: string): void {
  try {
    makeFolders(folder, modesIn(folder).folder);
  } catch (cause) {
    throw new Fault('folder_failed', 'Cannot create the folder for the comparison. Specify another one with --out.', {
      cause,
    });
  }
}

function compared(baseline: Side, candidate: Side, gate: Gate): Comparison {
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

/** Rejects a comparison of a run with itself, which can never fail. */
function checkApart(baseline: Side, candidate: Side): void {
  const seals = new Set(baseline.trials.map(({ sealSha256 }) => sealSha256));
  if (!candidate.trials.some(({ sealSha256 }) => sealSha256 !== undefined && seals.has(sealSha256))) return;
  throw new Fault(
    'same_run',
    baseline.source === 'accepted'
      ? 'The baseline was accepted from this run. Specify another run as the candidate.'
      : 'Both sides are the same run. Run proctor list to see the others.',
  );
}

function foldersOf({ trials }: Side): (string | undefined)[] {
  return trials.map(({ folder }) => folder);
}
