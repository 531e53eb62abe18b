import { Ajv2020 } from 'ajv/dist/2020.js';
import { describe, expect, test } from 'vitest';
import * as z from 'zod/mini';
import { applyMapping, compileMapping, type MappedReply } from '../../../src/targets/mapping/mapping.ts';
import { formOf } from '../../../src/contracts/form.ts';
import { mappingShape, type ReplyMapping } from '../../../src/contracts/target/mapping.ts';
import { MAPPINGS } from './kind-mappings.ts';
import * as REPLIES from './kind-replies.ts';

function mapped(mapping: ReplyMapping, document: unknown): Extract<MappedReply, { ok: true }> {
  const result = applyMapping(compileMapping(mapping), document);
  if (!result.ok) throw new Error(result.reason);
  return result;
}

const textOf = (content: string): object => ({ content_type: 'text', content });

const schema = z.toJSONSchema(mappingShape, { io: 'input' });
const fitsSchema = new Ajv2020().compile(schema);

test('the JSON Schema defines the forms of a value once', () => {
  expect(Object.keys(schema.$defs ?? {}).sort()).toEqual(['mapping_collect', 'mapping_single_value', 'mapping_value']);
  expect(fitsSchema({ final_output: { first_of: [] } })).toBe(false);
  expect(fitsSchema({ final_output: '$.a', events: [{ each: '$.a', as: 'note', any: 1 }] })).toBe(false);
  expect(fitsSchema({ final_output: '$.a', events: [{ each: '$.a', as: 'note', any: { path: '@' } }] })).toBe(true);
});

test.each(Object.entries(MAPPINGS))('the mapping %s fits its shape', (_, mapping) => {
  expect(fitsSchema(mapping)).toBe(true);
  expect(formOf(mappingShape).fits(mapping)).toBe(true);
  expect([...formOf(mappingShape).faults(mapping, '')]).toEqual([]);
  expect([...formOf(mappingShape).unknown(mapping, '')]).toEqual([]);
});

