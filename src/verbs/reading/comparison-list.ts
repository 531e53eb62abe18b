import { existsSync } from 'node:fs';
import path from 'node:path';
import { Fault } from '../../base/fault.ts';
import { fileHash } from '../../base/file-hash.ts';
import type { Comparison } from '../../contracts/comparison/index.ts';
import { readComparison } from '../../evidence/judgement/comparison-files.ts';
import { SEAL } from '../../evidence/run-folder/finish.ts';
import { homeFrom } from '../../evidence/run-folder/runs.ts';
import { verdictWord } from '../../reports/report.ts';
import { acceptedFiles } from '../accepted-file.ts';
import { compareRuns } from '../compare.ts';
import { acceptedIn } from '../evaluations.ts';
import { findSuiteRuns } from '../history/find-runs.ts';
import { checkerIfUsable } from '../keys.ts';
import { projectIn } from '../report-commands.ts';

/** A comparison in the list of a server. */
export interface ComparisonRow {
  readonly comparison_id: string;
  /** `untrusted`: it does not match its seal, or its key is not known. Nothing else is then known. */
  readonly state: 'sealed' | 'untrusted';
  /** Why it is not trusted. */
  readonly message: string | null;
  readonly generated_at: string | null;
  readonly verdict: Comparison['verdict'] | null;
  readonly word: string | null;
  readonly mode: string | null;
  readonly baseline: ComparedSideRow | null;
  readonly candidate: ComparedSideRow | null;
  readonly summary: Pick<
    Comparison['summary'],
    'cases' | 'regressed' | 'improved' | 'flaky' | 'missing' | 'same'
  > | null;
}

interface ComparedSideRow {
  readonly source: 'runs' | 'accepted';
  readonly run_ids: readonly string[];
}

export function comparisonRow(folder: string, cwd: string): ComparisonRow {
  const comparison_id = path.basename(folder);
  const found = readComparison(folder, checkerIfUsable(cwd));
  if ('why' in found) return { ...UNKNOWN, comparison_id, message: `It ${found.why}.` };
  const { cases, regressed, improved, flaky, missing, same } = found.summary;
  const { baseline, new: candidate } = found.sides;
  const sideOf = ({ source, run_ids }: typeof baseline): ComparedSideRow => ({
    source,
    run_ids: run_ids.slice(0, RUN_IDS_MAX),
  });
  return {
    comparison_id,
    state: 'sealed',
    message: null,
    generated_at: found.generated_at,
    verdict: found.verdict,
    word: verdictWord(found),
    mode: found.gate.mode,
    baseline: sideOf(baseline),
    candidate: sideOf(candidate),
    summary: { cases, regressed, improved, flaky, missing, same },
  };
}

const RUN_IDS_MAX = 100;
const UNKNOWN = {
  state: 'untrusted',
  generated_at: null,
  verdict: null,
  word: null,
  mode: null,
  baseline: null,
  candidate: null,
  summary: null,
} as const;

/** What a run can be compared with. */
export interface BaselineChoices {
  /** Other runs of the same suite, newest first. Repetitions are one choice. */
  readonly runs: readonly {
    readonly run_id: string;
    readonly side: 'baseline' | 'new';
    readonly trials: number;
    readonly generated_at: string;
    readonly target: string;
  }[];
  readonly accepted: readonly {
    /** The file, as the project names it. */
    readonly name: string;
    readonly trials: number;
    readonly run_ids: readonly string[];
  }[];
}

export function baselineChoices(folder: string, cwd: string): BaselineChoices {
  const { groups } = findSuiteRuns(homeFrom(cwd), RUNS_MAX);
  const own = groups.find(({ planned, rounds }) => [...planned, ...rounds].some(one => one.folder === folder));
  const others = own ? groups.filter(one => one !== own && one.suite === own.suite) : [];
  const runs = others.slice(0, CHOICES_MAX).flatMap(({ id, side, planned, rounds }) => {
    const [first] = planned;
    if (!first) return [];
    const { generated_at, base_url: target } = first.run;
    return [{ run_id: id, side, trials: planned.length + rounds.length, generated_at, target }];
  });
  const seal = fileHash(path.join(folder, SEAL));
  const accepted = acceptedFiles(cwd).flatMap(file => {
    const side = trustedIn(file, cwd);
    // A run that was accepted cannot be compared with itself.
    if (!side || side.trials.some(({ sealSha256 }) => sealSha256 === seal)) return [];
    return [{ name: nameOf(file, cwd), trials: side.trials.length, run_ids: side.trials.map(({ runId }) => runId) }];
  });
  return { runs, accepted };
}

const RUNS_MAX = 1_000;
const CHOICES_MAX = 100;

function trustedIn(file: string, cwd: string) {
  try {
    return acceptedIn(file, checkerIfUsable(cwd));
  } catch (error) {
    if (error instanceof Fault) return undefined;
    throw error;
  }
}

const nameOf = (file: string, cwd: string): string => path.relative(projectIn(cwd)?.dir ?? cwd, file);

/** Which sides to compare. The folders were found by the server; a name is one of the baseline choices. */
export interface ComparisonOrder {
  readonly baseline: { readonly folder: string } | { readonly accepted: string };
  readonly candidate: string;
  readonly mode?: 'balanced' | 'proven' | 'strict' | undefined;
}

/** Makes a sealed comparison, as `proctor compare` does. */
export async function makeComparison(
  { baseline, candidate, mode }: ComparisonOrder,
  cwd: string,
): Promise<ComparisonRow> {
  const file = 'accepted' in baseline ? acceptedFile(baseline.accepted, cwd) : baseline.folder;
  const { folder } = await compareRuns({ baseline: file, candidate, cwd, ...(mode && { mode }) });
  return comparisonRow(folder, cwd);
}

/** A name from outside is compared with the files that exist; it never becomes a path. */
function acceptedFile(name: string, cwd: string): string {
  const file = acceptedFiles(cwd).find(one => nameOf(one, cwd) === name);
  if (file === undefined || !existsSync(file))
    throw new Fault('no_baseline', 'There is no accepted baseline with this name in the project.');
  return file;
}
