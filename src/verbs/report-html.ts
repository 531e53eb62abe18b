import { isUtf8 } from 'node:buffer';
import { unsafePath } from '../base/path.ts';
import type { CaseArtifact, RunArtifact } from '../contracts/artifacts/index.ts';
import type { Comparison } from '../contracts/comparison/index.ts';
import type { Evaluation } from '../contracts/evaluation/index.ts';
import type { SuiteCase, SuiteRequest } from '../contracts/suite/index.ts';
import { NO_SEAL, notAsSealed, SealedFolder } from '../evidence/run-folder/sealed-folder.ts';
import { caseInputs, CASES, casesById, readCaseArtifact, readRun, suiteCases } from '../evidence/suite/suite-folder.ts';
import type { KeptDocuments } from '../judge/compare-input.ts';
import { firstTrial } from '../judge/compare/pairing.ts';
import { htmlReport, htmlRunReport } from '../reports/html.ts';
import { commandsFor } from './report-commands.ts';

export interface ComparisonSubject {
  readonly comparison: Comparison;
  /** The run folder of each trial, in order; undefined if the run is not available. */
  readonly folders: { readonly baseline: Folders; readonly new: Folders };
  /** The documents in the pack of an accepted baseline, one entry per trial. */
  readonly kept?: readonly (KeptDocuments | undefined)[];
  /** The folder in which the commands of the report work. */
  readonly cwd?: string;
}

export interface RunSubject {
  readonly run: RunArtifact;
  readonly evaluation: Evaluation;
  readonly repetition: SuiteRequest['repetition'];
  readonly folder: string;
  readonly cwd?: string;
}

export type Folders = readonly (string | undefined)[];

type SideName = 'baseline' | 'new';

/** The HTML report of a comparison or a run, in pieces. */
export function htmlOf(subject: ComparisonSubject | RunSubject): Iterable<string> {
  if ('comparison' in subject) return htmlOfComparison(subject);
  const { run, evaluation, repetition, folder, cwd } = subject;
  const sealed = sealedRun(folder);
  const caseOf = casesById(folder);
  return htmlRunReport({
    run,
    evaluation,
    repetition,
    cases: () => suiteCases(folder),
    inputs: () => caseInputs(folder),
    pairs: id => ({ [run.version]: artifactIn(sealed, folder, id), case: caseOf(id) }),
    assetText: (_side, href) => assetIn(sealed, href),
    commands: cwd === undefined ? undefined : commandsFor(cwd, folder, []),
  });
}

function htmlOfComparison(subject: ComparisonSubject): Iterable<string> {
  const { comparison, folders, cwd } = subject;
  const asked = [...folders.new, ...folders.baseline].find(folder => folder !== undefined);
  const trials = new TrialReader(subject);
  const caseOf = asked === undefined ? () => undefined : casesById(asked);
  const compared = new Map(comparison.cases.map(one => [one.case_id, one]));
  const baselineCase = baselineCases(subject);
  const urlOf = (side: SideName) => {
    const folder = folders[side].find(one => one !== undefined);
    return folder === undefined ? undefined : readRun(folder)?.base_url;
  };
  const away = (['baseline', 'new'] as const).flatMap(side =>
    comparison.sides[side].run_ids.filter((_, index) => folders[side][index] === undefined),
  );
  const newest = folders.new.find(folder => folder !== undefined);
  return htmlReport({
    comparison,
    targets: { baseline: urlOf('baseline'), new: urlOf('new') },
    inputs: asked === undefined ? undefined : () => caseInputs(asked),
    pairs: id => {
      const [before, now] = (['baseline', 'new'] as const).map(side => trials.shown(id, side));
      return {
        baseline: before?.artifact,
        new: now?.artifact,
        case: caseOf(id),
        was: compared.get(id)?.changed ? baselineCase(id) : undefined,
        runIds: { baseline: before?.runId, new: now?.runId },
      };
    },
    assetText: (side, href) => assetIn(trials.sealedIn(trials.from[side]), href),
    trial: (id, side, number) => trials.read(id, side, number - 1).artifact,
    commands: cwd === undefined || newest === undefined ? undefined : commandsFor(cwd, newest, away),
  });
}

