import { describe, expect, test } from 'vitest';
import { claudeCli } from '../../src/adapters/claude-cli.ts';
import { CALM, readLines, readStream, recordingOf, recordingsOf } from './recorded.ts';

interface Golden {
  readonly told: readonly string[];
  readonly terminal: readonly [ok: boolean, word: string] | null;
  readonly failure?: readonly [reason: string, status: number | null, detail: string];
  readonly denials?: readonly (readonly [tool: string, call: string, path: string, line: number, reason: string])[];
  readonly final?: string | null;
  /** Turns, input, output, cost. */
  readonly usage?: readonly (number | null)[];
  readonly inFlight?: number;
  readonly model?: string | null;
}

const DONE = 'All done: final answer.';
const END = 'terminal usage final';
const TWO_TURNS = [2, 200, 40, 0.0016];
const STEP = ['progress tool_call', 'progress tool_result'];
const NOTHING_USED = [1, 0, 0, 0];
const DENIED = ['alive note', 'progress tool_call', 'progress denial', 'progress tool_result', 'progress message', END];
const NOT_LOGGED_IN = 'Not logged in · Please run /login';
const OVERLOADED =
  'API Error: 529 Overloaded. This is a server-side issue, usually temporary — try again in a moment. If it persists, check your inference gateway (127.0.0.1:18765).';
const DROPPED =
  'API Error: Connection dropped (ECONNRESET). Check the gateway set in ANTHROPIC_BASE_URL, then try again.';

const GOLDEN: Record<string, Golden> = {
  // Until the last line, older versions report a denial only in the tool result.
  '2.1.197-outside-denied': {
    told: ['alive note', 'progress tool_call', 'progress denial tool_result', 'progress message', END],
    terminal: [true, 'completed'],
    denials: [
      ['Write', 'toolu_2', '/elsewhere/outside.txt', 3, 'Claude requested permissions to write to /elsewhere/outside'],
    ],
    final: 'All done.',
    usage: [2, 200, 40, 0.002],
    model: 'claude-opus-4-8[1m]',
  },
  api400: {
    told: ['alive note', 'alive message', END],
    terminal: [false, 'api_error'],
    failure: ['api_error', 400, 'API Error: 400 bad request'],
    final: 'API Error: 400 bad request',
    usage: NOTHING_USED,
  },
  'api401-retrying-killed': {
    told: ['alive note', ...Array.from({ length: 7 }, () => 'alive retry')],
    terminal: null,
    failure: ['auth_missing', 401, 'authentication_failed'],
  },
  api529: {
    told: ['alive note', 'alive retry', 'alive message', END],
    terminal: [false, 'api_error'],
    failure: ['api_error', 529, OVERLOADED],
    final: OVERLOADED,
    usage: NOTHING_USED,
  },
  'bash-acceptedits': {
    told: ['alive note', ...STEP, 'progress message', END],
    terminal: [true, 'completed'],
    final: DONE,
    usage: TWO_TURNS,
  },
  budget: {
    told: ['alive note', ...STEP, ...STEP, ...STEP, 'progress tool_call', END],
    terminal: [false, 'budget_exhausted'],
    failure: ['limit_budget', null, 'Reached maximum budget ($0.003)'],
    // `usage` has 300 and 60: it omits the answer that exceeded the limit.
    usage: [4, 400, 80, 0.0032],
    inFlight: 1,
  },
  'conn-cut': {
    told: ['alive note', 'alive retry', 'alive message', END],
    terminal: [false, 'api_error'],
    failure: ['api_error', null, DROPPED],
    final: DROPPED,
    usage: NOTHING_USED,
  },
  'dontask-denied-exit0': {
    told: DENIED,
    terminal: [true, 'completed'],
    denials: [['Write', 'toolu_fake_3', '/workspace/hello.txt', 3, 'Permission to use Write has been denied because']],
    final: DONE,
    usage: TWO_TURNS,
  },
  'hang-killed': { told: ['alive note'], terminal: null },
  maxturns: {
    told: ['alive note', ...STEP, ...STEP, ...STEP, END],
    terminal: [false, 'max_turns'],
    failure: ['limit_turns', null, 'Reached maximum number of turns (3)'],
    usage: [4, 300, 60, 0.0024000000000000002],
  },
  'noauth-json': {
    told: [END],
    terminal: [false, 'api_error'],
    failure: ['auth_missing', null, NOT_LOGGED_IN],
    final: NOT_LOGGED_IN,
    usage: NOTHING_USED,
    model: null,
  },
  noauth: {
    told: ['alive note', 'alive message', END],
    terminal: [false, 'api_error'],
    failure: ['auth_missing', null, NOT_LOGGED_IN],
    final: NOT_LOGGED_IN,
    usage: NOTHING_USED,
  },
  'outside-denied': {
    told: DENIED,
    terminal: [true, 'completed'],
    denials: [['Write', 'toolu_fake_15', '/elsewhere/outside.txt', 3, 'Path is outside allowed working directories']],
    final: DONE,
    usage: TWO_TURNS,
  },
  'plan-denied': {
    told: DENIED,
    terminal: [true, 'completed'],
    denials: [['Write', 'toolu_fake_11', '/workspace/hello.txt', 3, 'Cannot write to /workspace/hello.txt while in']],
    final: DONE,
    usage: TWO_TURNS,
  },
  'promptsnone-denied': {
    told: DENIED,
    terminal: [true, 'completed'],
    denials: [['Write', 'toolu_fake_9', '/workspace/hello.txt', 3, 'no approval surface in this session']],
    final: DONE,
    usage: TWO_TURNS,
  },
  'readonly-tools': {
    told: ['alive note', 'progress tool_call', 'progress denial tool_result', 'progress message', END],
    terminal: [true, 'completed'],
    denials: [['Write', 'toolu_fake_13', '/workspace/hello.txt', 3, 'Error: No such tool available: Write.']],
    final: DONE,
    usage: TWO_TURNS,
  },
  'schema-missing': {
    told: ['alive note', 'progress message', 'progress message', 'progress message', END],
    terminal: [false, 'no_structured_output'],
    failure: ['schema_missing', null, 'The answer does not match the requested schema.'],
    final: '{"ok":true}',
    usage: TWO_TURNS,
  },
  'write-ok': {
    told: ['alive note', 'progress tool_call', 'progress tool_result file_change', 'progress message', END],
    terminal: [true, 'completed'],
    final: DONE,
    usage: TWO_TURNS,
  },
};

