import { isUtf8 } from 'node:buffer';
import { unsafePath } from '../base/path.ts';
import type { CaseArtifact, RunArtifact } from '../contracts/artifacts/index.ts';
import type { Comparison } from '../contracts/comparison/index.ts';
import type { Evaluation } from '../contracts/evaluation/index.ts';
import type { SuiteCase, SuiteRequest } from '../contracts/suite/index.ts';
import { caseInputs, CASES, casesById, readRun, suiteCases } from '../evidence/suite/suite-folder.ts';
import type { KeptDocuments } from '../judge/compare-input.ts';
import { firstTrial } from '../judge/compare/pairing.ts';
import { comparisonPage } from '../reports/comparison-page.ts';
import { htmlReport, htmlRunReport } from '../reports/html.ts';
import type { Page } from '../reports/page.ts';
import type { ReportInput, RunReportInput } from '../reports/report-input.ts';
import { SIDE_NAMES } from '../reports/report.ts';
import { runPage } from '../reports/run-page.ts';
import { commandsFor } from './report-commands.ts';
import { type Damage, ShownRun } from './shown-run.ts';

export interface ComparisonSubject {
  readonly comparison: Comparison;
  /** The run folder of each trial, in order; undefined if the run is not available. */
  readonly folders: { readonly baseline: Folders; readonly new: Folders };
  /** Reads the documents in the pack of an accepted baseline, one entry per trial. Only the HTML report needs them. */
  readonly kept?: () => Kept | undefined;
  /** The run folders that do not match their seals. */
  readonly damage?: readonly Damage[];
  /** The folder in which the commands of the report work. */
  readonly cwd?: string;
}

export interface RunSubject {
  readonly run: RunArtifact;
  readonly evaluation: Evaluation;
  readonly repetition: SuiteRequest['repetition'];
  readonly parts?: string | undefined;
  readonly folder: string;
  readonly damage?: readonly Damage[];
  readonly cwd?: string;
}

type Kept = readonly (KeptDocuments | undefined)[];

export type Folders = readonly (string | undefined)[];

type SideName = 'baseline' | 'new';

/** The HTML report of a comparison or a run, in pieces. */
export function htmlOf(subject: ComparisonSubject | RunSubject): Iterable<string> {
  return 'comparison' in subject ? htmlReport(comparisonInput(subject)) : htmlRunReport(runInput(subject));
}

/** The contents of a report on a comparison or a run, read lazily. */
export function pageOf(subject: ComparisonSubject | RunSubject): Page {
  return 'comparison' in subject ? comparisonPage(comparisonInput(subject)) : runPage(runInput(subject));
}

function runInput({ run, evaluation, repetition, parts, folder, cwd, damage }: RunSubject): RunReportInput {
  const shown = new ShownRun(folder, damage);
  const caseOf = casesById(folder);
  return {
    run,
    evaluation,
    repetition,
    parts,
    cases: () => suiteCases(folder),
    inputs: () => caseInputs(folder),
    further: id => (shown.bytesRead > SEARCHED_BYTES_MAX ? undefined : { [run.version]: shown.provenArtifact(id) }),
    pairs: id => ({
      [run.version]: shown.artifactOf(id),
      case: caseOf(id),
      unproven: unprovenIn(id, { [run.version]: shown }, shown),
    }),
    assetText: (_side, href) => assetIn(shown, href),
    damage,
    commands: cwd === undefined ? undefined : commandsFor(cwd, folder, []),
  };
}

function comparisonInput(subject: ComparisonSubject): ReportInput {
  const { comparison, folders, cwd, damage } = subject;
  const asked = [...folders.new, ...folders.baseline].find(folder => folder !== undefined);
  const kept = subject.kept?.() ?? [];
  const trials = new TrialReader(subject, kept);
  const caseOf = asked === undefined ? () => undefined : casesById(asked);
  const compared = new Map(comparison.cases.map(one => [one.case_id, one]));
  const baselineCase = baselineCases(folders.baseline, kept);
  const urlOf = (side: SideName) => {
    const folder = folders[side].find(one => one !== undefined);
    return folder === undefined ? undefined : readRun(folder)?.base_url;
  };
  const away = (['baseline', 'new'] as const).flatMap(side =>
    comparison.sides[side].run_ids.filter((_, index) => folders[side][index] === undefined),
  );
  const newest = folders.new.find(folder => folder !== undefined);
  return {
    comparison,
    targets: { baseline: urlOf('baseline'), new: urlOf('new') },
    inputs: asked === undefined ? undefined : () => caseInputs(asked),
    further: id => (trials.bytesRead > SEARCHED_BYTES_MAX ? undefined : trials.provenPair(id)),
    pairs: id => {
      const [before, now] = (['baseline', 'new'] as const).map(side => trials.shown(id, side));
      return {
        baseline: before?.artifact,
        new: now?.artifact,
        case: caseOf(id),
        was: compared.get(id)?.changed ? baselineCase(id) : undefined,
        runIds: { baseline: before?.runId, new: now?.runId },
        unproven: unprovenIn(
          id,
          { baseline: trials.runIn(trials.from.baseline), new: trials.runIn(trials.from.new) },
          trials.runIn(asked),
        ),
      };
    },
    assetText: (side, href) => assetIn(trials.runIn(trials.from[side]), href),
    damage,
    trial: (id, side, number) => trials.proven(id, side, number - 1),
    commands: cwd === undefined || newest === undefined ? undefined : commandsFor(cwd, newest, away),
  };
}

