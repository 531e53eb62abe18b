import { fails, holds, type Judge, type Judgement, notJudged } from './judgement.ts';

export const maxLatency: Judge<'max_latency_ms'> = (max, { latencyMs }) => [
  atMost(latencyMs, max, 'The run does not record how long the answer took.', 'The answer took', 'milliseconds'),
];

export const maxTtft: Judge<'max_ttft_ms'> = (max, { ttftMs }) => [
  atMost(ttftMs, max, NO_TTFT, 'The first token came after', 'milliseconds'),
];

const NO_TTFT =
  'The time to first token is unknown: the reply was not a stream, or the target does not declare stream.first_output.';

export const maxCost: Judge<'max_cost_usd'> = (max, { usage }) => [
  atMost(usage.costUsd, max, 'The agent did not report what the answer cost.', 'The answer cost', 'US dollars'),
];

export const maxSteps: Judge<'max_steps'> = (max, { calls }) => [
  atMost(calls.length, max, '', 'The agent called', 'tools'),
];

function atMost(measured: number | null, max: number, unknown: string, what: string, unit: string): Judgement {
  if (measured === null) return notJudged(unknown);
  return measured <= max ? holds(null) : fails(`${what} ${measured} ${unit}, but at most ${max} are allowed.`, null);
}
