import { describe, expect, test } from 'vitest';
import type { AgentAdapter, AgentCall } from '../../src/adapters/agent.ts';
import { AGENTS, agentNamed } from '../../src/adapters/agents.ts';
import { transcriptLine } from '../../src/contracts/agent-step/transcript-line.ts';
import { check } from '../../src/contracts/check.ts';
import { isForbidden } from '../../src/contracts/runner/variables.ts';
import { CALL, POLICIES } from './calls-made.ts';
import { linesIn, type Read, readLines, readStream, recordingOf, recordingsOf } from './recorded.ts';

const KIB = 1024;

/** A successful stream. */
const GOOD: Record<string, string> = { claude: 'write-ok', codex: 'write-ok' };
const goodOf = ({ agent }: AgentAdapter): Buffer => recordingOf(agent, GOOD[agent] as string);

/** The last line of a successful stream, and a message, by family. */
const WORDS: Record<string, { end: (text: string) => object; message: (text: string) => object }> = {
  claude: {
    end: text => ({ type: 'result', subtype: 'success', is_error: false, terminal_reason: 'completed', result: text }),
    message: text => ({ type: 'assistant', message: { content: [{ type: 'text', text }] } }),
  },
  codex: {
    end: () => ({ type: 'turn.completed', usage: { input_tokens: 1 } }),
    message: text => ({ type: 'item.completed', item: { id: 'i', type: 'agent_message', text } }),
  },
};
const wordsOf = ({ agent }: AgentAdapter) => WORDS[agent] as (typeof WORDS)['claude'] & object;

const json = (value: unknown): string => JSON.stringify(value);
/** Everything that a stream reports, except its line counts. */
const meaning = ({ reading }: Read) => ({ ...reading, lines: undefined });

describe('the agents', () => {
  test('are found by name and by family', () => {
    for (const adapter of AGENTS) {
      expect(agentNamed(adapter.agent)).toBe(adapter);
      expect(agentNamed(adapter.family)).toBe(adapter);
    }
    for (const word of ['', 'Claude', 'gemini', 'constructor', '__proto__']) expect(agentNamed(word)).toBeUndefined();
  });

  test.each([
    ['claude', '2.1.325 (Claude Code)\n', '2.1.325', 'known'],
    ['claude', '2.1.197 (Claude Code)\n', '2.1.197', 'known'],
    ['claude', '2.1.189 (Claude Code)\n', '2.1.189', 'unknown'],
    ['claude', '2.1.250 (Claude Code)\n', '2.1.250', 'unknown'],
    ['claude', '2.1.326 (Claude Code)\n', '2.1.326', 'newer'],
    ['claude', '2.2.0 (Claude Code)\n', '2.2.0', 'newer'],
    ['claude', '10.0.0 (Claude Code)\n', '10.0.0', 'newer'],
    ['claude', '3.0.0-beta.1 (Claude Code)\n', '3.0.0-beta.1', 'unknown'],
    ['claude', '2.1.325-rc.1 (Claude Code)\n', '2.1.325-rc.1', 'unknown'],
    ['claude', 'codex-cli 0.166.0\n', undefined, 'unknown'],
    ['claude', '', undefined, 'unknown'],
    ['codex', 'codex-cli 0.166.0\n', '0.166.0', 'known'],
    ['codex', 'WARNING: no aliases\ncodex-cli 0.166.3\n', '0.166.3', 'newer'],
    ['codex', 'codex-cli 0.167.0\n', '0.167.0', 'newer'],
    ['codex', 'codex-cli 0.165.9\n', '0.165.9', 'unknown'],
    ['codex', 'codex-cli 0.166.0-alpha.2\n', '0.166.0-alpha.2', 'unknown'],
    ['codex', '2.1.325 (Claude Code)', undefined, 'unknown'],
  ])('have their version parsed and classified: %s, %j', (agent, text, version, standing) => {
    const adapter = agentNamed(agent) as AgentAdapter;
    expect(adapter.versionIn(text)).toBe(version);
    if (version !== undefined) expect(adapter.standing(version)).toBe(standing);
  });
});

