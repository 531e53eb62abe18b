import { describe, expect, test } from 'vitest';
import { transcriptLine } from '../../src/contracts/agent-step/transcript-line.ts';
import { check } from '../../src/contracts/check.ts';
import { titled } from './artifacts-words.ts';

const PLACE = { schema_version: 'transcript-line.v1', seq: 1, at_ms: 0, native_line: 1 };
const BODY = { text: 'x' };
const USAGE = { turns: 1, input_tokens: 1, cached_input_tokens: null, output_tokens: 1, cost_usd: 0.1 };

/** One valid line of each kind. */
const VALID: Record<string, object> = {
  message: { role: 'assistant', body: BODY },
  thinking: { body: { text: '' } },
  tool_call: { call: 'a', tool: 'Read', input: { text: '{}' }, path: '/work/a' },
  tool_result: { call: 'a', ok: true, output: BODY, exit_code: null },
  file_change: { path: 'a', change: 'delete' },
  denial: { call: null, tool: 'Read', reason: '' },
  retry: { attempt: null, status: null, message: '' },
  usage: { usage: USAGE },
  final: { ok: false, body: null },
  note: { level: 'error', text: '' },
};

const broken = (line: object): string[] =>
  check(transcriptLine, line, { strict: false, internal: false }).violations.map(
    ({ rule_id, path }) => `${rule_id} ${path}`,
  );

describe.each(Object.entries(VALID))('a line of kind %s', (kind, rest) => {
  const line = { ...PLACE, kind, ...rest };

  test('is valid', () => {
    expect(broken(line)).toEqual([]);
  });

  test('requires every key of its kind except path, and rejects keys of other kinds', () => {
    for (const key of Object.keys(rest).filter(key => kind !== 'tool_call' || key !== 'path')) {
      expect(broken({ ...line, [key]: undefined }), key).toEqual([`TR3 ${key}`]);
    }
    for (const [key, value] of Object.values(VALID).flatMap(one => Object.entries(one))) {
      if (!Object.hasOwn(rest, key)) expect(broken({ ...line, [key]: value }), key).toEqual([`TR3 ${key}`]);
    }
  });
});

const calls: [about: string, changes: object, broken: string[]][] = [
  ['a missing version', { schema_version: undefined }, ['TR1 schema_version']],
  ['line 0 of the native stream', { native_line: 0 }, ['TR2 native_line']],
  ['a fractional millisecond', { at_ms: 0.5 }, ['TR2 at_ms']],
  ['an unknown kind', { kind: 'dream' }, ['TR3 kind']],
  ['a null call', { call: null }, ['TR3 call']],
  ['a text of 64 KiB', { input: { text: 'x'.repeat(65_536) } }, []],
  ['a text above 64 KiB', { input: { text: 'x'.repeat(65_537) } }, ['TR4 input.text']],
  ['a text above 64 KiB in bytes only', { input: { text: '€'.repeat(30_000) } }, ['TR4 input.text']],
  ['a truncated text', { input: { text: 'x', bytes_total: 2 } }, []],
  ['a complete text marked as truncated', { input: { text: 'x', bytes_total: 1 } }, ['TR4 input.bytes_total']],
  ['a bare string as input', { input: 'x' }, ['TR4 input']],
  ['a tool without a name', { tool: '' }, ['TR5 tool']],
  ['a path of 5,000 letters', { path: 'x'.repeat(5_000) }, ['TR5 path']],
];

test.each(titled(calls))('%s in a call', (_, changes, rules) => {
  expect(broken({ ...(transcriptLine.example as object), ...changes })).toEqual(rules);
});

test.each([
  ['final', { body: { text: 7 } }, ['TR4 body.text']],
  ['retry', { status: 99 }, ['TR6 status']],
  ['retry', { attempt: -1 }, ['TR6 attempt']],
  ['note', { text: 'x'.repeat(5_000) }, ['TR6 text']],
  ['note', { level: 'loud' }, ['TR6 level']],
  ['message', { role: 'system' }, ['TR6 role']],
  ['usage', { usage: { ...USAGE, cost_usd: -1 } }, ['TR7 usage.cost_usd']],
  ['usage', { usage: { ...USAGE, turns: undefined } }, ['TR7 usage.turns']],
])('rejects a line of kind %s with %j', (kind, changes, rules) => {
  expect(broken({ ...PLACE, kind, ...VALID[kind], ...changes })).toEqual(rules);
});

test('treats all agent text as program text, which may name any file', () => {
  for (const key of ['body', 'input', 'command', 'output', 'path', 'reason', 'message', 'text']) {
    expect(transcriptLine.programText).toContain(key);
  }
});
