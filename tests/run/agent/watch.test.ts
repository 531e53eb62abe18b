import { readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import type { AgentAdapter } from '../../../src/adapters/agent.ts';
import { AGENTS } from '../../../src/adapters/agents.ts';
import type { TranscriptLine } from '../../../src/contracts/agent-step/reading.ts';
import { AgentWatch } from '../../../src/run/agent/watch.ts';
import { temporaryFolder } from '../../support/support.ts';

function watching(
  secrets: readonly string[] = [],
  idleMs = 60_000,
  { agent = 'claude', maxTurns }: { agent?: string; maxTurns?: number } = {},
) {
  const folder = temporaryFolder();
  const keeping = {
    transcript: path.join(folder, 'transcript.ndjson'),
    stdout: path.join(folder, 'stdout.log'),
    stderr: path.join(folder, 'stderr.log'),
  };
  const heard: TranscriptLine[] = [];
  const stopped: string[] = [];
  const adapter = AGENTS.find(one => one.agent === agent) as AgentAdapter;
  const watch = new AgentWatch({
    reader: adapter.reader({ approval: 'deny_interactive', maxTurns }),
    keeping,
    clocks: { idleMs, toolIdleMs: 60_000, graceMs: 60_000 },
    masking: { secrets, credentials: true },
    stop: by => void stopped.push(by),
    onEvent: line => void heard.push(line),
  });
  return { watch, heard, stopped, textOf: (file: keyof typeof keeping) => readFileSync(keeping[file], 'utf8') };
}

const SAID =
  '{"type":"assistant","message":{"model":"m","content":[{"type":"text","text":"the word is \\u0068unter2-hunter2"}]}}\n';

test('reports an event as soon as its line is complete', () => {
  const { watch, heard } = watching();
  watch.take('stdout', Buffer.from(SAID.slice(0, 40)));
  expect(heard).toEqual([]);
  watch.take('stdout', Buffer.from(SAID.slice(40)));
  expect(heard.map(({ kind, seq, native_line }) => ({ kind, seq, native_line }))).toEqual([
    { kind: 'message', seq: 1, native_line: 1 },
  ]);
  watch.end({ lastMessage: null });
});

test('masks a secret in the transcript even if JSON escapes it', () => {
  const { watch, textOf } = watching(['hunter2-hunter2']);
  watch.take('stdout', Buffer.from(SAID));
  const { events, files } = watch.end({ lastMessage: null });
  expect(events).toBe(1);
  expect(textOf('transcript')).toContain('the word is ');
  expect(textOf('transcript')).not.toContain('hunter2');
  expect(files.transcript.bytes).toBe(Buffer.byteLength(textOf('transcript')));
  expect(JSON.parse(textOf('transcript'))).toMatchObject({ kind: 'message' });
});

test.each([
  ['reports a prompt, not a stall, even if the idle timeout is shorter', 1_000, 'stdout'],
  ['reports a prompt on stderr, not a stall', 1_000, 'stderr'],
  ['stops at a prompt before the idle timeout', 60_000, 'stdout'],
] as const)('%s', (_, idleMs, stream) => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
  onTestFinished(() => void vi.useRealTimers());
  const { watch, stopped } = watching([], idleMs);
  watch.take(stream, Buffer.from('Do you want to make this edit? (y/n) '));
  vi.advanceTimersByTime(Math.min(idleMs - 1, 1_999));
  expect(stopped).toEqual([]);
  vi.advanceTimersByTime(2);
  expect(stopped).toEqual(['policy']);
  expect(watch.end({ lastMessage: null }).stoppedFor).toMatchObject({ reason: 'prompt_detected' });
});

