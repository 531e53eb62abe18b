import { createHash } from 'node:crypto';
import type { CaseArtifact, Event } from '../../../src/contracts/artifacts/index.ts';
import type { Comparison } from '../../../src/contracts/comparison/index.ts';
import { compareSides, type ComparisonOptions } from '../../../src/judge/compare/compare.ts';
import type { JudgedCase, Side, TrialOfSide } from '../../../src/judge/compare-input.ts';
import { type Gate, gateOf } from '../../../src/judge/compare/gate.ts';

export const hashOf = (text: string): `sha256:${string}` => `sha256:${createHash('sha256').update(text).digest('hex')}`;

export type ExpectationName = JudgedCase['assertions'][number]['name'];

/** The judgement of a case, based on one that passed. */
export function judgedCase(case_id: string, over: Partial<JudgedCase> = {}): JudgedCase {
  return {
    case_id,
    case_sha256: hashOf(case_id),
    verdict: 'pass',
    error_class: null,
    assertions: [{ name: 'contains', status: 'pass', message: null, at: null }],
    output_hash: null,
    ...over,
    metrics: {
      latency_ms: 100,
      attempts: 1,
      cost_usd: null,
      tokens: null,
      steps: 0,
      score: over.verdict === 'error' ? null : over.verdict === 'fail' ? 0 : 1,
      ...over.metrics,
    },
  };
}

/** A case that fails its expectations. */
export function failedCase(
  case_id: string,
  name: ExpectationName = 'contains',
  over: Partial<JudgedCase> = {},
): JudgedCase {
  const message = 'The output does not contain what was asked for.';
  return judgedCase(case_id, { verdict: 'fail', assertions: [{ name, status: 'fail', message, at: null }], ...over });
}

export function trial(runId: string, cases: readonly JudgedCase[], over: Partial<TrialOfSide> = {}): TrialOfSide {
  return {
    runId,
    folder: runId,
    sealSha256: hashOf(runId),
    evaluation: { cases },
    environmentHash: hashOf('here'),
    targetSha256: hashOf('target'),
    casesSha256: hashOf('cases'),
    conditions: { 'target.kind': 'http', 'settings.retries': '2' },
    ...over,
  };
}

export function side(name: string, ...runs: readonly (readonly JudgedCase[])[]): Side {
  return { source: 'runs', trials: runs.map((cases, index) => trial(`${name}_${index + 1}`, cases)) };
}

const balanced = gateOf({});

export function compared(
  baseline: Side,
  candidate: Side,
  gate: Gate = balanced,
  options: Partial<ComparisonOptions> = {},
): Comparison {
  return compareSides(baseline, candidate, gate, {
    comparisonId: 'comparison_1',
    generatedAt: '2026-01-07T09:31:00.000Z',
    artifactOf: () => undefined,
    ...options,
  });
}

/** An answered case. */
export function answer(over: Partial<CaseArtifact> = {}): CaseArtifact {
  return {
    schema_version: 'case.v1',
    case_id: 'c',
    version: 'new',
    status: 'ok',
    proposed_actions: [],
    events: [],
    final_output: { content_type: 'text', content: 'Done.' },
    ...over,
  };
}

export const call = (tool: string, args: Record<string, unknown> = {}, call_id = 'call_1', ts = 1): Event => ({
  type: 'tool_call',
  ts,
  call_id,
  tool,
  args,
});

export const result = (payload: string, call_id = 'call_1', status: 'ok' | 'error' = 'ok', ts = 2): Event => ({
  type: 'tool_result',
  ts,
  call_id,
  status,
  latency_ms: ts,
  payload_summary: payload,
});

export const retrieval = (query: string, doc_ids: string[], ts = 0): Event => ({
  type: 'retrieval',
  ts,
  query,
  doc_ids,
});