test('every recording of Claude has a test', () => {
  expect(recordingsOf('claude')).toEqual(Object.keys(GOLDEN).sort());
});

describe.each(Object.entries(GOLDEN))('Claude, %s', (name, golden) => {
  const { told, reading, inFlight, lines } = readStream(claudeCli, recordingOf('claude', name));

  test('yields the expected events for each line', () => {
    expect(told).toEqual(golden.told);
    expect(inFlight).toBe(golden.inFlight ?? 0);
    expect(reading.lines).toEqual({ total: golden.told.length, unknown: 0, broken: 0, oversized: 0 });
  });

  test('reports the expected ending', () => {
    const [ok, word] = golden.terminal ?? [];
    expect(reading.terminal).toEqual(golden.terminal && { ok, word });
    const [reason, status, detail] = golden.failure ?? [];
    expect(reading.failure).toEqual(golden.failure ? { reason, status, detail } : null);
    expect(reading.finalText).toBe(golden.final ?? null);
    expect(reading.model).toBe(golden.model === undefined ? 'claude-opus-5-5' : golden.model);
    expect(reading.session).toMatch(/^[0-9a-f-]{36}$/);
  });

  test('reports each denial once', () => {
    const { denials = [] } = golden;
    expect(reading.denialCount).toBe(denials.length);
    expect(reading.denials.map(({ tool, call, path, native_line }) => [tool, call, path, native_line])).toEqual(
      denials.map(denial => denial.slice(0, 4)),
    );
    for (const [index, { reason }] of reading.denials.entries()) {
      expect(reason.startsWith(denials[index]?.[4] ?? 'none'), reason).toBe(true);
    }
  });

  test('reports the expected usage', () => {
    const [turns = null, input_tokens = null, output_tokens = null, cost_usd = null] = golden.usage ?? [];
    const cached_input_tokens = golden.usage ? 0 : null;
    expect(reading.usage).toEqual({ turns, input_tokens, cached_input_tokens, output_tokens, cost_usd });
  });

  test('stops at the first denial only under fail_on_prompt', () => {
    const strict = readStream(claudeCli, recordingOf('claude', name), {
      approval: 'fail_on_prompt',
      maxTurns: undefined,
    });
    const first = golden.denials?.[0]?.[3];
    for (const [index, { sign, reason }] of strict.lines.entries()) {
      const isFirst = index + 1 === first;
      expect({ sign, reason }).toEqual(
        isFirst ? { sign: 'kill', reason: 'denied_tool' } : { sign: lines[index]?.sign, reason: undefined },
      );
    }
  });
});

