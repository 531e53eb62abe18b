import type { CaseFinding, GateFindings, GateCause } from './verdict.ts';

/** Explains the verdict, and what would settle an open one. The verifier recomputes this text (CM11), so never reword it. */
export function reasonFor(because: GateCause, found: GateFindings): string {
  return REASONS[because](found);
}

const REASONS: Readonly<Record<GateCause, (found: GateFindings) => string>> = {
  no_pairs: () => 'No case has trials on both sides.',
  broken: ({ broken, cases, rules }) =>
    rules.mode === 'strict'
      ? `${someOf(broken, cases)} always passed before and never ${broken.length === 1 ? 'passes' : 'pass'} now: ${listed(broken)}.`
      : `${someOf(broken, cases)} broke, beyond chance: ${listed(broken)}.`,
  worse: ({ suite }) =>
    `The suite passes ${points(suite?.drop)} less often than before. If nothing had changed, fewer than ${ofHundred(suite?.p ?? 0)} of 100 comparisons would show this.`,
  missing: ({ missing, missingOnBoth, total, rules }) => {
    const where = (ids: readonly string[]): string => sidesOf(ids.filter(id => missingOnBoth.has(id)).length, ids);
    const critical = missing.filter(id => rules.critical.has(id));
    if (critical.length > 0)
      return `${critical.length === 1 ? 'A critical case is' : `${critical.length} critical cases are`} missing on ${where(critical)}: ${named(critical)}.`;
    return `${missing.length} of ${counted(total, 'case')} ${missing.length === 1 ? 'is' : 'are'} missing on ${where(missing)}, and at most ${percent(rules.missingMaxRatio)} may be: ${named(missing)}.`;
  },
  suspect: ({ suspects, cases, rules }) => {
    const rounds = Math.ceil(Math.log(cases / (rules.alpha / 2)) / Math.log(4));
    const many = suspects.length === 1;
    return `${someOf(suspects, cases)} ${many ? 'looks' : 'look'} broken, and could still be chance: ${listed(suspects)}. Ask ${many ? 'it' : 'them'} again on both sides, up to ${counted(rounds, 'time')}.`;
  },
  identical: () => 'Both sides gave the same answers in every case.',
  safe: ({ suite, rules }) =>
    `With ${percent(rules.confidence)} confidence these cases pass at most ${points(suite?.high)} less often than before, and ${points(rules.margin)} are allowed. No case looks broken.`,
  not_worse: ({ suite, cases, rules }) =>
    rules.mode === 'strict'
      ? `None of ${counted(cases, 'case')} that always passed before always fails now.`
      : `Nothing got worse. A drop of up to ${points(suite?.high)} cannot be ruled out with these trials.`,
  unsettled: ({ suite, rules }) => {
    const more = suite?.moreTrials ?? null;
    const settle =
      more === null
        ? 'More trials of these cases would not settle it.'
        : `About ${counted(more, 'more trial')} of every case on both sides would settle it in four of five times.`;
    return `Nothing is shown to be worse, but a drop of up to ${points(suite?.high)} cannot be ruled out, and ${points(rules.margin)} are allowed. ${settle}`;
  },
};

function sidesOf(onBoth: number, missing: readonly string[]): string {
  if (onBoth === 0) return 'one side';
  return onBoth === missing.length ? 'both sides' : 'one side or both';
}

function someOf(found: readonly CaseFinding[], cases: number): string {
  return `${found.length} of ${counted(cases, 'case')}`;
}

function listed(found: readonly CaseFinding[]): string {
  return firstOf(found.map(one => `“${one.case}” (${share(one.baseline)} → ${share(one.candidate)})`));
}

/** Quoted names, at most `LISTED_MAX`. */
export function named(names: readonly string[]): string {
  return firstOf(names.map(name => `“${name}”`));
}

export function firstOf(names: readonly string[]): string {
  const more = names.length - LISTED_MAX;
  return [...names.slice(0, LISTED_MAX), ...(more > 0 ? [`${more} more`] : [])].join(', ');
}

const LISTED_MAX = 5;

function share({ passes, trials }: CaseFinding['baseline']): string {
  return `${passes}/${trials}`;
}

export function points(share = 0): string {
  const value = figure(100 * share);
  return `${value} ${value === '1' ? 'point' : 'points'}`;
}

export function percent(share: number): string {
  return `${figure(100 * share)} %`;
}

function figure(value: number): string {
  return String(Number(value.toFixed(1)));
}

/** Rounds up, so that "fewer than" stays true. */
function ofHundred(p: number): string {
  return String(Math.max(0.1, Math.ceil(1_000 * p + 1e-9) / 10));
}

function counted(count: number, thing: string): string {
  return `${count} ${thing}${count === 1 ? '' : 's'}`;
}
