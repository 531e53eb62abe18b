/** `node scripts/run.mjs bench/targets-mapping.ts`: mapping compared with JSON.parse, and its growth with a stream. */
import { FrameCounter } from '../src/targets/mapping/frame-counter.ts';
import { readFrames } from '../src/targets/mapping/frames.ts';
import { applyMapping, compileMapping } from '../src/targets/mapping/mapping.ts';
import { compileTemplate } from '../src/targets/mapping/template.ts';
import { MAPPINGS } from '../tests/targets/mapping/kind-mappings.ts';
import { LANGGRAPH } from '../tests/targets/mapping/kind-replies.ts';
import { medians } from './interleaved.ts';
import { printRows, type Row } from './rows.ts';

const ROUNDS = 15;
const REPLIES = 5_000;
const RATIO_MAX = 5;

printRows('targets-mapping', [...(await replies()), ...(await streams())]);

async function replies(): Promise<Row[]> {
  const mapping = compileMapping(MAPPINGS.langgraph);
  const text = JSON.stringify(LANGGRAPH);
  const template = compileTemplate(
    { assistant_id: 'agent', input: { messages: [{ role: 'user', content: '${input.user}' }] } },
    { allowed: () => true },
  );
  const values = { input: { user: 'Where is A-1?' } };
  const times = await medians(
    {
      parse: async () => repeat(() => JSON.parse(text)),
      map: async () => repeat(() => applyMapping(mapping, LANGGRAPH)),
      fill: async () => repeat(() => template.fillIn(values)),
    },
    ROUNDS,
  );
  const { parse = 0, map = 0, fill = 0 } = times;
  return [
    {
      what: `mapping a reply of ${LANGGRAPH.messages.length} messages, compared with its JSON.parse`,
      ratio: map / parse,
      bound: `≤ ${RATIO_MAX}`,
      holds: map / parse <= RATIO_MAX,
      detail: `${each(map)}, parse ${each(parse)} (${text.length} characters)`,
    },
    { what: 'filling a request, compared with it', ratio: fill / parse, bound: '–', holds: true, detail: each(fill) },
  ];
}

function each(milliseconds: number): string {
  return `${((1_000 * milliseconds) / REPLIES).toFixed(1)} µs`;
}

function repeat(act: () => unknown): void {
  for (let round = 0; round < REPLIES; round++) act();
}

async function streams(): Promise<Row[]> {
  const mapping = compileMapping(MAPPINGS.agUi);
  const small = streamBytes(1_000, 9);
  const large = streamBytes(5_000, 9);
  const map = (bytes: Buffer): number => {
    const reading = readFrames(bytes, 'sse');
    const mapped = reading.ok && applyMapping(mapping, reading.document);
    return mapped && mapped.ok ? mapped.steps : 0;
  };
  const times = await medians(
    {
      small: async () => map(small),
      large: async () => map(large),
      count: async () => new FrameCounter('sse').take(large),
    },
    ROUNDS,
  );
  const { small: less = 0, large: more = 0, count = 0 } = times;
  return [
    {
      what: 'reading and mapping 50,000 frames, compared with 10,000',
      ratio: more / less,
      bound: '–',
      holds: map(large) > 0,
      detail: `${more} ms, ${map(large).toLocaleString('en-US')} steps (5,000 calls, ${large.length} bytes)`,
    },
    {
      what: 'steps of 50,000 frames, compared with 10,000',
      ratio: map(large) / map(small),
      bound: '≤ 5.01',
      holds: map(large) / map(small) <= 5.01,
      detail: `counting the frames takes ${count} ms`,
    },
  ];
}

/** A stream of calls whose arguments come in deltas, one call after the other in turn. */
function streamBytes(calls: number, deltas: number): Buffer {
  const starts = Array.from({ length: calls }, (_, id) => ({
    type: 'TOOL_CALL_START',
    toolCallId: `c${id}`,
    toolCallName: 't',
  }));
  const pieces = Array.from({ length: calls * deltas }, (_, index) => ({
    type: 'TOOL_CALL_ARGS',
    toolCallId: `c${index % calls}`,
    delta: String(index % 10),
  }));
  return Buffer.from([...starts, ...pieces].map(data => `data: ${JSON.stringify(data)}\n\n`).join(''));
}
