import { type BaseEvent, EventType } from '@ag-ui/core';
import { EventSchemas, RunAgentInputSchema } from '@ag-ui/core/schemas';
import { EventEncoder } from '@ag-ui/encoder';
import type { Told } from './kind.ts';
import { asEvent, MODEL, type Protocol, pieces, requires, sendFrames, TOKENS } from './protocol-server.ts';

/** The published schemas check every request and event, and the published encoder writes the stream. */
export const agUi: Protocol = {
  name: 'ag-ui',
  can: { tools: 'results without status', usage: true, model: true, failure: true, stream: true },
  declaration: url => ({
    kind: 'ag-ui',
    url: `${url}/agent`,
    headers: { Authorization: 'Bearer ${env:AGENT_TOKEN}' },
    price: { input: 0.5, output: 2 },
  }),
  framed: asEvent,
  speak: () => ({
    hear({ method, path, headers, body }) {
      requires(method === 'POST' && path === '/agent', 'path');
      requires(headers.authorization, 'authorization');
      const { messages } = RunAgentInputSchema.parse(body);
      const [message] = messages;
      requires(message?.role === 'user' && typeof message.content === 'string', 'message');
      return message.content;
    },
    answer: (told, { body }, response) => {
      const { threadId, runId } = RunAgentInputSchema.parse(body);
      const encoder = new EventEncoder();
      const frames = eventsOf(told, { threadId, runId }).map(event =>
        encoder.encodeSSE(EventSchemas.parse(event) as BaseEvent),
      );
      return sendFrames(response, frames, encoder.getContentType());
    },
  }),
};

function eventsOf({ text, calls = [], failure }: Told, ids: { threadId: string; runId: string }): object[] {
  const started = { type: EventType.RUN_STARTED, ...ids };
  if (failure !== undefined) return [started, { type: EventType.RUN_ERROR, message: failure }];
  const usage = { model: MODEL, inputTokens: TOKENS.input, outputTokens: TOKENS.output };
  return [
    started,
    { type: EventType.STATE_DELTA, delta: [{ op: 'add', path: '/busy', value: true }] },
    ...said('m1', 'Let me look.'),
    ...calls.flatMap(({ id, name, args, result }) => [
      { type: EventType.TOOL_CALL_START, toolCallId: id, toolCallName: name },
      ...pieces(JSON.stringify(args)).map(delta => ({ type: EventType.TOOL_CALL_ARGS, toolCallId: id, delta })),
      { type: EventType.TOOL_CALL_END, toolCallId: id },
      { type: EventType.TOOL_CALL_RESULT, messageId: `r-${id}`, toolCallId: id, content: result },
    ]),
    ...(text === '' ? [] : said('m2', text)),
    { type: EventType.RUN_FINISHED, ...ids, usage: [usage] },
  ];
}

function said(messageId: string, text: string): object[] {
  return [
    { type: EventType.TEXT_MESSAGE_START, messageId, role: 'assistant' },
    ...pieces(text).map(delta => ({ type: EventType.TEXT_MESSAGE_CONTENT, messageId, delta })),
    { type: EventType.TEXT_MESSAGE_END, messageId },
  ];
}
