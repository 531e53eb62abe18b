import fc from 'fast-check';
import { expect, test } from 'vitest';
import { canonicalize } from '../../../src/base/canonical.ts';
import type { AgentEvent } from '../../../src/contracts/agent-step/reading.ts';
import { lineText } from '../../../src/run/agent/line-text.ts';

const text = fc.string({ unit: 'grapheme', maxLength: 20 });
const clipped = fc.oneof(fc.record({ text }), fc.record({ text, bytes_total: fc.nat() }));
const number = fc.option(fc.nat());
const usage = fc.record({
  turns: number,
  input_tokens: number,
  cached_input_tokens: number,
  output_tokens: number,
  cost_usd: fc.option(fc.double({ min: 0, max: 1e6, noNaN: true })),
});

/** Every kind, with and without its optional fields. */
const EVENTS: Readonly<Record<AgentEvent['kind'], fc.Arbitrary<object>>> = {
  message: fc.record({ role: fc.constantFrom('assistant', 'user'), body: clipped }),
  thinking: fc.record({ body: clipped }),
  tool_call: fc.record(
    { call: text, tool: text, input: clipped, command: clipped, path: text },
    { requiredKeys: ['call', 'tool', 'input'] },
  ),
  tool_result: fc.record({ call: text, ok: fc.boolean(), output: clipped, exit_code: number }),
  file_change: fc.record({ path: text, change: fc.constantFrom('add', 'update', 'delete') }),
  denial: fc.record({ call: fc.option(text), tool: text, reason: text }),
  retry: fc.record({ attempt: number, status: number, message: text }),
  usage: fc.record({ usage }),
  final: fc.record({ ok: fc.boolean(), body: fc.option(clipped) }),
  note: fc.record({ level: fc.constantFrom('info', 'warning', 'error'), text }),
};

test.each(Object.entries(EVENTS))('a line of kind %s is canonical', (kind, parts) => {
  fc.assert(
    fc.property(parts, fc.nat(), fc.nat(), fc.nat(), (part, seq, atMs, nativeLine) => {
      const event = { kind, ...part } as AgentEvent;
      const line = { schema_version: 'transcript-line.v1', seq, at_ms: atMs, native_line: nativeLine, ...event };
      expect(lineText({ seq, atMs, nativeLine }, event)).toBe(canonicalize(line));
    }),
  );
});

test('half a surrogate pair is escaped, so that the line stays valid', () => {
  const event: AgentEvent = { kind: 'note', level: 'info', text: '\ud800' };
  expect(lineText({ seq: 1, atMs: 0, nativeLine: 1 }, event)).toContain('"text":"\\ud800"');
});