/** Reads artifacts of trials from their run folders, or from the pack of an accepted baseline. */
class TrialReader {
  /** The folders of the artifacts read last. The report requests assets before it reads the next artifact. */
  readonly from: { baseline?: string | undefined; new?: string | undefined } = {};
  readonly #subject: ComparisonSubject;
  readonly #kept: Kept;
  readonly #cases: ReadonlyMap<string, Comparison['cases'][number]>;
  readonly #runs: ReadonlyMap<string, ShownRun>;

  constructor(subject: ComparisonSubject, kept: Kept) {
    this.#subject = subject;
    this.#kept = kept;
    this.#cases = new Map(subject.comparison.cases.map(one => [one.case_id, one]));
    const { baseline, new: candidate } = subject.folders;
    const folders = [...baseline, ...candidate].filter(folder => folder !== undefined);
    this.#runs = new Map(folders.map(folder => [folder, new ShownRun(folder, subject.damage)]));
  }

  runIn(folder: string | undefined): ShownRun | undefined {
    return folder === undefined ? undefined : this.#runs.get(folder);
  }

  /** The trial that the cause cites: one that passed in the baseline, and one that fails in the candidate. */
  shown(id: string, side: SideName) {
    const trials = this.#cases.get(id)?.[side].trials ?? [];
    return this.read(id, side, firstTrial(trials, side === 'baseline' ? 'passed' : 'failed') ?? 0);
  }

  /** The answer of a trial; undefined if it was changed after its run was sealed. */
  proven(id: string, side: SideName, at: number): CaseArtifact | undefined {
    const { artifact } = this.read(id, side, at);
    return this.runIn(this.from[side])?.isChanged(`${id}.json`) ? undefined : artifact;
  }

  /** The first trial of each side. */
  provenPair(id: string): { readonly baseline?: CaseArtifact | undefined; readonly new?: CaseArtifact | undefined } {
    return { baseline: this.proven(id, 'baseline', 0), new: this.proven(id, 'new', 0) };
  }

  get bytesRead(): number {
    return [...this.#runs.values()].reduce((sum, run) => sum + run.bytesRead, 0);
  }

  read(id: string, side: SideName, at: number): { readonly artifact?: CaseArtifact; readonly runId?: string } {
    const { comparison, folders } = this.#subject;
    const runIds = comparison.sides[side].run_ids;
    const runId = this.#cases.get(id)?.[side].trials[at]?.run_id;
    // A rerun that skips the case has no trial of it, so trials and runs may have different positions.
    const index = runId === undefined || runIds[at] === runId ? at : runIds.indexOf(runId);
    const folder = folders[side][index];
    this.from[side] = folder;
    const packed = side === 'baseline' ? this.#kept[index]?.artifactOf(id) : undefined;
    const shown = this.runIn(folder);
    const artifact = shown ? shown.artifactOf(id) : packed;
    const run = runIds[index];
    return { ...(artifact && { artifact }), ...(run !== undefined && { runId: run }) };
  }
}

/** The cases as the baseline ran them. */
function baselineCases(folders: Folders, kept: Kept): (id: string) => SuiteCase | undefined {
  const folder = folders.find(one => one !== undefined);
  const inFolder = folder === undefined ? undefined : casesById(folder);
  return id => inFolder?.(id) ?? kept.find(one => one !== undefined)?.caseOf(id);
}

/** Sentences about the parts of a case that do not match the seal of their run. */
function unprovenIn(
  id: string,
  sides: { readonly [Which in SideName]?: ShownRun | undefined },
  asked: ShownRun | undefined,
): string[] {
  const answers = (['baseline', 'new'] as const).filter(side => sides[side]?.isChanged(`${id}.json`));
  return [
    ...answers.map(
      side => `The answer of ${SIDE_NAMES[side]} was changed after its run was sealed. It proves nothing.`,
    ),
    ...(asked?.isChanged(CASES) ? ['The cases were changed after the run was sealed. This input proves nothing.'] : []),
  ];
}

/** The text of a small asset that an artifact names. */
function assetIn(shown: ShownRun | undefined, href: string): string | undefined {
  if (unsafePath(href) !== undefined || !href.startsWith('assets/')) return undefined;
  const bytes = shown?.read(href, ASSET_BYTES_MAX);
  return bytes && isUtf8(bytes) ? bytes.toString() : undefined;
}

const ASSET_BYTES_MAX = 64 * 1024;
/** After a page has read this many bytes, it reads no more answers for the search. */
const SEARCHED_BYTES_MAX = 32 * 1024 ** 2;