test.each([
  ['detects a prompt on stderr even if earlier stdout arrives after it', 499, ['policy']],
  ['does not stop an agent that asks on stderr and continues', 600, []],
] as const)('%s', (_, laterMs, expected) => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
  onTestFinished(() => void vi.useRealTimers());
  const { watch, stopped } = watching();
  watch.take('stderr', Buffer.from('Do you want to make this edit? (y/n) '));
  vi.advanceTimersByTime(laterMs);
  watch.take('stdout', Buffer.from(SAID));
  vi.advanceTimersByTime(14_999);
  expect(stopped).toEqual([]);
  vi.advanceTimersByTime(10_000);
  expect(stopped).toEqual(expected);
  watch.end({ lastMessage: null });
});

test('does not stop an agent that asks and continues at once', () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
  onTestFinished(() => void vi.useRealTimers());
  const { watch, stopped } = watching();
  watch.take('stderr', Buffer.from('Continue? '));
  watch.take('stderr', Buffer.from('yes\n'));
  watch.take('stdout', Buffer.from(SAID));
  vi.advanceTimersByTime(10_000);
  expect(stopped).toEqual([]);
  expect(watch.end({ lastMessage: null }).stoppedFor).toBeUndefined();
});

function fakeTimers(): void {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
  onTestFinished(() => void vi.useRealTimers());
}

/** A background command of Codex: it starts and does not end. */
const begins = (id: string): Buffer =>
  Buffer.from(
    `${JSON.stringify({ type: 'item.started', item: { id, type: 'command_execution', command: 'sleep 1000' } })}\n`,
  );

test('bytes from a slow model count as progress until they stop', () => {
  fakeTimers();
  const { watch, stopped } = watching([], 2_000);
  for (let piece = 0; piece < 100; piece++) {
    watch.heard({ isFirst: piece === 0, answersBefore: 0 });
    vi.advanceTimersByTime(1_000);
  }
  expect(stopped).toEqual([]);
  vi.advanceTimersByTime(1_001);
  expect(stopped).toEqual(['idle']);
  watch.end({ lastMessage: null });
});

test('a command that Codex is waiting for may be silent longer than Codex itself', () => {
  fakeTimers();
  const { watch, stopped } = watching([], 2_000, { agent: 'codex' });
  watch.heard({ isFirst: true, answersBefore: 0 });
  watch.take('stdout', begins('item_0'));
  // The end of the model answer that requested the command.
  watch.heard({ isFirst: false, answersBefore: 0 });
  vi.advanceTimersByTime(59_999);
  expect(stopped).toEqual([]);
  vi.advanceTimersByTime(2);
  expect(stopped).toEqual(['idle']);
  watch.end({ lastMessage: null });
});

test('a background command of Codex does not count as progress', () => {
  fakeTimers();
  const { watch, stopped } = watching([], 2_000, { agent: 'codex' });
  watch.heard({ isFirst: true, answersBefore: 0 });
  watch.take('stdout', begins('item_0'));
  watch.heard({ isFirst: true, answersBefore: 1 });
  vi.advanceTimersByTime(1_999);
  expect(stopped).toEqual([]);
  vi.advanceTimersByTime(2);
  expect(stopped).toEqual(['idle']);
  watch.end({ lastMessage: null });
});

test('commands that never end do not hide that Codex reached its turn limit', () => {
  const { watch, stopped } = watching([], 60_000, { agent: 'codex', maxTurns: 2 });
  for (const turn of [0, 1]) {
    watch.heard({ isFirst: true, answersBefore: turn });
    watch.take('stdout', begins(`item_${turn}`));
  }
  expect(stopped).toEqual([]);
  watch.heard({ isFirst: true, answersBefore: 2 });
  expect(stopped).toEqual(['policy']);
  expect(watch.end({ lastMessage: null }).stoppedFor).toMatchObject({ reason: 'limit_turns' });
});

test('Claude counts its own turns, so extra model output does not stop it', () => {
  const { watch, stopped } = watching([], 60_000, { maxTurns: 1 });
  watch.heard({ isFirst: true, answersBefore: 5 });
  expect(stopped).toEqual([]);
  watch.end({ lastMessage: null });
});
