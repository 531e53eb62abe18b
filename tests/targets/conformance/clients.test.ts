import Anthropic from '@anthropic-ai/sdk';
import OpenAI from 'openai';
import { expect, test } from 'vitest';
import { anthropicMessages, anthropicMessagesStream } from '../servers/anthropic.ts';
import { openaiChat, openaiChatStream, openaiResponses, openaiResponsesStream } from '../servers/openai.ts';
import type { Told } from '../servers/kind.ts';
import { MODEL, type Protocol, ProtocolServer, TOKENS } from '../servers/protocol-server.ts';

/** The published clients understand our servers, so a kind that understands them understands the protocol. */

const TOOLS: Told = {
  text: 'Order A-1 has shipped.',
  calls: [{ id: 'call_1', name: 'orders.get', args: { id: 'A-1' }, result: 'shipped' }],
};

async function served(protocol: Protocol): Promise<string> {
  return `${await new ProtocolServer(protocol, { tools: TOOLS }).start()}/v1`;
}

const KEYS = { apiKey: 'a-test-key', maxRetries: 0 };
const model = 'support-large';
const messages = [{ role: 'user', content: 'tools please' } as const];
const tokens = { input_tokens: TOKENS.input, output_tokens: TOKENS.output };

test('the OpenAI client reads chat completions', async () => {
  const client = new OpenAI({ ...KEYS, baseURL: await served(openaiChat) });
  const { choices, usage, model: served_by } = await client.chat.completions.create({ model, messages });
  expect(choices[0]?.message).toMatchObject({
    content: TOOLS.text,
    tool_calls: [{ id: 'call_1', function: { name: 'orders.get', arguments: '{"id":"A-1"}' } }],
  });
  expect(usage?.prompt_tokens).toBe(TOKENS.input);
  expect(served_by).toBe(MODEL);
});

test('the OpenAI client reads streamed chat completions', async () => {
  const client = new OpenAI({ ...KEYS, baseURL: await served(openaiChatStream) });
  const stream = client.chat.completions.stream({ model, messages, stream_options: { include_usage: true } });
  const { choices, usage } = await stream.finalChatCompletion();
  expect(choices[0]?.message).toMatchObject({
    content: TOOLS.text,
    tool_calls: [{ id: 'call_1', function: { name: 'orders.get', arguments: '{"id":"A-1"}' } }],
  });
  expect(usage?.completion_tokens).toBe(TOKENS.output);
});

const OUTPUT = [
  { type: 'reasoning' },
  { type: 'mcp_call', name: 'orders.get', arguments: '{"id":"A-1"}', output: 'shipped' },
  { type: 'message' },
];

test('the OpenAI client reads responses', async () => {
  const client = new OpenAI({ ...KEYS, baseURL: await served(openaiResponses) });
  const asked = { model, input: 'tools please', instructions: 'Answer briefly.' };
  const response = await client.responses.create(asked);
  expect(response).toMatchObject({ output_text: TOOLS.text, output: OUTPUT, usage: tokens });
});

test('the OpenAI client reads streamed responses', async () => {
  const client = new OpenAI({ ...KEYS, baseURL: await served(openaiResponsesStream) });
  const asked = { model, input: 'tools please', instructions: 'Answer briefly.', stream: true } as const;
  let text = '';
  let output: unknown;
  for await (const event of await client.responses.create(asked)) {
    if (event.type === 'response.output_text.delta') text += event.delta;
    if (event.type === 'response.completed') output = event.response.output;
  }
  expect(text).toBe(TOOLS.text);
  expect(output).toMatchObject(OUTPUT);
});

const CONTENT = [
  { type: 'mcp_tool_use', id: 'call_1', name: 'orders.get', input: { id: 'A-1' } },
  { type: 'mcp_tool_result', tool_use_id: 'call_1' },
  { type: 'text', text: TOOLS.text },
];

/** The client adds /v1 itself. */
const rootOf = (url: string): string => url.replace(/\/v1$/, '');

test('the Anthropic client reads messages', async () => {
  const client = new Anthropic({ ...KEYS, baseURL: rootOf(await served(anthropicMessages)) });
  const message = await client.messages.create({ model, max_tokens: 100, messages: [...messages] });
  expect(message).toMatchObject({ content: CONTENT, usage: tokens, model: MODEL });
});

test('the Anthropic client reads streamed messages', async () => {
  const client = new Anthropic({ ...KEYS, baseURL: rootOf(await served(anthropicMessagesStream)) });
  const stream = client.beta.messages.stream({ model, max_tokens: 100, messages: [...messages] });
  expect(await stream.finalMessage()).toMatchObject({ content: CONTENT, usage: tokens, model: MODEL });
});
