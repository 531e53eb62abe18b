import type { CaseArtifact } from './case-shape.ts';

/** Answered on the second attempt. */
export const caseExample: CaseArtifact = {
  schema_version: 'case.v1',
  case_id: 'refund-small',
  version: 'new',
  status: 'ok',
  workflow_id: 'refunds',
  attempts: [
    {
      attempt: 1,
      started_at: '2026-01-06T12:00:00.000Z',
      latency_ms: 15_000,
      outcome: 'runner_error',
      error_class: 'timeout',
    },
    { attempt: 2, started_at: '2026-01-06T12:00:15.260Z', latency_ms: 840, outcome: 'ok' },
  ],
  proposed_actions: [
    {
      action_id: 'action_1',
      action_type: 'issue_refund',
      tool_name: 'payments.refund',
      params: { order_id: 'A-1001', amount_cents: 1_999, currency: 'EUR' },
      risk_level: 'medium',
      risk_tags: ['money'],
      evidence_refs: [
        { kind: 'tool_result', call_id: 'call_1' },
        { kind: 'retrieval_doc', doc_id: 'policy/refunds' },
        { kind: 'event', id: 'events[2]' },
        { kind: 'asset', id: 'assets/full_payload_refund-small_new.json' },
      ],
    },
  ],
  events: [
    {
      type: 'retrieval',
      ts: 1_767_700_815_300,
      query: 'refund of a damaged item',
      doc_ids: ['policy/refunds', 'policy/damage'],
      snippets_hashes: ['5e8c0d21', 'b1f7a394'],
      snippets_asset_href: 'assets/retrieval_snippets_refund-small_new.json',
    },
    {
      type: 'tool_call',
      ts: 1_767_700_815_410,
      call_id: 'call_1',
      action_id: 'action_1',
      tool: 'orders.get',
      args: { order_id: 'A-1001' },
      risk_level: 'low',
      risk_tags: [],
    },
    {
      type: 'tool_result',
      ts: 1_767_700_815_520,
      call_id: 'call_1',
      action_id: 'action_1',
      status: 'ok',
      latency_ms: 110,
      payload_summary: { order_id: 'A-1001', total_cents: 1_999, state: 'delivered' },
      payload_asset_href: 'assets/full_payload_refund-small_new.json',
      payload_asset_sha256: 'sha256:3a7bd3e2360a3d29eea436fcfb7e44c735d117c42d1c1835420b6b9942dd4f1b',
    },
    {
      type: 'final_output',
      ts: 1_767_700_816_090,
      content_type: 'text',
      content: 'The order arrived damaged. A refund of 19.99 EUR is proposed.',
    },
  ],
  final_output: {
    content_type: 'text',
    content: 'The order arrived damaged. A refund of 19.99 EUR is proposed.',
    output_hash: '8d1f2c90',
    redactions_applied: ['email'],
  },
};

/** Answered with an HTTP error whose body was truncated. */
export const caseFailureExample: CaseArtifact = {
  schema_version: 'case.v1',
  case_id: 'refund-large',
  version: 'new',
  status: 'runner_error',
  workflow_id: 'refunds',
  attempts: [
    {
      attempt: 1,
      started_at: '2026-01-06T12:00:00.004Z',
      latency_ms: 212,
      outcome: 'runner_error',
      error_class: 'network_error',
    },
    {
      attempt: 2,
      started_at: '2026-01-06T12:00:00.480Z',
      latency_ms: 388.5,
      outcome: 'runner_error',
      error_class: 'http_error',
    },
  ],
  runner_failure: {
    class: 'http_error',
    url: 'https://agent.example.com/v2/run-case',
    attempt: 2,
    timeout_ms: 15_000,
    latency_ms: 388.5,
    status: 503,
    status_text: 'Service Unavailable',
    body_snippet: '<!doctype html><title>Service Unavailable</title>',
    full_body_saved_to: 'assets/full_body_refund-large_new.html',
    full_body_meta_saved_to: 'assets/full_body_refund-large_new.meta.json',
  },
};
