import { describe, expect, test } from 'vitest';
import { codexCli } from '../../src/adapters/codex-cli.ts';
import { CALM, readLines, readStream, recordingOf, recordingsOf } from './recorded.ts';

interface Golden {
  readonly told: readonly string[];
  readonly ok: boolean | null;
  readonly failure?: readonly [reason: string, status: number | null, detail: string];
  /** The reason and the file. The call is always item_1, in line 5. */
  readonly denial?: readonly [reason: string, path: string | null];
  readonly final?: string;
  /** Turns, input, cached, output. */
  readonly usage?: readonly (number | null)[];
  readonly inFlight?: number;
}

/** The start of the thread, a warning about the model, and the start of the turn. */
const BEGIN = ['alive', 'alive note', 'alive'];
const FAILED = [...BEGIN, 'alive note', 'terminal final'];
const UNBLOCKED = [...BEGIN, 'progress tool_call', 'progress tool_result', 'progress message', 'terminal usage final'];
const BLOCKED = [
  ...BEGIN,
  'progress tool_call',
  'progress denial tool_result',
  'progress message',
  'terminal usage final',
];
const DONE = 'All done: final answer.';
const TWO_TURNS = [2, 200, 80, 40];

const GOLDEN: Record<string, Golden> = {
  api401: {
    told: FAILED,
    ok: false,
    failure: [
      'auth_missing',
      401,
      'unexpected status 401 Unauthorized: Incorrect API key provided, url: http://127.0.0.1:18765/v1/responses',
    ],
  },
  api500: {
    told: FAILED,
    ok: false,
    failure: ['api_error', null, 'We’re currently experiencing high demand, which may cause temporary errors.'],
  },
  'conn-cut': {
    told: FAILED,
    ok: false,
    failure: ['api_error', null, 'stream disconnected before completion: error sending request'],
  },
  filechange: {
    told: [
      'alive',
      'alive',
      'progress tool_call',
      'progress tool_result file_change',
      'progress message',
      'terminal usage final',
    ],
    ok: true,
    final: DONE,
    usage: TWO_TURNS,
  },
  // The command continued and exited with 0, so its output is not a denial.
  'net-blocked': {
    told: UNBLOCKED,
    ok: true,
    final: DONE,
    usage: TWO_TURNS,
  },
  'noauth-nonetwork-killed': {
    told: ['alive', 'alive', ...Array.from({ length: 9 }, () => 'alive retry')],
    ok: null,
    failure: ['api_error', null, 'Reconnecting... waiting for network (Connection failed: error sending request)'],
  },
  nokey: { told: FAILED, ok: false, failure: ['auth_missing', null, 'Missing environment variable: `FAKE_KEY`.'] },
  'outside-blocked': {
    told: UNBLOCKED,
    ok: true,
    final: DONE,
    usage: TWO_TURNS,
  },
  'readonly-blocked': {
    told: BLOCKED,
    ok: true,
    denial: ['/bin/bash: line 1: hello.txt: Read-only file system', 'hello.txt'],
    final: DONE,
    usage: TWO_TURNS,
  },
  schema: {
    told: [...BEGIN, 'progress message', 'terminal usage final'],
    ok: true,
    final: '{"ok":true}',
    usage: [1, 100, 40, 20],
  },
  'sigterm-midtool': {
    told: [...BEGIN, 'progress tool_call'],
    ok: null,
    usage: [1, null, null, null],
    inFlight: 1,
  },
  'sse-idle': {
    told: FAILED,
    ok: false,
    failure: ['api_error', null, 'stream disconnected before completion: idle timeout waiting for SSE'],
  },
  'write-ok': {
    told: [...BEGIN, 'progress tool_call', 'progress tool_result', 'progress message', 'terminal usage final'],
    ok: true,
    final: DONE,
    usage: TWO_TURNS,
  },
};

test('every recording of Codex has a test', () => {
  expect(recordingsOf('codex')).toEqual(Object.keys(GOLDEN).sort());
});

