import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { AGENTS } from '../../src/adapters/agents.ts';
import { transcriptLine } from '../../src/contracts/agent-step/transcript-line.ts';
import { check } from '../../src/contracts/check.ts';
import { CALM, linesIn, readLines, readStream, recordingOf, recordingsOf } from './recorded.ts';

const APPROVALS = ['fail_on_prompt', 'deny_interactive', 'bounded_auto_approve'] as const;

/** Words of both protocols, so that what is made of them by chance reaches far into the readers. */
const TYPES = ['assistant', 'user', 'system', 'result', 'item.started', 'item.completed', 'turn.completed', 'error'];
const PARTS = ['text', 'thinking', 'tool_use', 'tool_result', 'agent_message', 'command_execution', 'file_change'];
const SUBTYPES = ['init', 'permission_denied', 'api_retry', 'success', 'error_max_turns', 'status'];
const KEYS = ['message', 'content', 'item', 'id', 'tool_use_id', 'name', 'input', 'changes', 'path', 'kind', 'usage'];
const MORE = ['is_error', 'permission_denials', 'tool_result_meta', 'modelUsage', 'aggregated_output', 'exit_code'];

const said = fc.letrec(tie => ({
  value: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    fc.constantFrom(...PARTS, ...SUBTYPES, 'Read-only file system', '', null, true, false, 1e308, -1, 0.5, 401),
    fc.string({ maxLength: 20 }),
    fc.array(tie('object'), { maxLength: 4 }),
    tie('object'),
  ),
  object: fc
    .tuple(
      fc.dictionary(fc.constantFrom(...KEYS, ...MORE, '__proto__', 'constructor'), tie('value'), { maxKeys: 6 }),
      fc.constantFrom(...TYPES, ...PARTS),
      fc.constantFrom(...SUBTYPES),
    )
    .map(([rest, type, subtype]) => ({ ...rest, type, subtype })),
})).object;

const line = fc.oneof(
  { weight: 6, arbitrary: said.map(value => Buffer.from(JSON.stringify(value))) },
  { weight: 1, arbitrary: fc.uint8Array({ maxLength: 200 }).map(bytes => Buffer.from(bytes)) },
  { weight: 1, arbitrary: fc.json().map(text => Buffer.from(text)) },
  { weight: 1, arbitrary: fc.constant(null) },
);

describe.each(AGENTS)('whatever $agent prints', adapter => {
  test('is read without a fault, and becomes a transcript that keeps its contract', () => {
    fc.assert(
      fc.property(fc.array(line, { maxLength: 20 }), fc.constantFrom(...APPROVALS), (lines, approval) => {
        const read = readLines(adapter, lines, { approval, maxTurns: 3, maxCostUsd: undefined });
        expect(read.reading.lines.total).toBe(lines.length);
        expect(read.reading.denials.length).toBeLessThanOrEqual(read.reading.denialCount);
        for (const { events, sign, reason } of read.lines) {
          expect(reason === undefined).toBe(sign !== 'kill');
          for (const event of events) {
            const told = { schema_version: 'transcript-line.v1', seq: 1, at_ms: 0, native_line: 1, ...event };
            expect(check(transcriptLine, told, { strict: true, internal: false }).violations).toEqual([]);
          }
        }
      }),
      { numRuns: 500 },
    );
  });

  test('means the same, however the stream is cut into pieces', () => {
    const names = recordingsOf(adapter.agent);
    fc.assert(
      fc.property(
        fc.constantFrom(...names),
        fc.array(fc.nat(10_000), { maxLength: 20 }),
        fc.uint8Array({ maxLength: 50 }),
        (name, cuts, noise) => {
          const stream = Buffer.concat([noise, recordingOf(adapter.agent, name)]);
          const ends = [...new Set(cuts.map(cut => cut % stream.length))].sort((a, b) => a - b);
          const pieces = [0, ...ends].map((from, index) => stream.subarray(from, ends[index]));
          const pieced = readLines(adapter, linesOfPieces(pieces));
          const whole = readStream(adapter, stream, CALM);
          expect(pieced.reading).toEqual(whole.reading);
          expect(pieced.lines).toEqual(whole.lines);
        },
      ),
      { numRuns: 60 },
    );
  });

  test('is read by each reader for itself', () => {
    const stream = linesIn(recordingOf(adapter.agent, 'write-ok'));
    const [one, other] = [adapter.reader(CALM), adapter.reader(CALM)];
    for (const bytes of stream) {
      one.line(bytes);
      other.line(bytes);
    }
    expect(one.end({ lastMessage: null })).toEqual(other.end({ lastMessage: null }));
    expect(one.end({ lastMessage: null })).toEqual(readLines(adapter, stream).reading);
  });
});

/** Lines out of pieces of a stream, as they come from a pipe. */
function linesOfPieces(pieces: readonly Uint8Array[]): Uint8Array[] {
  const lines: Uint8Array[] = [];
  let rest: Uint8Array = new Uint8Array();
  for (const piece of pieces) {
    rest = Buffer.concat([rest, piece]);
    const end = rest.lastIndexOf(10) + 1;
    lines.push(...linesIn(rest.subarray(0, end)));
    rest = rest.subarray(end);
  }
  return rest.length > 0 ? [...lines, rest] : lines;
}
