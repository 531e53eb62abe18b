import { bytesHash } from '../base/hash.ts';
import type { CaseArtifact } from '../contracts/artifacts/index.ts';
import { artifactJson, assetTexts } from './case-json.ts';
import { embeddedJson } from './embed.ts';
import type { Coverage, PageTrial } from './page-data.ts';
import type { ReportInput, ReportSide } from './report-input.ts';

/** A case that needs attention, with the trials of each side and the run that it shows first. */
export interface TrialsOfCase {
  readonly id: string;
  readonly trials: { readonly [Which in ReportSide]: readonly PageTrial[] };
  readonly shown: { readonly [Which in ReportSide]?: string | undefined };
}

/** Trials per side and case to embed. */
const TRIALS_MAX = 20;
/** Embedded bytes per case. */
const CASE_BYTES_MAX = 400_000;
/** Documents to read for one page. */
const READS_MAX = 5_000;
/** A page with many cases must open quickly, so it leaves less room. */
const ROWS_MANY = 1_000;
const PAGE_BYTES_MANY = 4_000_000;
const PAGE_BYTES_FEW = 12_000_000;

/** The page size up to which further trials are embedded. */
export const trialsEnd = (rows: number): number => (rows > ROWS_MANY ? PAGE_BYTES_MANY : PAGE_BYTES_FEW);

/** The script elements of further trials, most urgent cases first. Leaves out those that do not fit. */
export function* embeddedTrials(
  input: Pick<ReportInput, 'trial' | 'assetText'>,
  cases: readonly TrialsOfCase[],
  fits: (piece: string) => boolean,
): Generator<string, Coverage['trials']> {
  const wanted = cases.reduce((sum, one) => sum + wantedOf(one), 0);
  if (wanted === 0 || !input.trial) return undefined;
  let held = 0;
  const reads = { left: READS_MAX };
  for (const [index, one] of cases.entries()) {
    let room = CASE_BYTES_MAX;
    for (const [name, json] of trialsOfCase(input, one, reads)) {
      const piece = embeddedJson(`case-${index}-${name}`, json);
      room -= piece.length;
      if (room < 0 || !fits(piece)) continue;
      yield piece;
      held++;
    }
  }
  return { held, wanted };
}

/** The trials of one case besides the one that it shows first, as JSON, up to a size. */
export function* furtherTrials(
  input: Pick<ReportInput, 'trial' | 'assetText'>,
  one: TrialsOfCase,
): Generator<readonly [name: string, json: string]> {
  let room = CASE_BYTES_MAX;
  for (const [name, json] of trialsOfCase(input, one, { left: READS_MAX })) {
    room -= json.length;
    if (room >= 0) yield [name, json];
  }
}

function* trialsOfCase(
  { trial, assetText }: Pick<ReportInput, 'trial' | 'assetText'>,
  one: TrialsOfCase,
  reads: { left: number },
): Generator<readonly [name: string, json: string]> {
  for (const side of ['new', 'baseline'] as const) {
    if (!trial || one.trials[side].length < 2) continue;
    let shownBody: string | undefined;
    for (const number of numbersOf(one, side)) {
      if (reads.left-- <= 0) return;
      const artifact = trial(one.id, side, number);
      if (!artifact) continue;
      const { attempts, ...body } = artifact;
      const hash = bytesHash(JSON.stringify(body));
      if (number === shownNumber(one, side)) {
        shownBody = hash;
        continue;
      }
      const json =
        hash === shownBody
          ? JSON.stringify({ artifact: null, same: true, attempts: attempts ?? null, assets: {}, cuts: [] })
          : documentJson(artifact, side, href => assetText?.(side, href));
      yield [`${side}-${number}`, json];
    }
  }
}

/** The trial that the case shows first. Equal ones refer to it, so it comes first. */
const shownNumber = ({ trials, shown }: TrialsOfCase, side: ReportSide): number =>
  Math.max(1, trials[side].findIndex(({ run_id }) => run_id === shown[side]) + 1);

function numbersOf(one: TrialsOfCase, side: ReportSide): number[] {
  const first = shownNumber(one, side);
  const others = one.trials[side].map((_, at) => at + 1).filter(number => number !== first);
  return [first, ...others.slice(0, TRIALS_MAX)];
}

const wantedOf = ({ trials }: TrialsOfCase): number =>
  Math.max(0, trials.baseline.length - 1) + Math.max(0, trials.new.length - 1);

function documentJson(artifact: CaseArtifact, side: ReportSide, textOf: (href: string) => string | undefined): string {
  const cuts: string[] = [];
  const texts: Record<'artifact' | 'attempts' | 'assets' | 'cuts', string> = {
    artifact: artifactJson(artifact, side, cuts),
    attempts: 'null',
    assets: JSON.stringify(assetTexts(artifact, side, textOf, cuts)),
    cuts: JSON.stringify(cuts),
  };
  const members = Object.entries(texts).map(([key, text]) => `"${key}":${text}`);
  return `{${members.join(',')}}`;
}
