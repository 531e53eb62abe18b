import type { PageCase, PageTrialDocument } from '../../src/reports/page-data.ts';
import type { ReportSide } from '../../src/reports/report-input.ts';

export const SIDES = ['baseline', 'new'] as const;

/** The trial of each side that is open, counted from 1; 0 if the side has none. */
export type Choice = { readonly [Which in ReportSide]: number };

/** The trials that the case shows first: those that its cause cites. */
export function firstChoice({ trials, shown }: Pick<PageCase, 'trials' | 'shown'>): Choice {
  const of = (side: ReportSide): number => {
    const at = trials[side].findIndex(({ run_id }) => run_id === shown[side]);
    return at >= 0 ? at + 1 : Math.min(1, trials[side].length);
  };
  return { baseline: of('baseline'), new: of('new') };
}

/** The trials in the address, such as `baseline:2,new:3`. Ignores trials that do not exist. */
export function choiceIn(address: string, data: Pick<PageCase, 'trials' | 'shown'>): Choice {
  const asked = Object.fromEntries(address.split(',').map(one => one.split(':', 2)));
  const first = firstChoice(data);
  const of = (side: ReportSide): number => {
    const number = Number(asked[side]);
    return Number.isInteger(number) && number >= 1 && number <= data.trials[side].length ? number : first[side];
  };
  return { baseline: of('baseline'), new: of('new') };
}

/** The address of a choice; empty for the trials that the case shows first. */
export function choiceText(choice: Choice, first: Choice): string {
  return SIDES.filter(side => choice[side] !== first[side])
    .map(side => `${side}:${choice[side]}`)
    .join(',');
}

/** The case with the documents of the chosen trials. `lacking` names the trials that the page does not have. */
export interface ChosenCase {
  readonly data: PageCase;
  readonly lacking: readonly ReportSide[];
}

export function chosenCase(
  data: PageCase,
  choice: Choice,
  documentOf: (side: ReportSide, number: number) => PageTrialDocument | undefined,
): ChosenCase {
  const first = firstChoice(data);
  const others = SIDES.filter(side => choice[side] !== first[side]);
  if (others.length === 0) return { data, lacking: [] };
  const found = others.map(side => [side, documentOf(side, choice[side])] as const);
  const over = Object.fromEntries(found.map(([side, document]) => [side, document?.artifact ?? null]));
  const assets = Object.fromEntries(found.map(([side, document]) => [side, document?.assets ?? {}]));
  const runs = Object.fromEntries(found.map(([side]) => [side, data.trials[side][choice[side] - 1]?.run_id]));
  return {
    data: {
      ...data,
      ...over,
      // The cause cites the trials that the case shows first, and the writer aligned those.
      divergence: null,
      steps: null,
      shown: { ...data.shown, ...runs },
      assets: { ...data.assets, ...assets },
      cuts: [...data.cuts, ...found.flatMap(([, document]) => document?.cuts ?? [])],
    },
    lacking: found.flatMap(([side, document]) => (document?.artifact ? [] : [side])),
  };
}

/** A trial that equals the one that its case shows first refers to it. */
export function wholeTrial(
  found: PageTrialDocument,
  first: PageCase | null | undefined,
  side: ReportSide,
): PageTrialDocument | undefined {
  if (!found.same) return found;
  const artifact = first?.[side];
  if (!first || !artifact) return undefined;
  return { ...found, artifact: { ...artifact, attempts: found.attempts ?? [] }, assets: first.assets[side] };
}
