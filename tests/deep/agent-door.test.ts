import { readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { AgentOutcome } from '../../src/contracts/agent-step/index.ts';
import { type Asking, askingText } from '../../stand-ins/asking.ts';
import { type ModelApi, startModelApi } from '../../stand-ins/model-api.ts';
import { type Agent, type AgentRan, AgentWorld, completed, ended, placePrograms } from '../run/agent/world.ts';

placePrograms();

const AGENTS: readonly Agent[] = ['claude', 'codex'];
const SEARCH = { model: 'm', messages: [{ role: 'user', content: 'x' }], tools: [{ type: 'web_search_20250305' }] };
const FILES = { path: '/v1/files', body: {} };

/** Runs an agent that only sends requests, against a fake model API. */
class Asker {
  readonly world = new AgentWorld();
  readonly api: ModelApi;

  constructor(api: ModelApi) {
    this.api = api;
  }

  async run(agent: Agent, askings: readonly Asking[], flags: readonly string[] = []): Promise<AgentRan> {
    const task = ['DO=say', ...askings.map(askingText)].join(' ');
    const key = 'a-key-of-the-model';
    const env =
      agent === 'claude'
        ? { ANTHROPIC_API_KEY: key, ANTHROPIC_BASE_URL: this.api.url }
        : { OPENAI_API_KEY: key, OPENAI_BASE_URL: `${this.api.url}/v1` };
    return this.world.ran(await this.world.start(agent, task, flags, env).ended);
  }
}

async function asker(): Promise<Asker> {
  const api = await startModelApi();
  onTestFinished(() => api.close());
  return new Asker(api);
}

function accessIn({ folder }: AgentRan): AgentOutcome['model_access'] {
  const text = readFileSync(path.join(folder, 'evidence/outcome.json'), 'utf8');
  return (JSON.parse(text) as AgentOutcome).model_access;
}

const scenario = (agent: Agent, word: string): Asking => {
  const content = `SCENARIO=${word}`;
  return {
    body:
      agent === 'claude'
        ? { model: 'm', messages: [{ role: 'user', content }], stream: true }
        : { model: 'm', input: [{ type: 'message', role: 'user', content }], stream: true },
  };
};

describe.each(AGENTS)('the budget of %s', agent => {
  test('stops a run at its limit of 4 requests, although it tries 42', async () => {
    const made = await asker();
    const ran = await made.run(agent, [{ times: 42 }], ['--max-requests', '4']);
    expect(ran.answer).toMatchObject({
      ...ended('error', 'limit_budget'),
      message: 'The agent reached its limit of 4 model requests.',
    });
    expect(ran.code).toBe(1);
    expect(made.api.asked).toHaveLength(4);
    const { counted, budget, refused, requests } = accessIn(ran);
    expect(counted).toMatchObject({ requests: 4, input_tokens: 400, output_tokens: 80, estimated: 0 });
    expect(budget).toEqual({ max_turns: null, max_requests: 4, max_tokens: null, max_cost_usd: null });
    expect(refused?.listed).toEqual([{ what: 'budget', where: 'budget', count: refused?.total }]);
    expect(requests).toBe(4 + (refused?.total ?? 0));
    const shown = made.world.place.proctor(['show', 'latest']).stdout;
    expect(shown).toContain('proxy     4 answers, 400 tokens in, 80 out; at most 4 requests');
    expect(shown).toContain('over budget');
  });

  test('for tokens counts those that the answers report', async () => {
    const made = await asker();
    const ran = await made.run(agent, [{ times: 42 }], ['--max-tokens', '300']);
    // Each request uses 120 tokens, so the third starts at 240.
    expect(ran.answer).toMatchObject({
      ...ended('error', 'limit_budget'),
      message: 'The agent reached its limit of 300 tokens.',
    });
    expect(made.api.asked).toHaveLength(3);
  });

  test("for cost uses the user's prices", async () => {
    const made = await asker();
    made.world.place.file(
      'prices.yaml',
      'models:\n  "claude-*": { input: 100, output: 1000 }\n  "gpt-6*": { input: 100, output: 1000 }\n',
    );
    const flags = ['--max-cost', '0.05', '--prices', 'prices.yaml'];
    const ran = await made.run(agent, [{ times: 42 }], flags);
    // Each request costs 0.03 dollars, or 0.026 with 40 cached tokens that have no separate price.
    expect(ran.answer).toMatchObject({
      ...ended('error', 'limit_budget'),
      message: 'The agent reached its limit of 0.05 US dollars.',
    });
    expect(made.api.asked).toHaveLength(2);
    expect(accessIn(ran).counted?.cost_usd).toBeCloseTo(0.06, 10);
    const refusal = made.world.tried(made.world.args(agent, 'DO=say', [...flags, '--model', 'unpriced']));
    expect(refusal.stderr).toContain("no price for this run's model");
    expect(refusal.code).not.toBe(0);
  });
});

describe('at the model proxy of an agent', () => {
  test('other endpoints, searches and tool servers are refused, and no part of them is forwarded', async () => {
    const made = await asker();
    const ran = await made.run('claude', [
      FILES,
      { body: SEARCH },
      { body: { model: 'm', messages: [], mcp_servers: [{ type: 'url', url: 'https://x' }] } },
      { times: 1 },
    ]);
    expect(ran.answer).toMatchObject(completed);
    expect(ran.answer.violations.map(({ class: kind, hard }) => [kind, hard])).toEqual(
      Array.from({ length: 3 }, () => ['network_violation', false]),
    );
    expect(ran.code).toBe(1);
    expect(made.api.asked).toHaveLength(1);
    expect(accessIn(ran)).toMatchObject({
      requests: 4,
      failures: 3,
      last_status: 200,
      counted: { requests: 1 },
      refused: {
        total: 3,
        listed: [
          { what: 'endpoint', where: 'POST /v1/files', count: 1 },
          { what: 'tool', where: 'tools[]', count: 1 },
          { what: 'reach', where: 'mcp_servers', count: 1 },
        ],
      },
    });
  });

  test('a search next to other tools is dropped and reported, and is not a violation', async () => {
    const made = await asker();
    const tools = [...SEARCH.tools, { name: 'Read', input_schema: {} }];
    const headers = { 'anthropic-beta': 'context-management-2025-06-27,mcp-client-2025-11-20' };
    const ran = await made.run('claude', [{ body: { ...SEARCH, tools }, headers }]);
    expect(ran.answer).toMatchObject({ ...completed, violations: [] });
    expect(made.api.asked.map(({ text }) => JSON.parse(text) as unknown)).toEqual([{ ...SEARCH, tools: [tools[1]] }]);
    expect(accessIn(ran).stripped).toEqual({
      total: 2,
      listed: [
        { what: 'body', where: 'tools[]', count: 1 },
        { what: 'header', where: 'anthropic-beta', count: 1 },
      ],
    });
    expect(made.world.place.proctor(['show', 'latest']).stdout).toContain('removed   tools[], anthropic-beta');
  });

  test('all bodies pass if the network is open, and the endpoint allow-list still applies', async () => {
    const made = await asker();
    const ran = await made.run('claude', [FILES, { body: SEARCH }], ['--policy', 'open']);
    expect(ran.answer).toMatchObject({ ...completed, violations: [] });
    expect(made.api.asked.map(({ text }) => JSON.parse(text) as unknown)).toEqual([SEARCH]);
    expect(accessIn(ran).refused).toMatchObject({ total: 1 });
  });
});

describe.each(AGENTS)('a run of %s', agent => {
  test.each([
    ['e401', 401, 'auth_missing'],
    ['e400', 400, 'api_error'],
    ['e500', 500, 'api_error'],
    ['e529', 529, 'api_error'],
  ])(
    'in scenario %s ends with an error because its last request got status %i, although the agent claims success',
    async (word, status, reason) => {
      const made = await asker();
      const ran = await made.run(agent, [scenario(agent, word)]);
      expect(ran.answer).toMatchObject(ended('error', reason));
      const outcome = JSON.parse(readFileSync(path.join(ran.folder, 'evidence/outcome.json'), 'utf8')) as AgentOutcome;
      expect(outcome).toMatchObject({ api_status: status, model_access: { failures: 1, last_status: status } });
    },
  );

  test('ends with an error if its last answer was truncated or missing', async () => {
    const made = await asker();
    const cut = await made.run(agent, [scenario(agent, 'cut')]);
    expect(cut.answer).toMatchObject(ended('error', 'api_error'));
    expect(accessIn(cut)).toMatchObject({ failures: 1, last_status: null });
    await made.api.close();
    const unreachable = await made.run(agent, [{}]);
    expect(unreachable.answer).toMatchObject({
      ...ended('error', 'api_error'),
      message: 'The model API refuses connections.',
    });
    expect(accessIn(unreachable)).toMatchObject({ failures: 1, last_status: null });
  });

  test('completes despite an error before a good answer, or a request that the agent aborted', async () => {
    const made = await asker();
    const retried = await made.run(agent, [scenario(agent, 'e500'), {}]);
    expect(retried.answer).toMatchObject(completed);
    expect(accessIn(retried)).toMatchObject({ failures: 1, last_status: 200, counted: { requests: 2 } });
    const gaveUp = await made.run(agent, [{}, { ...scenario(agent, 'silent'), hangsUp: true }]);
    expect(gaveUp.answer).toMatchObject(completed);
    expect(accessIn(gaveUp)).toMatchObject({ failures: 1, last_status: 200 });
  });
});
