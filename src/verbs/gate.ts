import { defined } from '../base/defined.ts';
import { Fault } from '../base/fault.ts';
import { printable } from '../base/printable.ts';
import { type GatedResults, gateResults } from '../judge/compare/gate-results.ts';
import type { Gate } from '../judge/compare/gate.ts';
import { gateFor, type GateSettings } from './gate-settings.ts';
import { refuseUnknown } from './options.ts';
import { readSide, type ReadSide, type ResultFile } from './result-files.ts';

export interface GateFilesOptions extends Omit<GateSettings, 'allowWeakened' | 'limits'> {
  /** A file of results, a folder, or several separated by commas. */
  readonly baseline: string;
  readonly candidate: string;
  readonly margin?: number;
  readonly alpha?: number;
  readonly confidence?: number;
  readonly critical?: readonly string[];
  readonly looks?: number;
  readonly cwd?: string;
}

export interface Gated extends GatedResults {
  readonly sides: { readonly baseline: GatedSide; readonly new: GatedSide };
  readonly notes: readonly string[];
}

export interface GatedSide {
  readonly files: readonly ResultFile[];
  readonly cases: number;
  readonly trials: number;
}

/** Decides whether a candidate's results are worse than its baseline's. Writes no files. */
export async function gateFiles(options: GateFilesOptions): Promise<Gated> {
  checkOptions(options);
  const { cwd = process.cwd(), margin, alpha, confidence, critical, looks } = options;
  const given = { margin, alpha, confidence, critical: critical && [...critical], looks };
  const settings: Gate = { ...gateFor(options, cwd), ...defined(given) };
  const baseline = readSide(options.baseline, cwd);
  const candidate = readSide(options.candidate, cwd);
  if (baseline.paths.some(file => candidate.paths.includes(file)))
    throw new Fault('same_file', 'The same file is on both sides. Specify different results.');
  const results = gateResults(baseline.side, candidate.side, settings);
  return {
    ...results,
    sides: { baseline: summaryOf(baseline), new: summaryOf(candidate) },
    notes: [
      ...namesNote(results, baseline, candidate),
      ...copiesNote(baseline, 'baseline'),
      ...copiesNote(candidate, 'candidate'),
    ],
  };
}

function summaryOf({ side, files }: ReadSide): GatedSide {
  return { files, cases: side.cases.size, trials: side.trials };
}

function namesNote({ decision }: GatedResults, ...sides: readonly [ReadSide, ReadSide]): string[] {
  const [before, now] = sides.map(({ side }) => side.cases.keys().next().value);
  if (decision.cause !== 'no_pairs' || before === undefined || now === undefined) return [];
  return [
    `Cases are matched by name, and no names match. The baseline starts with "${printable(before)}", the new results with "${printable(now)}".`,
  ];
}

function copiesNote({ copies }: ReadSide, side: 'baseline' | 'candidate'): string[] {
  if (copies === 0) return [];
  const files = copies === 1 ? 'A file' : `${copies} files`;
  return [
    `${files} of the ${side} ${copies === 1 ? 'is a copy' : 'are copies'} of another file. Copies do not count as trials.`,
  ];
}

function checkOptions(options: GateFilesOptions): void {
  refuseUnknown('gate', options, OPTIONS);
  for (const side of ['baseline', 'candidate'] as const) {
    if (typeof options?.[side] !== 'string') throw new Fault('usage', `gate requires ${side}: a results file.`);
  }
  for (const name of ['margin', 'alpha', 'confidence'] as const) {
    const value = options[name];
    if (value !== undefined && !(value > 0 && value < 1))
      throw new Fault('usage', `${name} must be a number between 0 and 1, such as 0.05.`);
  }
  const { looks = 1 } = options;
  if (!Number.isInteger(looks) || looks < 1 || looks > LOOKS_MAX)
    throw new Fault('usage', `looks must be an integer from 1 to ${LOOKS_MAX}.`);
}

const LOOKS_MAX = 5;

const OPTIONS: Record<keyof GateFilesOptions, true> = {
  baseline: true,
  candidate: true,
  gate: true,
  mode: true,
  allowRemoved: true,
  margin: true,
  alpha: true,
  confidence: true,
  critical: true,
  looks: true,
  cwd: true,
};
