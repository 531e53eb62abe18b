import { afterAll, describe, expect, test } from 'vitest';
import type { CaseArtifact } from '../../../src/contracts/artifacts/index.ts';
import { closeLauncher } from '../../../src/verbs/launcher.ts';
import { everythingIn, expectValid } from '../../run/suite/support.ts';
import type { Kind, Told } from '../servers/kind.ts';
import { MODEL, pieces, TOKENS } from '../servers/protocol-server.ts';
import { KINDS } from './kinds.ts';
import { ranKind, TOKEN } from './world.ts';

afterAll(closeLauncher);

const PLAIN: Told = { text: 'We are open from 9 to 5. “Über” – ✓' };
const TOOLS: Told = {
  text: 'Order A-1 has shipped.',
  calls: [
    {
      id: 'call_1',
      name: 'orders.get',
      args: { id: 'A-1', deep: { list: [1, 'two'] } },
      result: '{"state":"shipped"}',
    },
    { id: 'call_2', name: 'mail.send', args: { to: 'x@example.com' }, result: 'mailbox full', hasFailed: true },
  ],
};
const ONLY_CALLS: Told = { text: '', calls: TOOLS.calls?.slice(0, 1) ?? [] };

const named = (kinds: typeof KINDS) => kinds.map(kind => [kind.name, kind] as const);

describe('a target of kind', () => {
  test.each(named(KINDS))('%s gives answers, calls, usage and model, and its evidence verifies', async (_, kind) => {
    const { can } = kind;
    const scenes = { plain: PLAIN, tools: TOOLS, ...(can.tools !== 'nothing' && { calls: ONLY_CALLS }) };
    const { folder, artifact, server, replies } = await ranKind(kind, scenes, { strictReplies: true });
    expect(server.refused).toEqual([]);
    for (const [id, told] of Object.entries(scenes)) {
      expect(artifact(id).runner_failure, id).toBeUndefined();
      expect(artifact(id).final_output, id).toMatchObject({
        content_type: 'text',
        content: outputOf(told, kind),
      });
      expect(eventsIn(artifact(id)), id).toEqual(expectedEvents(told, can.tools));
    }
    const { usage, model } = artifact('plain').agent_fields ?? {};
    expect(model).toBe(can.model ? MODEL : undefined);
    expect(usage).toEqual(can.usage ? usageOf(kind) : undefined);
    expect(replies.map(({ case_id }) => case_id).sort()).toEqual(Object.keys(scenes).sort());
    await expectValid(folder);
  });

  test.each(named(KINDS.filter(({ can }) => can.failure)))(
    '%s reports the failure of an agent with its message',
    async (_, kind) => {
      const { folder, artifact } = await ranKind(kind, { fails: { text: '', failure: 'the tools are down' } });
      expect(artifact('fails').runner_failure).toMatchObject({
        class: 'schema_mismatch',
        error_name: 'AGENT_FAILED',
        error_message: expect.stringContaining('the tools are down') as string,
      });
      await expectValid(folder);
    },
  );

  test.each(named(KINDS))('%s never stores a secret, in answers or failures', async (_, kind) => {
    const scenes: Record<string, Told> = {
      leaks: { text: `Your token is ${TOKEN}.` },
      fails: { text: '', failure: `bad token ${TOKEN}` },
      crashes: { text: '', crash: `died with ${TOKEN}` },
    };
    const { folder, artifact, server } = await ranKind(kind, scenes);
    if (server.asked) expect(server.asked.some(({ headers }) => JSON.stringify(headers).includes(TOKEN))).toBe(true);
    expect(everythingIn(folder)).not.toContain(TOKEN);
    const crashClass = 'crashClass' in kind ? kind.crashClass : 'http_error';
    expect(artifact('crashes').runner_failure?.class).toBe(crashClass);
    // A stream splits the secret, so it can only be refused. A document is masked.
    if (kind.can.stream) expect(artifact('leaks').runner_failure).toMatchObject({ error_name: 'SECRET_IN_PIECES' });
    else expect(artifact('leaks').final_output?.content).toBe('Your token is [masked].');
    await expectValid(folder);
  });

  test.each(named(KINDS.filter(({ can }) => can.stream)))(
    '%s measures the time to the first output',
    async (_, kind) => {
      const { folder, artifact, replies } = await ranKind(kind, { tools: TOOLS });
      const [reply] = replies;
      const frames = framesIn(reply?.body ?? '');
      const times = reply?.frame_ms ?? [];
      expect(times).toHaveLength(frames.length);
      expect([...times].sort((a, b) => a - b)).toEqual(times);
      const first = frames.findIndex(frame =>
        frame.includes(pieces(FIRST_WORDS[kind.name] ?? TOOLS.text)[0] as string),
      );
      expect(first).toBeGreaterThan(0);
      const attempt = artifact('tools').attempts?.at(-1);
      expect(attempt?.ttft_ms).toBe(times[first]);
      expect(attempt?.latency_ms).toBeGreaterThanOrEqual(times[first] as number);
      await expectValid(folder);
    },
  );
});

/** Agents that say something before they call a tool. */
const FIRST_WORDS: Readonly<Record<string, string>> = { 'ag-ui': 'Let me look.' };

/** The frames of a stored stream that have data. */
function framesIn(body: string): string[] {
  const separator = body.includes('data:') ? '\n\n' : '\n';
  return body.split(separator).filter(frame => frame !== '' && !frame.startsWith(':'));
}

/** If an AG-UI agent sends no text after its calls, the message before them is its answer. */
function outputOf({ text }: Told, { name }: Kind): string {
  return text === '' ? (FIRST_WORDS[name] ?? '') : text;
}

interface SeenEvent {
  readonly type: string;
  readonly call_id?: unknown;
  readonly tool?: unknown;
  readonly args?: unknown;
  readonly status?: unknown;
  readonly payload_summary?: unknown;
}

/** The events of an artifact without their times. */
function eventsIn({ events = [] }: CaseArtifact): SeenEvent[] {
  return events.map(event => {
    const { ts: _ts, latency_ms: _latency, ...seen } = event as Record<string, unknown>;
    return seen as unknown as SeenEvent;
  });
}

function expectedEvents({ calls = [] }: Told, tools: Kind['can']['tools']): SeenEvent[] {
  if (tools === 'nothing') return [];
  return calls.flatMap(({ id, name, args, result, hasFailed }) => {
    const call = { type: 'tool_call', call_id: id, tool: name, args };
    const status = hasFailed && tools === 'results' ? 'error' : 'ok';
    return tools === 'proposals'
      ? [call]
      : [call, { type: 'tool_result', call_id: id, status, payload_summary: result }];
  });
}

/** The tokens that the protocol reports, and their cost at the declared price. */
function usageOf({ declaration, name }: Kind): object {
  const { price } = declaration('http://127.0.0.1') as { price?: { input: number; output: number } };
  const cost = price && (TOKENS.input * price.input + TOKENS.output * price.output) / 1e6;
  return {
    input_tokens: TOKENS.input,
    output_tokens: TOKENS.output,
    ...(TELL_TOTAL.test(name) && { total_tokens: TOKENS.input + TOKENS.output }),
    ...(cost !== undefined && { cost_usd: cost }),
  };
}

const TELL_TOTAL = /^(?:openai|langgraph)/;
