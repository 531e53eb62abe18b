import { readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import type { AgentAdapter } from '../../src/adapters/agent.ts';
import { AGENTS } from '../../src/adapters/agents.ts';
import type { TranscriptLine } from '../../src/contracts/agent-step/reading.ts';
import { AgentWatch } from '../../src/run/agent/watch.ts';
import { temporaryFolder } from '../support.ts';

function watching(secrets: readonly string[] = [], idleMs = 60_000) {
  const folder = temporaryFolder();
  const keeping = {
    transcript: path.join(folder, 'transcript.ndjson'),
    stdout: path.join(folder, 'stdout.log'),
    stderr: path.join(folder, 'stderr.log'),
  };
  const heard: TranscriptLine[] = [];
  const stopped: string[] = [];
  const [adapter] = AGENTS as [AgentAdapter];
  const watch = new AgentWatch({
    reader: adapter.reader({ approval: 'deny_interactive', maxTurns: undefined }),
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

test('what the agent says is told before the piece that brings it is taken, wherever it is broken', () => {
  const { watch, heard } = watching();
  watch.take('stdout', Buffer.from(SAID.slice(0, 40)));
  expect(heard).toEqual([]);
  watch.take('stdout', Buffer.from(SAID.slice(40)));
  expect(heard.map(({ kind, seq, native_line }) => ({ kind, seq, native_line }))).toEqual([
    { kind: 'message', seq: 1, native_line: 1 },
  ]);
  watch.end({ lastMessage: null });
});

test('a secret that is spelt otherwise in the bytes does not stand in the transcript', () => {
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
  ['who asks is not one who does not get on, also where the patience for that is shorter', 1_000, 'stdout'],
  ['who asks on stderr, neither', 1_000, 'stderr'],
  ['who asks is not waited for until it should have got on', 60_000, 'stdout'],
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
  ['who asks on stderr asks, whatever of its stdout is heard only then', 499, ['policy']],
  ['who asks on stderr and goes on is left alone', 600, []],
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

test('who asks and goes on at once is left alone', () => {
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
