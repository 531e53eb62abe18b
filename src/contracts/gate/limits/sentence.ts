import { named } from '../decide/index.ts';
import type { CountedCase, LimitGroup } from './check.ts';
import type { LimitCheck, GateLimitName } from './shape.ts';

interface Found {
  readonly value: number;
  readonly allowed: number;
  /** For a count: the cases it includes. */
  readonly counted: readonly CountedCase[];
}

/** States the measured and the allowed value. The verifier recomputes this text (EV8, CM13), so never reword it. */
export function measuredText(group: LimitGroup, limit: GateLimitName, { value, allowed, counted }: Found): string {
  const text = WORDS[limit]({ value, allowed, cases: group.cases.length });
  const names = counted.length > 0 && value > allowed ? `: ${named(counted.map(({ case_id }) => case_id))}` : '';
  return `${prefix(group)}${text} (${limit})${names}.`;
}

/** States why a limit cannot be checked. The verifier recomputes this text, too. */
export function unknownText(group: LimitGroup, limit: GateLimitName, why: string): string {
  return `${prefix(group)}${limit} cannot be judged: ${why}.`;
}

/** The message of the first unmet limit and the number of others. Undefined if all are met. */
export function unmetText(checks: readonly LimitCheck[]): string | undefined {
  const [first, ...others] = checks.filter(({ is_met }) => !is_met);
  if (!first || others.length === 0) return first?.message;
  return `${first.message} ${others.length === 1 ? '1 more limit is' : `${others.length} more limits are`} not met.`;
}

interface Facts {
  readonly value: number;
  readonly allowed: number;
  readonly cases: number;
}

const WORDS: Readonly<Record<GateLimitName, (facts: Facts) => string>> = {
  min_pass_rate: ({ value, allowed }) => `${percent(value)} of the trials pass, and at least ${percent(allowed)} must`,
  max_failing: facts => `${shareOf(facts)} ${facts.value === 1 ? 'fails' : 'fail'}, and ${atMost(facts)} may`,
  max_flaky: facts => `${shareOf(facts)} ${facts.value === 1 ? 'is' : 'are'} flaky, and ${atMost(facts)} may be`,
  max_unjudged: facts =>
    `${shareOf(facts)} ${facts.value === 1 ? 'is' : 'are'} not judged, and ${atMost(facts)} may be`,
  max_missing: facts => `${shareOf(facts)} ${facts.value === 1 ? 'lacks' : 'lack'} an answer, and ${atMost(facts)} may`,
  max_cost_usd: ({ value, allowed }) =>
    `The cost is ${figure(value)} USD, and at most ${figure(allowed)} USD is allowed`,
  max_latency_ms: ({ value, allowed }) =>
    `p95 of the latency is ${figure(value)} ms, and at most ${figure(allowed)} ms is allowed`,
};

function prefix({ of, name }: LimitGroup): string {
  return name === null ? '' : `${of[0]?.toUpperCase()}${of.slice(1)} “${name}”: `;
}

function shareOf({ value, cases }: Facts): string {
  return `${value} of ${cases} ${cases === 1 ? 'case' : 'cases'}`;
}

function atMost({ allowed }: Facts): string {
  return allowed === 0 ? 'none' : `at most ${allowed}`;
}

/** Rounds down, so that a rate below its limit never looks equal to it. */
function percent(share: number): string {
  return `${Math.floor(1e4 * share + 1e-6) / 100} %`;
}

/** At most four significant digits. */
function figure(value: number): string {
  return String(Number(value.toPrecision(4)));
}
