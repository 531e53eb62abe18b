import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync, rmSync } from 'node:fs';
import path from 'node:path';
import { AGENTS } from '../src/adapters/agents.ts';
import type { TranscriptLine } from '../src/contracts/agent-step/reading.ts';
import { AgentWatch } from '../src/run/agent/watch.ts';
import { placeAgent } from '../stand-ins/place-agent.ts';

const MB = 1_000_000;
const EARLY_BYTES = 100 * MB;
const STREAM_BYTES = 500 * MB;
const CHUNK_BYTES = 65_536;
const BLOCK_BYTES = 8 * MB;
const FIXTURES = path.join('tests', 'fixtures', 'agent-cli');

/** Measures the speed and memory of turning an agent's stream into a transcript, relative to parsing its lines only. */
export function streamFigures(folder: string) {
  return Object.fromEntries(
    AGENTS.map(({ agent }) => {
      const block = recordingsOf(agent);
      const { bareMs, ms, earlyRssMb, lateRssMb, events } = watchAll(agent, block, folder);
      const figures = {
        ofBareParse: Number((bareMs / ms).toFixed(2)),
        lateRssOfEarly: Number((lateRssMb / earlyRssMb).toFixed(2)),
        megabytesPerSecond: Math.round(STREAM_BYTES / 1000 / ms),
        events,
        rssMb: { at100Mb: earlyRssMb, at500Mb: lateRssMb },
      };
      return [agent, figures] as const;
    }),
  );
}

/** Returns all of an agent's recorded lines, repeated to at least BLOCK_BYTES. */
function recordingsOf(agent: string): Buffer {
  const all = readdirSync(FIXTURES)
    .filter(name => name.startsWith(agent) && name.endsWith('.stdout'))
    .map(name => readFileSync(path.join(FIXTURES, name), 'utf8'))
    .flatMap(text => text.split('\n').filter(isJson))
    .map(line => `${line}\n`)
    .join('');
  return Buffer.from(all.repeat(Math.ceil(BLOCK_BYTES / Buffer.byteLength(all))));
}

function isJson(line: string): boolean {
  try {
    return JSON.parse(line) !== null;
  } catch {
    return false;
  }
}

/** Processes the stream as during a live run, including all files on disk. */
function watchAll(agent: string, block: Buffer, folder: string) {
  const place = path.join(folder, `stream-${agent}`);
  let events = 0;
  const watch = watchOf(agent, place, () => events++);
  let bareMs = 0;
  let ms = 0;
  let earlyRssMb = 0;
  let fed = 0;
  while (fed < STREAM_BYTES) {
    // Alternating, so that other load on the machine affects both equally.
    bareMs += timed(() => parseLines(block));
    ms += timed(() => {
      for (let from = 0; from < block.length; from += CHUNK_BYTES)
        watch.take('stdout', block.subarray(from, from + CHUNK_BYTES));
    });
    fed += block.length;
    if (earlyRssMb === 0 && fed >= EARLY_BYTES) earlyRssMb = settledRssMb();
  }
  const lateRssMb = settledRssMb();
  watch.end({ lastMessage: null });
  rmSync(place, { recursive: true });
  return { bareMs, ms, earlyRssMb, lateRssMb, events };
}

function parseLines(block: Buffer): void {
  let keys = 0;
  for (let from = 0, to = 0; (to = block.indexOf(10, from)) >= 0; from = to + 1)
    keys += Object.keys(JSON.parse(block.toString('utf8', from, to)) as object).length;
  if (keys === 0) throw new Error('nothing was parsed');
}

function timed(act: () => void): number {
  const began = performance.now();
  act();
  return performance.now() - began;
}

/** Counts the events reported in a later turn of the event loop than the one in which their line arrived. */
export async function turnFigures(folder: string) {
  const program = placeAgent('claude', folder);
  let turn = 0;
  let isOver = false;
  const count = (): void => {
    turn += 1;
    if (!isOver) setImmediate(count);
  };
  setImmediate(count);
  let arrived = -1;
  const late: number[] = [];
  const heard: number[] = [];
  const watch = watchOf('claude', path.join(folder, 'turns'), () => (turn === arrived ? heard : late).push(turn));
  const child: ChildProcess = spawn(program, [], { stdio: ['pipe', 'pipe', 'ignore'] });
  child.stdin?.end('DO=lines:1000');
  child.stdout?.on('data', (bytes: Buffer) => {
    arrived = turn;
    watch.take('stdout', bytes);
  });
  await once(child, 'close');
  isOver = true;
  watch.end({ lastMessage: null });
  return { events: heard.length + late.length, late: late.length, turns: new Set(heard).size };
}

function watchOf(agent: string, place: string, onEvent: (line: TranscriptLine) => void): AgentWatch {
  const adapter = AGENTS.find(known => known.agent === agent);
  if (adapter === undefined) throw new Error(`no ${agent}`);
  const hourMs = 3_600_000;
  return new AgentWatch({
    reader: adapter.reader({ approval: 'deny_interactive', maxTurns: undefined }),
    keeping: {
      transcript: path.join(place, 'transcript.ndjson'),
      stdout: path.join(place, 'stdout'),
      stderr: path.join(place, 'stderr'),
    },
    masking: { secrets: [], credentials: true },
    clocks: { idleMs: hourMs, toolIdleMs: hourMs, graceMs: hourMs },
    // Does not stop at the output limit, to show that memory stays constant beyond it.
    stop: () => {},
    onEvent,
  });
}

function settledRssMb(): number {
  globalThis.gc?.();
  globalThis.gc?.();
  return Math.round(process.memoryUsage.rss() / MB);
}