test('yields complete events for a call, its result and its file change', () => {
  const { lines } = readStream(claudeCli, recordingOf('claude', 'write-ok'));
  expect(lines[0]?.events).toEqual([
    { kind: 'note', level: 'info', text: 'model claude-opus-5-5, mode acceptEdits, 22 tools' },
  ]);
  expect(lines[1]?.events).toEqual([
    {
      kind: 'tool_call',
      call: 'toolu_fake_1',
      tool: 'Write',
      input: { text: '{"file_path":"/workspace/hello.txt","content":"hello from fake\\n"}' },
      path: '/workspace/hello.txt',
    },
  ]);
  const output =
    'File created successfully at: /workspace/hello.txt (file state is current in your context — no need to Read it back)';
  expect(lines[2]?.events).toEqual([
    { kind: 'tool_result', call: 'toolu_fake_1', ok: true, output: { text: output }, exit_code: null },
    { kind: 'file_change', path: '/workspace/hello.txt', change: 'add' },
  ]);
  expect(lines[3]?.events).toEqual([{ kind: 'message', role: 'assistant', body: { text: DONE } }]);
  expect(lines[4]?.events.at(-1)).toEqual({ kind: 'final', ok: true, body: { text: DONE } });
});

test('yields the command of a call, and the number and status of a retry', () => {
  expect(readStream(claudeCli, recordingOf('claude', 'bash-acceptedits')).lines[1]?.events[0]).toMatchObject({
    tool: 'Bash',
    command: { text: 'echo from-bash > bash.txt && cat bash.txt' },
  });
  expect(readStream(claudeCli, recordingOf('claude', 'api529')).lines[1]?.events).toEqual([
    { kind: 'retry', attempt: 1, status: 529, message: 'overloaded' },
  ]);
});

describe('the Claude reader', () => {
  const used = (name: string, input: object): string =>
    JSON.stringify({ type: 'assistant', message: { content: [{ type: 'tool_use', id: 'a', name, input }] } });
  const failed = (content: string): string =>
    JSON.stringify({
      type: 'user',
      message: { content: [{ type: 'tool_result', tool_use_id: 'a', is_error: true, content }] },
    });

  test.each(['AskUserQuestion', 'EnterPlanMode', 'ExitPlanMode'])(
    'stops Claude when it asks the user with %s',
    tool => {
      for (const approval of ['deny_interactive', 'fail_on_prompt'] as const) {
        const { lines, reading } = readLines(claudeCli, [used(tool, {})], { ...CALM, approval });
        expect(lines[0]).toMatchObject({ sign: 'kill', reason: 'prompt_detected' });
        expect(reading.denials).toMatchObject([{ tool, isQuestion: true }]);
      }
    },
  );

  test.each(['can_use_tool', 'elicitation'])('stops Claude when it asks its host: %s', subtype => {
    const line = JSON.stringify({ type: 'control_request', request: { subtype } });
    expect(readLines(claudeCli, [line]).lines[0]).toMatchObject({ sign: 'kill', reason: 'prompt_detected' });
  });

  test.each([
    ['bash: line 1: /etc/motd: Read-only file system', '/etc/motd'],
    ['(eval):1: read-only file system: /etc/motd', '/etc/motd'],
    ['zsh:12: operation not permitted: docs/a b.md', 'docs/a b.md'],
    ["touch: cannot touch '/work/a b': Read-only file system", '/work/a b'],
    ["EROFS: read-only file system, open '/work/docs/x'", '/work/docs/x'],
    ["OSError: [Errno 30] Read-only file system: '/work/x'", '/work/x'],
    ['error: could not write config file .git/config: Device or resource busy', '.git/config'],
  ])('reports a denial if a failed command prints: %s', (output, path) => {
    const { denials } = readLines(claudeCli, [
      used('Bash', { command: 'x' }),
      failed(`Exit code 1\n${output}`),
    ]).reading;
    expect(denials).toMatchObject([{ tool: 'Bash', path, fromOutput: true }]);
  });

  test('reports no denial if the command succeeded, whatever it printed', () => {
    const result = failed('a.txt: Read-only file system').replace('"is_error":true', '"is_error":false');
    expect(readLines(claudeCli, [used('Bash', { command: 'x' }), result]).reading.denials).toEqual([]);
  });

  test('names the file that a denied command needed approval for', () => {
    const message =
      'It was denied. What required approval: Claude requested permissions to edit /work/.git/hooks/x which is a sensitive file.';
    const line = JSON.stringify({
      type: 'system',
      subtype: 'permission_denied',
      tool_name: 'Bash',
      tool_use_id: 'a',
      message,
    });
    expect(readLines(claudeCli, [line]).reading.denials).toMatchObject([{ tool: 'Bash', path: '/work/.git/hooks/x' }]);
  });
});