const NEWEST: Record<string, string> = { claude: '2.1.325', codex: '0.166.0' };

describe.each(AGENTS)('the $agent invocation', adapter => {
  const call = (changes: Partial<AgentCall>): AgentCall => ({ ...CALL, ...changes });

  test.each(['Fix the dates.', '-p --help', '', `${'x'.repeat(300 * KIB)}\n`, 'a\u0000b', '{"a":1}', "' ; rm -rf /"])(
    'passes the task unchanged, and only on standard input: %j',
    task => {
      for (const policy of POLICIES) {
        const { stdin, args, env, files } = adapter.invoke(call({ task, policy }));
        expect(stdin).toBe(task);
        if (task === '') continue;
        const elsewhere = [...args, ...Object.values(env), ...Object.values(files).map(({ text }) => text)];
        expect(elsewhere.filter(text => text.includes(task))).toEqual([]);
      }
    },
  );

  test('has no credential variables, and no flag that disables limits', () => {
    for (const policy of POLICIES) {
      for (const door of [CALL.door, undefined]) {
        const { env, args } = adapter.invoke(call({ policy, door }));
        expect(Object.keys(env).filter(isForbidden)).toEqual([]);
        expect(args.filter(arg => /bypass|dangerously|skip-permissions|yolo|full-auto/.test(arg))).toEqual([]);
      }
    }
  });

  test('never passes the proxy token as an argument, and passes no token without a proxy', () => {
    const token = 'a-word-for-the-door';
    const { args } = adapter.invoke(call({ door: { url: 'http://127.0.0.1:8417', token, as: 'key' } }));
    expect(args.join(' ')).not.toContain(token);
    const without = adapter.invoke(call({ door: undefined }));
    expect(json(without)).not.toContain('8417');
    expect(without.env).toEqual({});
  });

  test('uses the newest flags for an untested version', () => {
    expect(adapter.invoke(call({ version: '99.0.0' }))).toEqual(
      adapter.invoke(call({ version: NEWEST[adapter.agent] as string })),
    );
  });

  test('describes which part of the policy the agent enforces', () => {
    for (const policy of POLICIES) {
      const { notes } = adapter.invoke(call({ policy }));
      expect(notes.map(note => note.split(':')[0])).toEqual([
        'execution_posture',
        'network_posture',
        'approval_posture',
      ]);
    }
  });
});

