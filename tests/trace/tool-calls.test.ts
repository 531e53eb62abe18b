import { expect, test } from 'vitest';
import type { TranscriptLine } from '../../src/contracts/agent-step/reading.ts';
import type { Event } from '../../src/contracts/artifacts/index.ts';
import type { FinishedSpan } from '../../src/trace/span.ts';
import { addToolSpans, plainModel, ToolCallList } from '../../src/trace/tool-calls.ts';
import { Tracer } from '../../src/trace/tracer.ts';

const T0 = 1_790_000_000_000;

function spansOf(calls: ToolCallList, originMs: number | undefined) {
  const spans: FinishedSpan[] = [];
  const tracer = new Tracer({ take: span => void spans.push(span) });
  const agent = tracer.begin('invoke_agent', { startMs: T0 });
  addToolSpans(tracer, agent, calls, originMs);
  agent.end({ endMs: T0 + 60_000 });
  return spans.map(({ name, startMs, endMs, parentSpanId, attributes, isError }) =>
    Object.assign(Object.fromEntries(attributes), {
      name,
      fromMs: startMs - T0,
      toMs: endMs - T0,
      isChild: parentSpanId === agent.context.spanId,
      isError,
    }),
  );
}

const called = (call: string, tool: string, at_ms: number): TranscriptLine => ({
  schema_version: 'transcript-line.v1',
  seq: 1,
  native_line: 1,
  at_ms,
  kind: 'tool_call',
  call,
  tool,
  input: { text: 'the secret prompt' },
});

const returned = (call: string, at_ms: number, ok = true): TranscriptLine => ({
  schema_version: 'transcript-line.v1',
  seq: 1,
  native_line: 1,
  at_ms,
  kind: 'tool_result',
  call,
  ok,
  output: { text: 'the secret output' },
  exit_code: null,
});

test('tool calls of a transcript become spans with their own times', () => {
  const calls = new ToolCallList();
  for (const line of [
    called('c1', 'Bash', 100),
    called('c2', 'Read', 200),
    returned('c2', 250, false),
    returned('c1', 900),
  ])
    calls.take(line);
  const [bash, read, agent] = spansOf(calls, T0);
  expect(bash).toMatchObject({ name: 'execute_tool Bash', fromMs: 100, toMs: 900, isChild: true, isError: false });
  expect(read).toMatchObject({
    name: 'execute_tool Read',
    fromMs: 200,
    toMs: 250,
    isError: true,
    'error.type': 'tool_error',
  });
  expect(bash).toMatchObject({ 'gen_ai.tool.name': 'Bash', 'gen_ai.tool.call.id': 'c1' });
  expect(bash).not.toHaveProperty(['proctor.tool.timing']);
  expect(agent).toMatchObject({ 'proctor.tool.calls': 2 });
  expect(JSON.stringify([bash, read, agent])).not.toContain('secret');
});

test('a call without a result has no length, and says that its end is unknown', () => {
  const calls = new ToolCallList();
  calls.take(called('c1', 'Bash', 100));
  calls.take(returned('c9', 300));
  expect(spansOf(calls, T0)[0]).toMatchObject({
    fromMs: 100,
    toMs: 100,
    isError: false,
    'proctor.tool.timing': 'end_unknown',
  });
});

test('events without a usable clock keep only the duration that the agent states', () => {
  const events: Event[] = [
    { type: 'tool_call', ts: 0, call_id: 'c1', tool: 'search', args: { q: 'secret' } },
    { type: 'tool_result', ts: 1, call_id: 'c1', status: 'ok', latency_ms: 35, payload_summary: 'secret' },
  ];
  const calls = new ToolCallList();
  for (const event of events) calls.takeEvent(event);
  expect(spansOf(calls, undefined)[0]).toMatchObject({
    fromMs: 0,
    toMs: 0,
    'proctor.tool.timing': 'unknown',
    'proctor.tool.duration_ms': 35,
  });
});

test('a text that is not a plain name is not exported', () => {
  const calls = new ToolCallList();
  for (const tool of ['What is the password?', '/home/someone/tool', 'a'.repeat(200), 'mcp__files__read'])
    calls.take(called(`call of ${tool}`, tool, 1));
  const spans = spansOf(calls, T0);
  expect(spans.slice(0, -1).map(({ name }) => name)).toEqual([
    ...Array.from({ length: 3 }, () => 'execute_tool _OTHER'),
    'execute_tool mcp__files__read',
  ]);
  expect(spans[0]).not.toHaveProperty(['gen_ai.tool.call.id']);
  expect([plainModel('vendor/model-1'), plainModel('/etc/passwd'), plainModel('two words'), plainModel(null)]).toEqual([
    'vendor/model-1',
    undefined,
    undefined,
    undefined,
  ]);
});

test('an agent has at most 200 spans of tools, and states how many calls it made', () => {
  const calls = new ToolCallList();
  for (let index = 0; index < 1_000; index++) calls.take(called(`c${index}`, 'Bash', index));
  const spans = spansOf(calls, T0);
  expect(spans).toHaveLength(201);
  expect(spans.at(-1)).toMatchObject({ 'proctor.tool.calls': 1_000 });
});
