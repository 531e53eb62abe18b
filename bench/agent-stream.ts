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

/** How fast the stream of an agent becomes a transcript, beside parsing its lines and nothing else; and in how much memory. */
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

/** All that was ever recorded of an agent, again and again, up to whole lines of about so many bytes. */
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

/** As it is done while an agent lives, with all that is kept of it on the disk. */
function watchAll(agent: string, block: Buffer, folder: string) {
  const place = path.join(folder, `stream-${agent}`);
  let events = 0;
  const watch = watchOf(agent, place, () => events++);
  let bareMs = 0;
  let ms = 0;
  let earlyRssMb = 0;
  let fed = 0;
  while (fed < STREAM_BYTES) {
    // By turns, so that what else the machine does falls on both alike.
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

/** Whether every event was told in the turn of the event loop in which its line came. Turns are counted, not timed. */
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
    // More than is kept of an agent is a reason to stop it; here it goes on, to see that memory does not.
    stop: () => {},
    onEvent,
  });
}

function settledRssMb(): number {
  globalThis.gc?.();
  globalThis.gc?.();
  return Math.round(process.memoryUsage.rss() / MB);
}
