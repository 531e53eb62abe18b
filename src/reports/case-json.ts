import { type CaseArtifact, hrefsIn } from '../contracts/artifacts/case-shape.ts';
import type { SuiteCase } from '../contracts/suite/index.ts';
import { CASE_EVENTS_MAX, firstAndLast, keptSteps } from './kept-steps.ts';
import { SIDE_NAMES } from './report.ts';
import type { PageCase, PageSteps } from './page-data.ts';
import type { ReportInput, ReportSide } from './report-input.ts';

/** A document up to this size is embedded unchanged, without traversing it. */
const SMALL_CHARS = 64_000;
const ASSETS_MAX = 8;
const ASSET_CHARS_MAX = 16_000;
/** Limits on texts and lists, tried in order until the document is small enough. */
const CUTS = [
  { textChars: 16_000, items: 1_000, charsMax: 192_000 },
  { textChars: 2_000, items: 200, charsMax: 192_000 },
  { textChars: 200, items: 50, charsMax: Number.POSITIVE_INFINITY },
] as const;
const DEPTH_MAX = 12;

type Judged = Pick<PageCase, 'trials' | 'assertions' | 'divergence' | 'changes'>;
type CaseTexts = Record<Exclude<keyof PageCase, 'was' | 'under_way'>, string> & { readonly was?: string };

/** The PageCase of one case as JSON. Long parts are truncated, and `cuts` says which. */
export function caseJson(
  { pairs, assetText }: Pick<ReportInput, 'pairs' | 'assetText'>,
  id: string,
  judged: Judged,
): string {
  const { baseline, new: candidate, case: asked, was, runIds = {}, unproven = [] } = pairs(id);
  const cuts: string[] = [...unproven];
  const assetsOf = (side: ReportSide, artifact: CaseArtifact | undefined) =>
    assetTexts(artifact, side, href => assetText?.(side, href), cuts);
  const kept = keptSteps(baseline, candidate, judged);
  const whole = cuts.length;
  const artifacts = {
    baseline: artifactJson(baseline, 'baseline', cuts, kept.ranges.baseline),
    new: artifactJson(candidate, 'new', cuts, kept.ranges.new),
  };
  // Truncated texts look equal if only their ends differ, so the page cannot align them.
  const steps: PageSteps | null = cuts.length > whole ? { of: runIds, rows: kept.steps() } : null;
  const texts: CaseTexts = {
    input: smallJson(asked?.input ?? null, 'The input is truncated.', cuts),
    expected: smallJson(asked?.expected ?? null, 'The expectations are truncated.', cuts),
    trials: JSON.stringify(judged.trials),
    assertions: JSON.stringify(judged.assertions),
    divergence: JSON.stringify(judged.divergence),
    changes: JSON.stringify(judged.changes),
    ...artifacts,
    shown: JSON.stringify(runIds),
    assets: JSON.stringify({ baseline: assetsOf('baseline', baseline), new: assetsOf('new', candidate) }),
    ...(judged.changes.length > 0 && { was: wasJson(was, cuts) }),
    cuts: JSON.stringify(cuts),
    steps: JSON.stringify(steps),
  };
  const members = Object.entries(texts).map(([key, text]) => `"${key}":${text}`);
  return `{${members.join(',')}}`;
}

/** The texts of the small files that an artifact names. */
export function assetTexts(
  artifact: CaseArtifact | undefined,
  side: ReportSide,
  textOf: (href: string) => string | undefined,
  cuts: string[],
): Record<string, string> {
  const texts: Record<string, string> = {};
  if (!artifact) return texts;
  const hrefs = hrefsIn(artifact).map(({ href }) => href);
  for (const href of new Set(hrefs.slice(0, ASSETS_MAX))) {
    const text = textOf(href);
    if (text !== undefined)
      texts[href] = clippedText(text, ASSET_CHARS_MAX, () =>
        cuts.push(`The file ${href} of ${SIDE_NAMES[side]} is truncated.`),
      );
  }
  return texts;
}

function wasJson(was: SuiteCase | undefined, cuts: string[]): string {
  if (!was) return 'null';
  const input = smallJson(was.input, 'The input in the baseline is truncated.', cuts);
  const expected = smallJson(was.expected ?? null, 'The expectations in the baseline are truncated.', cuts);
  return `{"input":${input},"expected":${expected}}`;
}

export function artifactJson(
  artifact: CaseArtifact | undefined,
  side: ReportSide,
  cuts: string[],
  kept = firstAndLast(artifact),
): string {
  if (!artifact) return 'null';
  const { events = [] } = artifact;
  const says = `Long texts in ${SIDE_NAMES[side]} are truncated.`;
  if (!kept) return smallJson(artifact, says, cuts);
  const shown = kept.flatMap(([from, to]) => events.slice(from, to));
  cuts.push(`This page shows ${shown.length} of ${events.length} events of ${SIDE_NAMES[side]}.`);
  return smallJson({ ...artifact, events: shown, events_kept: kept }, says, cuts);
}

/** Returns a small value unchanged, and a truncated copy of a large one. */
function smallJson(value: unknown, says: string, cuts: string[]): string {
  const whole = JSON.stringify(value);
  if (whole.length <= SMALL_CHARS) return whole;
  cuts.push(says);
  for (const limits of CUTS) {
    const shorter = JSON.stringify(cutValue(value, limits, 0));
    if (shorter.length <= limits.charsMax) return shorter;
  }
  return 'null';
}

function cutValue(value: unknown, limits: { textChars: number; items: number }, depth: number): unknown {
  if (typeof value === 'string') return clippedText(value, limits.textChars);
  if (typeof value !== 'object' || value === null) return value;
  if (depth > DEPTH_MAX) return '[nested too deeply to show]';
  // The page counts the elements of top-level lists and cites them by index.
  const itemsMax = depth < 2 ? CASE_EVENTS_MAX : limits.items;
  if (Array.isArray(value)) return value.slice(0, itemsMax).map(item => cutValue(item, limits, depth + 1));
  return Object.fromEntries(
    Object.entries(value)
      .slice(0, itemsMax)
      .map(([key, item]) => [clippedText(key, limits.textChars), cutValue(item, limits, depth + 1)]),
  );
}

function clippedText(text: string, charsMax: number, onCut?: () => void): string {
  if (text.length <= charsMax) return text;
  onCut?.();
  return `${text.slice(0, charsMax).toWellFormed()} … [truncated: ${text.length - charsMax} more characters]`;
}
