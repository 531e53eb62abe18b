import { type ReplyReading, readReply } from '../../src/targets/reply.ts';

export type Json = Record<string, unknown>;

/** A reply of Proctor's protocol, or what is left of it after a fault. */
export interface Reply extends Json {
  events: Json[];
  proposed_actions: Json[];
  final_output: unknown;
}

/** A reply without faults: a call with its result, a retrieval, and an action that cites both. */
export function soundReply(): Reply {
  return {
    workflow_id: 'refunds',
    events: [
      { type: 'tool_call', ts: 10, call_id: 'c1', tool: 'orders.get', args: { order: 'A-1' } },
      { type: 'tool_result', ts: 20, call_id: 'c1', status: 'ok', latency_ms: 7, payload_summary: { total: 19.99 } },
      { type: 'retrieval', ts: 30, query: 'refunds', doc_ids: ['policy-1'] },
    ],
    proposed_actions: [
      {
        action_id: 'a1',
        action_type: 'refund',
        tool_name: 'payments.refund',
        params: { order: 'A-1' },
        risk_level: 'high',
        risk_tags: ['money'],
        evidence_refs: [
          { kind: 'tool_result', call_id: 'c1' },
          { kind: 'retrieval_doc', doc_id: 'policy-1' },
        ],
      },
    ],
    final_output: { content_type: 'text', content: 'Your refund is on its way.' },
  };
}

export const BYTES_MAX = 2_000_000;

export function readAs(replies: 'strict' | 'lenient', reply: unknown, bytesMax = BYTES_MAX): ReplyReading {
  const bytes = Buffer.from(typeof reply === 'string' ? reply : JSON.stringify(reply));
  return readReply(bytes, bytesMax, { caseId: 'one', side: 'new', isLenient: replies === 'lenient' });
}
