import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import type { AgentAdapter, ReaderOptions } from '../../src/adapters/agent.ts';
import type { AgentReading, LineReading } from '../../src/contracts/agent-step/reading.ts';
import { ROOT } from '../support/support.ts';

const FOLDER = path.join(ROOT, 'tests', 'fixtures', 'agent-cli');

/** The recorded output of real agents, by file name. */
export function recordingsOf(agent: string): string[] {
  return readdirSync(FOLDER)
    .filter(file => file.startsWith(`${agent}-`) && file.endsWith('.stdout'))
    .map(file => file.slice(agent.length + 1, -'.stdout'.length))
    .sort();
}

export function recordingOf(agent: string, name: string): Buffer {
  return readFileSync(path.join(FOLDER, `${agent}-${name}.stdout`));
}

export const CALM: ReaderOptions = { approval: 'deny_interactive', maxTurns: undefined };

export interface Read {
  readonly lines: readonly LineReading[];
  readonly reading: AgentReading;
  readonly inFlight: number;
  /** Summarizes each line, for example `progress message`. */
  readonly told: readonly string[];
}

/** Reads a stream line by line. */
export function readStream(
  adapter: AgentAdapter,
  stream: Uint8Array,
  options = CALM,
  lastMessage: string | null = null,
): Read {
  return readLines(adapter, linesIn(stream), options, lastMessage);
}

export function readLines(
  adapter: AgentAdapter,
  given: readonly (Uint8Array | string | null)[],
  options = CALM,
  lastMessage: string | null = null,
): Read {
  const reader = adapter.reader(options);
  const lines = given.map(line => reader.line(typeof line === 'string' ? Buffer.from(line) : line));
  const { inFlight } = reader;
  const told = lines.map(({ sign = 'nothing', events }) => [sign, ...events.map(({ kind }) => kind)].join(' '));
  return { lines, reading: reader.end({ lastMessage }), inFlight, told };
}

export function linesIn(stream: Uint8Array): Uint8Array[] {
  const lines: Uint8Array[] = [];
  let from = 0;
  for (let feed = stream.indexOf(10); feed >= 0; feed = stream.indexOf(10, from)) {
    lines.push(stream.subarray(from, feed));
    from = feed + 1;
  }
  if (from < stream.length) lines.push(stream.subarray(from));
  return lines;
}