describe('the mapping language supports', () => {
  test('an OpenAI chat reply with invalid arguments, which stay text', () => {
    const { reply, usage, model, failed, empty } = mapped(MAPPINGS.openaiChat, REPLIES.OPENAI_CHAT);
    expect(reply).toEqual({
      events: [
        { type: 'tool_call', call_id: 'call_1', tool: 'orders.get', args: { id: 'A-1' } },
        { type: 'tool_call', call_id: 'call_2', tool: 'orders.list', args: '{"broken":' },
        { type: 'tool_call', call_id: 'call_3', tool: 'shell', args: 'ls' },
      ],
      proposed_actions: [],
    });
    expect(usage).toEqual({ input_tokens: 10, output_tokens: 5, total_tokens: 15 });
    expect({ model, failed, empty }).toEqual({ model: 'm-1', failed: undefined, empty: ['final_output'] });
  });

  test('an OpenAI chat stream with arguments in interleaved deltas', () => {
    const { reply, usage } = mapped(MAPPINGS.openaiChatStream, REPLIES.OPENAI_CHAT_STREAM);
    expect(reply.final_output).toEqual(textOf('Let me look.'));
    expect(reply.events).toEqual([
      { type: 'tool_call', call_id: 'call_1', tool: 'orders.get', args: { id: 'A-1' } },
      { type: 'tool_call', call_id: 'call_2', tool: 'time.now' },
    ]);
    expect(usage).toEqual({ input_tokens: 7, output_tokens: 3, total_tokens: 10 });
  });

  test('an OpenAI response with MCP calls, whose call and result come from one item', () => {
    const { reply, session, failed } = mapped(MAPPINGS.openaiResponses, REPLIES.OPENAI_RESPONSES);
    expect(reply.final_output).toEqual(textOf('It is paid.'));
    expect(reply.events).toEqual([
      { type: 'tool_call', call_id: 'call_1', tool: 'orders.get', args: { id: 'A-1' } },
      { type: 'tool_call', call_id: 'mcp_1', tool: 'search', args: { q: 'x' } },
      { type: 'tool_result', call_id: 'mcp_1', status: 'ok', payload_summary: 'two hits' },
      { type: 'retrieval', query: 'refund', doc_ids: ['f1', 'f2'] },
      { type: 'tool_call', call_id: 'mcp_2', tool: 'search', args: {} },
      { type: 'tool_result', call_id: 'mcp_2', status: 'error', payload_summary: 'down' },
    ]);
    expect({ session, failed }).toEqual({ session: 'resp_1', failed: undefined });
  });

  test('an OpenAI response stream', () => {
    const { reply, usage, session, model } = mapped(MAPPINGS.openaiResponsesStream, REPLIES.OPENAI_RESPONSES_STREAM);
    expect(reply.final_output).toEqual(textOf('It is paid.'));
    expect(reply.events).toEqual([
      { type: 'tool_call', ts: 10, call_id: 'call_1', tool: 'orders.get', args: { id: 'A-1' } },
    ]);
    expect({ usage, session, model }).toEqual({ usage: { total_tokens: 10 }, session: 'resp_1', model: 'm-1' });
  });

  test('an Anthropic message with client, server and MCP tools', () => {
    const { reply, usage } = mapped(MAPPINGS.anthropicMessages, REPLIES.ANTHROPIC_MESSAGES);
    expect(reply.final_output).toEqual(textOf('Looking. Done.'));
    expect(reply.events.map(({ type, call_id, status }) => [type, call_id, status])).toEqual([
      ['tool_call', 'st_1', undefined],
      ['tool_result', 'st_1', 'ok'],
      ['tool_call', 'st_2', undefined],
      ['tool_result', 'st_2', 'error'],
      ['tool_call', 'mt_1', undefined],
      ['tool_result', 'mt_1', 'error'],
      ['tool_call', 'tu_1', undefined],
    ]);
    expect(usage).toEqual({ input_tokens: 4, output_tokens: 6 });
  });

  test('an Anthropic stream, with and without arguments', () => {
    const { reply, usage, model } = mapped(MAPPINGS.anthropicStream, REPLIES.ANTHROPIC_STREAM);
    expect(reply.final_output).toEqual(textOf('Looking.'));
    expect(reply.events).toEqual([
      { type: 'tool_call', ts: 50, call_id: 'tu_1', tool: 'get', args: { id: 'A-1' } },
      { type: 'tool_call', ts: 90, call_id: 'tu_2', tool: 'now', args: {} },
    ]);
    expect({ usage, model }).toEqual({ usage: { input_tokens: 9, output_tokens: 25 }, model: 'm-2' });
  });

  test.each([
    ['state', MAPPINGS.langgraph, REPLIES.LANGGRAPH],
    ['stream of updates', MAPPINGS.langgraphStream, REPLIES.LANGGRAPH_STREAM],
  ])('a LangGraph %s, with calls and results in the order in which they happened', (_, mapping, document) => {
    const { reply, usage } = mapped(mapping, document);
    expect(reply.final_output).toEqual(textOf('It was delivered.'));
    expect(reply.events).toEqual([
      { type: 'tool_call', call_id: 't1', tool: 'orders.get', args: { id: 'A-1' } },
      { type: 'tool_call', call_id: 't2', tool: 'mail.find', args: {} },
      { type: 'tool_result', call_id: 't1', status: 'ok', payload_summary: 'delivered' },
      { type: 'tool_result', call_id: 't2', status: 'error', payload_summary: 'timeout' },
    ]);
    expect(usage.total_tokens).toBe(66);
  });

  test('A2A tasks of both versions', () => {
    const task = mapped(MAPPINGS.a2a, REPLIES.A2A);
    expect(task.reply).toMatchObject({ final_output: textOf('one\ntwo'), workflow_id: 'task-1' });
    expect(task).toMatchObject({ session: 'ctx-1' });
    expect(task.failed).toBeUndefined();
    expect(mapped(MAPPINGS.a2a, REPLIES.A2A_FAILED).failed).toBe('TASK_STATE_FAILED');
    const old = mapped(MAPPINGS.a2aOld, REPLIES.A2A_OLD);
    expect(old.reply.final_output).toEqual(textOf('one'));
    expect(old).toMatchObject({ session: 'ctx-1' });
  });

  test('an A2A stream', () => {
    const { reply, session, failed } = mapped(MAPPINGS.a2aStream, REPLIES.A2A_STREAM);
    expect(reply.final_output).toEqual(textOf('It is paid.'));
    expect({ session, failed }).toEqual({ session: 'ctx-1', failed: undefined });
  });

  test('an AG-UI stream, whose answer is its last message', () => {
    const { reply, session } = mapped(MAPPINGS.agUi, REPLIES.AG_UI);
    expect(reply.final_output).toEqual(textOf('It is paid.'));
    expect(reply.events).toEqual([
      { type: 'tool_call', ts: 30, call_id: 'tc-1', tool: 'orders.get', args: { id: 'A-1' } },
      { type: 'tool_call', ts: 40, call_id: 'tc-2', tool: 'mail.find', args: {} },
      { type: 'tool_result', ts: 80, call_id: 'tc-1', status: 'ok', payload_summary: 'paid' },
    ]);
    expect(session).toBe('th-1');
  });

  test('an MCP tool, with structured content or an error', () => {
    const result = mapped(MAPPINGS.mcpTool, REPLIES.MCP_TOOL);
    expect(result.reply.final_output).toEqual({ content_type: 'json', content: { n: 2 } });
    expect(result.failed).toBeUndefined();
    expect(mapped(MAPPINGS.mcpTool, REPLIES.MCP_TOOL_FAILED).failed).toBe('no such order');
  });
});
