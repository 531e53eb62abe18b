import type { CaseArtifact, Event } from '../../src/contracts/artifacts/index.ts';
import type { Divergence } from '../../src/contracts/comparison/index.ts';
import { firstDifference } from '../../src/judge/causes/divergence.ts';
import type { ReportInput, RunReportInput } from '../../src/reports/report-input.ts';
import { reportWorld, runWorld } from './report-world.ts';

/** The case that the worlds below contain. */
export const EVENT_CASE = 'refunds-00001';

/** A call with its result, or another event without `ts`. */
export type Act = Asked | { readonly type: string; readonly [key: string]: unknown };

interface Asked {
  readonly tool: string;
  readonly args: Record<string, unknown>;
  readonly result?: string | Record<string, unknown>;
  readonly status?: 'ok' | 'error';
  readonly tookMs?: number;
}

/** The events of acts that follow one another, with a clock in milliseconds. */
export function eventsOfActs(acts: readonly Act[], startMs = 1_767_700_800_000): Event[] {
  let ts = startMs;
  return acts.flatMap((act, index): Event[] => {
    if ('type' in act) return [{ ...act, ts: (ts += 20) }];
    const { tool, args, result = { state: 'done' }, status = 'ok', tookMs = 40 + ((index * 37) % 90) } = act;
    const call_id = `call_${index}`;
    const call = { type: 'tool_call', ts: (ts += 15), call_id, tool, args } as const;
    const answer = { type: 'tool_result', ts: (ts += tookMs), call_id, status } as const;
    return [call, { ...answer, latency_ms: tookMs, payload_summary: result }];
  });
}

/** Equal calls to a few tools. */
export const lookups = (total: number): Act[] =>
  Array.from({ length: total }, (_, index) => ({
    tool: ['orders.get', 'kb.search', 'customers.get'][index % 3] as string,
    args: { id: `o-${index}`, include: ['items', 'payments'] },
    result: { id: `o-${index}`, state: 'delivered', total_cents: 1_999 + index },
  }));

/** A comparison of one case with these events. The divergence is the one that the judge finds. */
export function eventWorld(baseline: readonly Event[], candidate: readonly Event[]): ReportInput {
  const world = reportWorld({ cases: 1, regressed: 1 });
  const pair = world.pairs(EVENT_CASE);
  const artifacts = {
    baseline: { ...pair.baseline, events: [...baseline] } as CaseArtifact,
    new: { ...pair.new, events: [...candidate] } as CaseArtifact,
  };
  const divergence = divergenceOf(artifacts.baseline, artifacts.new);
  const { comparison } = world;
  return {
    ...world,
    comparison: { ...comparison, cases: comparison.cases.map(one => Object.assign({}, one, { divergence })) },
    pairs: () => ({ ...pair, ...artifacts }),
  };
}

function divergenceOf(baseline: CaseArtifact, candidate: CaseArtifact): Divergence | null {
  const found = firstDifference(baseline, candidate);
  if (!found) return null;
  const { kind, baselineAt, newAt, says } = found;
  const cites = [...(baselineAt ? [`baseline:${baselineAt}`] : []), ...(newAt ? [`new:${newAt}`] : [])];
  return { kind, baseline_at: baselineAt, new_at: newAt, says: `${says}.`, confidence: 'medium', cites };
}

/** A run of one case with these events. */
export function eventRunWorld(events: readonly Event[]): RunReportInput {
  const world = runWorld({ cases: 1, regressed: 1 });
  const pair = world.pairs(EVENT_CASE);
  return { ...world, pairs: () => ({ ...pair, new: { ...pair.new, events: [...events] } as CaseArtifact }) };
}