describe.each(Object.entries(GOLDEN))('Codex, %s', (name, golden) => {
  const { told, reading, inFlight } = readStream(codexCli, recordingOf('codex', name));

  test('yields the expected events for each line', () => {
    expect(told).toEqual(golden.told);
    expect(inFlight).toBe(golden.inFlight ?? 0);
    expect(reading.lines).toEqual({ total: golden.told.length, unknown: 0, broken: 0, oversized: 0 });
    expect(reading.session).toMatch(/^01a1e0[0-9a-f-]{30}$/);
    expect(reading.model).toBeNull();
  });

  test('reports the expected ending', () => {
    const word = golden.ok === true ? 'turn.completed' : 'turn.failed';
    expect(reading.terminal).toEqual(golden.ok === null ? null : { ok: golden.ok, word });
    const [reason, status, detail] = golden.failure ?? [];
    expect(reading.failure).toEqual(golden.failure ? { reason, status, detail } : null);
    expect(reading.finalText).toBe(golden.final ?? null);
  });

  test('reports a denial only if its output shows a block', () => {
    const [reason, path] = golden.denial ?? [];
    const from = { isNetwork: false, fromOutput: true, native_line: 5 };
    const denial = { tool: 'command_execution', call: 'item_1', reason, path, ...from };
    expect(reading.denials).toEqual(golden.denial ? [denial] : []);
    expect(reading.denialCount).toBe(golden.denial ? 1 : 0);
    const strict = readStream(codexCli, recordingOf('codex', name), { ...CALM, approval: 'fail_on_prompt' });
    const killed = strict.lines.flatMap(({ sign }, index) => (sign === 'kill' ? [index + 1] : []));
    expect(killed).toEqual(golden.denial ? [5] : []);
  });

  test('reports the expected usage', () => {
    const [turns = null, input_tokens = null, cached_input_tokens = null, output_tokens = null] = golden.usage ?? [];
    expect(reading.usage).toEqual({ turns, input_tokens, cached_input_tokens, output_tokens, cost_usd: null });
  });
});

test('yields complete events for a command, its result and a file change', () => {
  const { lines } = readStream(codexCli, recordingOf('codex', 'readonly-blocked'));
  const command = '/bin/bash -lc "printf \\"hello from fake\\\\n\\" > hello.txt"';
  const output = { text: '/bin/bash: line 1: hello.txt: Read-only file system\n' };
  expect(lines[3]?.events).toEqual([
    {
      kind: 'tool_call',
      call: 'item_1',
      tool: 'command_execution',
      input: { text: JSON.stringify({ command }) },
      command: { text: command },
    },
  ]);
  expect(lines[4]?.events.at(-1)).toEqual({ kind: 'tool_result', call: 'item_1', ok: false, output, exit_code: 1 });
  expect(readStream(codexCli, recordingOf('codex', 'filechange')).lines[3]?.events.at(-1)).toEqual({
    kind: 'file_change',
    path: '/workspace/hello.txt',
    change: 'add',
  });
});

test('reports retries with their number', () => {
  const { lines } = readStream(codexCli, recordingOf('codex', 'noauth-nonetwork-killed'));
  const attempts = lines.flatMap(({ events }) => events).map(event => event.kind === 'retry' && event.attempt);
  expect(attempts).toEqual([2, 3, 4, 5, null, null, null, null, null]);
});

