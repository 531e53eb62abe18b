import { contentHash } from '../base/hash.ts';
import { printable } from '../base/printable.ts';
import type { SuiteTarget } from '../contracts/suite/index.ts';
import type { Side } from '../judge/compare-input.ts';
import { requestOf } from './again-targets.ts';

/** Says that the baseline stays as it is, before the first round without it, and how to run it too. */
export function aloneNotice(baseline: Side, roundsMax: number): string {
  const flag = baseline.source === 'runs' ? flagsFor(baseline).baseline : undefined;
  const advice = flag === undefined ? 'The baseline cannot be run again.' : `To run the baseline too, add ${flag}.`;
  return `Only the candidate runs again, in at most ${roundsMax} rounds (--again-trials). ${advice}`;
}

/** The flags that --again needs to run the recorded targets. */
export function flagsToAskAgain(baseline: Side, candidate: Side): string {
  const ofBaseline = baseline.source === 'runs' ? flagsFor(baseline).baseline : undefined;
  const flags = [flagsFor(candidate).candidate, ofBaseline];
  return flags.flatMap(flag => (flag === undefined ? [] : [` ${flag}`])).join('');
}

interface AgainFlags {
  readonly candidate?: string;
  readonly baseline?: string;
}

function flagsFor(side: Side): AgainFlags {
  const { target } = requestOf(side) ?? {};
  return target ? FLAGS[target.kind] : {};
}

const FLAGS: Readonly<Record<SuiteTarget['kind'], AgainFlags>> = {
  http: { baseline: '--baseline-url URL' },
  declared: { candidate: '--target FILE', baseline: '--baseline-target FILE' },
  script: { candidate: '--script FILE', baseline: '--baseline-script FILE' },
  agent: {},
};

/** The keys in which a target differs from the recorded one. */
export function targetChanges(was: SuiteTarget, is: SuiteTarget): string {
  const [before, now] = [flatTarget(was), flatTarget(is)];
  const keys = [...new Set([...Object.keys(before), ...Object.keys(now)])];
  const changed = keys.filter(key => hashAt(before, key) !== hashAt(now, key));
  return changed
    .map(key => printable(key === 'name' ? `name (${String(before[key])}, now ${String(now[key])})` : key))
    .join(', ');
}

function flatTarget(target: SuiteTarget): Readonly<Record<string, unknown>> {
  if (target.kind !== 'declared') return target;
  const { declaration, ...rest } = target;
  return { ...rest, ...declaration, name: rest.name };
}

function hashAt(target: Readonly<Record<string, unknown>>, key: string): string {
  return contentHash({ value: target[key] ?? null });
}