/** Reads artifacts of trials from their run folders, or from the pack of an accepted baseline. */
class TrialReader {
  /** The folders of the artifacts read last. The report requests assets before it reads the next artifact. */
  readonly from: { baseline?: string | undefined; new?: string | undefined } = {};
  readonly #subject: ComparisonSubject;
  readonly #cases: ReadonlyMap<string, Comparison['cases'][number]>;
  readonly #sealed: ReadonlyMap<string, SealedFolder>;

  constructor(subject: ComparisonSubject) {
    this.#subject = subject;
    this.#cases = new Map(subject.comparison.cases.map(one => [one.case_id, one]));
    const { baseline, new: candidate } = subject.folders;
    const folders = [...baseline, ...candidate].filter(folder => folder !== undefined);
    this.#sealed = new Map(folders.map(folder => [folder, sealedRun(folder)]));
  }

  sealedIn(folder: string | undefined): SealedFolder | undefined {
    return folder === undefined ? undefined : this.#sealed.get(folder);
  }

  /** The trial that the cause cites: one that passed in the baseline, and one that fails in the candidate. */
  shown(id: string, side: SideName) {
    const trials = this.#cases.get(id)?.[side].trials ?? [];
    return this.read(id, side, firstTrial(trials, side === 'baseline' ? 'passed' : 'failed') ?? 0);
  }

  read(id: string, side: SideName, at: number): { readonly artifact?: CaseArtifact; readonly runId?: string } {
    const { comparison, folders, kept } = this.#subject;
    const runIds = comparison.sides[side].run_ids;
    const runId = this.#cases.get(id)?.[side].trials[at]?.run_id;
    // A rerun that skips the case has no trial of it, so trials and runs may have different positions.
    const index = runId === undefined || runIds[at] === runId ? at : runIds.indexOf(runId);
    const folder = folders[side][index];
    this.from[side] = folder;
    const packed = side === 'baseline' ? kept?.[index]?.artifactOf(id) : undefined;
    const sealed = this.sealedIn(folder);
    const artifact = folder === undefined || !sealed ? packed : artifactIn(sealed, folder, id);
    const run = runIds[index];
    return { ...(artifact && { artifact }), ...(run !== undefined && { runId: run }) };
  }
}

/** The cases as the baseline ran them. */
function baselineCases({ folders, kept = [] }: ComparisonSubject): (id: string) => SuiteCase | undefined {
  const folder = folders.baseline.find(one => one !== undefined);
  const inFolder = folder === undefined ? undefined : casesById(folder);
  return id => inFolder?.(id) ?? kept.find(one => one !== undefined)?.caseOf(id);
}

/** The files of a run as its seal lists them. Throws if one was changed, because a page must not vouch for it. */
export function sealedRun(folder: string): SealedFolder {
  const sealed = SealedFolder.open(folder);
  if (!sealed) throw notAsSealed(folder, NO_SEAL);
  sealed.demand(['run.json', 'evidence/request.json', CASES]);
  return sealed;
}

function artifactIn(sealed: SealedFolder, folder: string, id: string): CaseArtifact | undefined {
  return readCaseArtifact(folder, id, (name, bytesMax) => sealed.read(name, bytesMax));
}

/** The text of a small asset that an artifact names. */
function assetIn(sealed: SealedFolder | undefined, href: string): string | undefined {
  if (unsafePath(href) !== undefined || !href.startsWith('assets/')) return undefined;
  const bytes = sealed?.read(href, ASSET_BYTES_MAX);
  return bytes && isUtf8(bytes) ? bytes.toString() : undefined;
}

const ASSET_BYTES_MAX = 64 * 1024;