describe('the Codex reader', () => {
  test('prefers the message file to the stream unless the file is empty', () => {
    const stream = recordingOf('codex', 'write-ok');
    expect(readStream(codexCli, stream, CALM, 'From the file.').reading.finalText).toBe('From the file.');
    expect(readStream(codexCli, stream, CALM, '').reading.finalText).toBe(DONE);
  });

  const item = (type: string, id: string, what: object) => JSON.stringify({ type, item: { id, ...what } });
  const command = { type: 'command_execution', command: 'true', aggregated_output: '' };
  const begun = (id: string) => item('item.started', id, { ...command, exit_code: null, status: 'in_progress' });
  const done = (id: string) => item('item.completed', id, { ...command, exit_code: 0, status: 'completed' });
  const said = (id: string) => item('item.completed', id, { type: 'agent_message', text: 'x' });

  test.each([
    ['one answer', [said('a')], 1],
    ['text before a command belongs to the same answer', [said('a'), begun('b'), done('b')], 1],
    ['a command and the text after it', [begun('a'), done('a'), said('b')], 2],
    ['two commands in parallel', [begun('a'), begun('b'), done('a'), done('b'), said('c')], 2],
    ['two commands in sequence', [begun('a'), done('a'), begun('b'), done('b'), said('c')], 3],
    ['a command that appears only when it ends', [done('a'), said('b')], 2],
  ])('counts model answers as turns: %s', (_, lines, turns) => {
    expect(readLines(codexCli, lines).reading.usage.turns).toBe(turns);
    expect(readLines(codexCli, lines, { ...CALM, maxTurns: turns }).lines.map(({ sign }) => sign)).not.toContain(
      'kill',
    );
    const bounded = readLines(codexCli, lines, { ...CALM, maxTurns: turns - 1 });
    expect(bounded.lines.find(({ sign }) => sign === 'kill')?.reason).toBe('limit_turns');
  });

  test('sums the usage of several turns', () => {
    const turn = JSON.stringify({
      type: 'turn.completed',
      usage: { input_tokens: 5, cached_input_tokens: 2, output_tokens: 1 },
    });
    expect(readLines(codexCli, [turn, turn]).reading.usage).toMatchObject({
      input_tokens: 10,
      cached_input_tokens: 4,
      output_tokens: 2,
    });
  });

  test('reports a declined call as a denial', () => {
    const { reading, told } = readLines(codexCli, [
      item('item.completed', 'a', { ...command, exit_code: null, status: 'declined' }),
    ]);
    expect(told).toEqual(['progress tool_call denial tool_result']);
    expect(reading.denials[0]).toMatchObject({ call: 'a', reason: 'declined by codex' });
  });

  test.each([
    ['its sandbox is missing', 'bwrap: execvp codex-linux-sandbox: No such file or directory', 1, 'blocked'],
    ['a Rust error', 'error: x: Read-only file system (os error 30)', 1, 'blocked'],
    ['a Rust error, but the command succeeded', 'error: x: Read-only file system (os error 30)', 0, 'not'],
    ['a Python error', "OSError: [Errno 30] Read-only file system: '/x'", 1, 'blocked'],
    ['a Node error', "Error: EROFS: read-only file system, open '/x'", 1, 'blocked'],
    ['no name resolution', 'curl: (6) Could not resolve host: example.com', 6, 'from the network'],
    ['no route', 'connect: Network is unreachable', 1, 'from the network'],
    ['no name resolution, but the command succeeded', 'curl: (6) Could not resolve host: example.com', 0, 'not'],
    ['a file that mentions such an error', 'When you see Read-only file system, remount it.', 0, 'not'],
    ['an ordinary permission error', 'cat: x: Permission denied', 1, 'not'],
  ])('detects whether a command was blocked: %s', (_, aggregated_output, exit_code, looks) => {
    const status = exit_code === 0 ? 'completed' : 'failed';
    const line = item('item.completed', 'a', { ...command, aggregated_output, exit_code, status });
    const { denials } = readLines(codexCli, [line]).reading;
    expect(denials.map(({ isNetwork }) => (isNetwork ? 'from the network' : 'blocked'))).toEqual(
      looks === 'not' ? [] : [looks],
    );
  });

  test.each([
    ['outside the work folder as blocked', '/etc/motd', ['the change to /etc/motd failed']],
    ['in the work folder as an ordinary failure', '/work/src/a.ts', []],
  ])('reports a failed change to a file %s', (_, path, reasons) => {
    const change = { type: 'file_change', changes: [{ path, kind: 'add' }], status: 'failed' };
    const isGuarded = (one: string): boolean => one.startsWith('/etc/');
    const { denials } = readLines(codexCli, [item('item.completed', 'a', change)], { ...CALM, isGuarded }).reading;
    expect(denials.map(({ reason }) => reason)).toEqual(reasons);
  });

  test('stops Codex when it asks the user', () => {
    expect(readLines(codexCli, ['{"type":"request_user_input"}']).lines[0]).toMatchObject({
      sign: 'kill',
      reason: 'prompt_detected',
    });
  });

  test('searches any output for sandbox errors in bounded time', () => {
    const aggregated_output = `${'x'.repeat(40_000)}${': Read-only file system'.repeat(500)}`;
    const line = item('item.completed', 'a', { ...command, aggregated_output, exit_code: 1, status: 'failed' });
    expect(
      readLines(
        codexCli,
        Array.from({ length: 50 }, () => line),
      ).reading.denialCount,
    ).toBe(1);
  }, 5_000);
});

test('counts turns while a command runs in the background', () => {
  const item = (when: string, id: string): string =>
    JSON.stringify({ type: `item.${when}`, item: { id, type: 'command_execution', command: 'x', exit_code: 0 } });
  const turns = (...lines: readonly string[]): number | null => readLines(codexCli, lines).reading.usage.turns;
  const background = item('started', 'a');
  expect(turns(background, item('started', 'b'), item('completed', 'b'), item('started', 'c'))).toBe(2);
  // Parallel calls; the first one ends first.
  expect(turns(background, item('started', 'b'), item('completed', 'a'), item('started', 'c'))).toBe(1);
});