describe.each(AGENTS)('the $agent reader', adapter => {
  const { end, message } = wordsOf(adapter);

  test('counts and ignores lines of unknown types', () => {
    const lines = linesIn(goodOf(adapter));
    const strange = ['{"type":"from.the.future","a":1}', '{}', '[]', 'null', '3', '"x"', '{"type":7}', '{"type":null}'];
    const mixed = lines.flatMap(line => [...strange, line]);
    const read = readLines(adapter, mixed);
    // Only the line numbers differ.
    expect(meaning(read)).toEqual(meaning(readLines(adapter, lines)));
    expect(read.reading.lines).toEqual({
      total: mixed.length,
      unknown: strange.length * lines.length,
      broken: 0,
      oversized: 0,
    });
    expect(read.lines[0]).toEqual({ events: [], sign: 'alive' });
  });

  test('counts and ignores lines that are not UTF-8, not JSON, empty or too long', () => {
    const lines = linesIn(goodOf(adapter));
    const bad = [new Uint8Array([0x7b, 0xff, 0x7d]), 'garbage', '{"type":', '\ufeff{}', null, '', '  ', '\r'];
    const read = readLines(adapter, [...bad, ...lines, ...bad]);
    expect(meaning(read)).toEqual(meaning(readLines(adapter, lines)));
    expect(read.reading.lines).toEqual({ total: lines.length + 16, unknown: 0, broken: 8, oversized: 2 });
    expect(read.told.slice(0, 8)).toEqual([
      ...['nothing note', 'nothing note', 'nothing note', 'nothing note', 'nothing note'],
      ...['nothing', 'nothing', 'nothing'],
    ]);
  });

  test('reads a valid line that contains U+FFFD like any other', () => {
    const { reading } = readLines(adapter, ['{"type":"\ufffd"}', Buffer.from('{"type":"\ufffd\xff"}', 'latin1')]);
    expect(reading.lines).toEqual({ total: 2, unknown: 1, broken: 1, oversized: 0 });
  });

  test('does not flood the transcript when the stream is garbage', () => {
    const read = readLines(
      adapter,
      Array.from({ length: 5_000 }, () => 'x'),
    );
    expect(read.lines.flatMap(({ events }) => events)).toHaveLength(1_000);
    expect(read.reading.lines.broken).toBe(5_000);
  });

  test('accepts an empty stream', () => {
    const { reading, inFlight } = readStream(adapter, Buffer.alloc(0));
    expect(reading).toEqual({
      terminal: null,
      finalText: null,
      failure: null,
      denials: [],
      denialCount: 0,
      usage: { turns: null, input_tokens: null, cached_input_tokens: null, output_tokens: null, cost_usd: null },
      session: null,
      model: null,
      lines: { total: 0, unknown: 0, broken: 0, oversized: 0 },
    });
    expect(inFlight).toBe(0);
  });

  test('does not depend on the order of keys', () => {
    for (const name of recordingsOf(adapter.agent)) {
      const lines = linesIn(recordingOf(adapter.agent, name));
      const turned = lines.map(line => json(reversed(JSON.parse(Buffer.from(line).toString()))));
      const [straight, other] = [readLines(adapter, lines), readLines(adapter, turned)];
      expect(other.reading).toEqual(straight.reading);
      expect(other.told).toEqual(straight.told);
    }
  });

  test('continues after a final line; the last final line counts', () => {
    const lines = [json(end('first')), json(message('more')), json(end('second'))];
    const read = readLines(adapter, [...lines, json({ type: 'later' })]);
    expect(read.lines.map(({ sign }) => sign)).toEqual(['terminal', 'progress', 'terminal', 'alive']);
    expect(read.reading.terminal?.ok).toBe(true);
  });

  test('reads values nested to any depth', () => {
    const deep = `${'{"a":'.repeat(100_000)}1${'}'.repeat(100_000)}`;
    const list = `${'['.repeat(100_000)}${']'.repeat(100_000)}`;
    for (const text of [deep, list, `{"type":${list}}`]) {
      expect(readLines(adapter, [text]).reading.lines.total).toBe(1);
    }
    const call = {
      claude: `{"type":"assistant","message":{"content":[{"type":"tool_use","id":"a","name":"X","input":${deep}}]}}`,
      codex: `{"type":"item.started","item":{"id":"a","type":"mcp_tool_call","server":"s","tool":"t","arguments":${deep}}}`,
    }[adapter.agent] as string;
    expect(readLines(adapter, [call]).told).toEqual(['progress tool_call']);
  });

  test('accepts keys and values named like built-in object properties', () => {
    const names = ['__proto__', 'constructor', 'toString', 'hasOwnProperty'];
    const read = readLines(adapter, [
      ...names.map(type => json({ type })),
      ...names.map(subtype => json({ type: 'system', subtype })),
      ...names.map(word => json({ ...end('x'), subtype: word, terminal_reason: word })),
      ...names.map(type => json({ type: 'item.completed', item: { type, id: '__proto__' } })),
      '{"__proto__":{"type":"result"}}',
      `{"type":"result","__proto__":{"is_error":false},"modelUsage":{"__proto__":{"inputTokens":1}}}`,
    ]);
    expect(read.reading.lines.broken).toBe(0);
    expect(({} as Record<string, unknown>).type).toBeUndefined();
  });

  test('reports invalid counts as unknown or 0', () => {
    const usage = '{"input_tokens":1e999,"cached_input_tokens":-1,"output_tokens":1.5,"cache_read_input_tokens":"7"}';
    const lines = {
      claude: [`{"type":"result","num_turns":9007199254740993,"total_cost_usd":1e999,"usage":${usage}}`],
      codex: [`{"type":"turn.completed","usage":${usage}}`],
    }[adapter.agent] as string[];
    const { reading } = readLines(adapter, lines);
    for (const value of Object.values(reading.usage)) expect(value === null || value === 0).toBe(true);
  });

  test('replaces lone surrogates, and truncates long texts but records their size', () => {
    const long = '€'.repeat(50_000);
    const { lines } = readLines(adapter, [json(message('\ud800x')), json(message(long))]);
    expect(lines[0]?.events[0]).toMatchObject({ body: { text: '\ufffdx' } });
    const [event] = lines[1]?.events ?? [];
    if (event?.kind !== 'message') throw new Error('no message');
    expect(event.body.bytes_total).toBe(150_000);
    expect(Buffer.byteLength(event.body.text)).toBe(64 * KIB - 1);
    expect(long.startsWith(event.body.text)).toBe(true);
  });

  test('tracks at most 1,000 calls that never end', () => {
    const call = (id: number) =>
      ({
        claude: { type: 'assistant', message: { content: [{ type: 'tool_use', id: `c${id}`, name: 'X', input: {} }] } },
        codex: { type: 'item.started', item: { type: 'web_search', id: `c${id}`, query: 'x' } },
      })[adapter.agent];
    const read = readLines(
      adapter,
      Array.from({ length: 3_000 }, (_, id) => json(call(id))),
    );
    expect(read.inFlight).toBe(1_000);
  });

  test('counts 3,000 denials and lists the first 1,000', () => {
    const denial = (id: number) =>
      ({
        claude: { type: 'system', subtype: 'permission_denied', tool_name: 'X', tool_use_id: `c${id}`, message: 'no' },
        codex: { type: 'item.completed', item: { type: 'command_execution', id: `c${id}`, status: 'declined' } },
      })[adapter.agent];
    const ids = Array.from({ length: 3_000 }, (_, id) => id);
    const again = ids.map(id => ({ tool_name: 'X', tool_use_id: `c${id}`, tool_input: {} }));
    const read = readLines(adapter, [
      ...ids.map(id => json(denial(id))),
      json({ ...end('x'), permission_denials: again }),
    ]);
    expect(read.reading.denialCount).toBe(3_000);
    expect(read.reading.denials).toHaveLength(1_000);
  });

  test('stops an agent that prompts for input', () => {
    for (const [text, isAsked] of [
      ['Do you want to continue? [y/N] ', true],
      ['Listening on port 80', false],
    ] as const) {
      expect(readLines(adapter, [text]).lines[0]?.sign === 'kill').toBe(isAsked);
    }
  });

  test('yields transcript lines that satisfy their contract', () => {
    const context = { strict: true, internal: false };
    const odd = [json(message('')), json(message('\u0000'.repeat(100_000))), json(end('\ud800')), 'x', null];
    const streams = recordingsOf(adapter.agent).map(name => linesIn(recordingOf(adapter.agent, name)));
    let seq = 0;
    for (const stream of [...streams, odd]) {
      for (const [index, { events }] of readLines(adapter, stream).lines.entries()) {
        for (const event of events) {
          const line = { schema_version: 'transcript-line.v1', seq: ++seq, at_ms: 0, native_line: index + 1, ...event };
          expect(check(transcriptLine, line, context).violations, json(line).slice(0, 300)).toEqual([]);
          expect(Buffer.byteLength(json(line))).toBeLessThan(transcriptLine.bytesMax);
        }
      }
    }
    expect(seq).toBeGreaterThan(30);
  });
});

/** The same value with all object keys in reverse order. */
function reversed(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(reversed);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .reverse()
      .map(([key, inner]) => [key, reversed(inner)]),
  );
}
