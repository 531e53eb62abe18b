import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { AGENTS } from '../../src/adapters/agents.ts';
import { transcriptLine } from '../../src/contracts/agent-step/transcript-line.ts';
import { check } from '../../src/contracts/check.ts';
import { CALM, linesIn, readLines, readStream, recordingOf, recordingsOf } from './recorded.ts';

const APPROVALS = ['fail_on_prompt', 'deny_interactive', 'bounded_auto_approve'] as const;

/** Values that replace expected ones. */
const ODD = [
  '',
  ' ',
  null,
  true,
  false,
  0,
  -1,
  0.5,
  1e308,
  401,
  [],
  {},
  [[]],
  [null],
  '\ud800',
  '__proto__',
  'x'.repeat(5_000),
];

/** Every recorded line of an agent. */
const linesOf = (agent: string): string[] =>
  recordingsOf(agent).flatMap(name => linesIn(recordingOf(agent, name)).map(line => Buffer.from(line).toString()));

/** A recorded line with up to three values replaced, so that faults also reach deep into the readers. */
const bentLine = (agent: string) =>
  fc
    .tuple(
      fc.constantFrom(...linesOf(agent)),
      fc.array(fc.tuple(fc.nat(400), fc.constantFrom(...ODD)), { minLength: 1, maxLength: 3 }),
    )
    .map(([text, bends]) => {
      const value = JSON.parse(text) as object;
      for (const [which, odd] of bends) {
        const places = [...placesIn(value)];
        const [holder, key] = places[which % places.length] ?? [value, 'type'];
        // Copied, because a list or an object can be changed in turn.
        (holder as Record<string, unknown>)[key] = structuredClone(odd);
      }
      return Buffer.from(JSON.stringify(value));
    });

function* placesIn(value: unknown): Generator<[object, string]> {
  if (typeof value !== 'object' || value === null) return;
  for (const [key, inner] of Object.entries(value)) {
    // Claude's lists of capabilities are long, and the readers ignore them.
    if (Array.isArray(inner) && typeof inner[0] === 'string') continue;
    yield [value, key];
    yield* placesIn(inner);
  }
}

const lineOf = (agent: string) =>
  fc.oneof(
    { weight: 8, arbitrary: bentLine(agent) },
    { weight: 1, arbitrary: fc.uint8Array({ maxLength: 200 }).map(bytes => Buffer.from(bytes)) },
    { weight: 1, arbitrary: fc.json().map(text => Buffer.from(text)) },
    { weight: 1, arbitrary: fc.constant(null) },
  );

describe.each(AGENTS)('any output of $agent', adapter => {
  const line = lineOf(adapter.agent);

  test('is read without an exception, and yields a transcript that satisfies its contract', () => {
    fc.assert(
      fc.property(fc.array(line, { maxLength: 20 }), fc.constantFrom(...APPROVALS), (lines, approval) => {
        const read = readLines(adapter, lines, { approval, maxTurns: 3 });
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
      { numRuns: 200 },
    );
  });

  test('has the same meaning for any chunking of the stream', () => {
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
      { numRuns: 40 },
    );
  });

  test('is read independently by each reader', () => {
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

/** Splits chunks of a stream into lines, as if read from a pipe. */
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
