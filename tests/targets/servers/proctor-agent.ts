import type { Told } from './kind.ts';
import { asDocument, bearerOf, MODEL, type Protocol, requires, sendJson, textAt, TOKENS } from './protocol-server.ts';

/** Proctor's own protocol. */
export const proctorAgent: Protocol = {
  name: 'proctor',
  can: { tools: 'results', usage: true, model: true, failure: false, stream: false },
  declaration: url => ({ kind: 'proctor', url, auth: { bearer: '${env:AGENT_TOKEN}' } }),
  framed: asDocument,
  speak: () => ({
    hear(asked) {
      requires(bearerOf(asked), 'bearer token');
      requires(asked.method === 'POST' && asked.path === '/run-case', 'path');
      textAt(asked.body, 'case_id');
      textAt(asked.body, 'run_meta', 'run_id');
      return textAt(asked.body, 'input', 'user');
    },
    answer: (told, { body }, response) =>
      sendJson(response, { case_id: body['case_id'], version: body['version'], ...ownReply(told) }),
  }),
};

/** An answer in Proctor's own form. */
export function ownReply({ text, calls = [] }: Told): object {
  return {
    proposed_actions: [],
    events: calls.flatMap(({ id, name, args, result, hasFailed }, index) => [
      { type: 'tool_call', ts: 2 * index, call_id: id, tool: name, args },
      {
        type: 'tool_result',
        ts: 2 * index + 1,
        call_id: id,
        status: hasFailed ? 'error' : 'ok',
        latency_ms: 12,
        payload_summary: result,
      },
    ]),
    final_output: { content_type: 'text', content: text },
    usage: { input_tokens: TOKENS.input, output_tokens: TOKENS.output },
    model: MODEL,
  };
}
