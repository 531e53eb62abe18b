/** Traces, from the built package to a real collector. */
import { createServer, type Server } from 'node:net';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { Agent, answersWell, saying } from '../run/suite/agent.ts';
import { expectValid } from '../run/suite/support.ts';
import { AgentWorld, linesIn, placePrograms, WITH_KEYS } from '../run/agent/world.ts';
import { accepts, type ReceivedSpan, TestCollector } from '../support/collector.ts';
import { TestPostgres } from '../support/postgres.ts';
import { type Place, place, until } from '../support/runs.ts';
import { ROOT } from '../support/support.ts';

placePrograms();

const TRACE = '0af7651916cd43dd8448eb211c80319c';
const SECRET = 'orange-giraffe-77';
const PROMPT = 'What about the confidential budget?';

async function collecting(behave?: ConstructorParameters<typeof TestCollector>[0]) {
  const collector = new TestCollector(behave);
  const endpoint = await collector.start();
  onTestFinished(() => collector.stop());
  const env = {
    OTEL_EXPORTER_OTLP_ENDPOINT: endpoint,
    OTEL_EXPORTER_OTLP_HEADERS: 'x-key=key-of-the-collector',
    OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=ci',
    TRACEPARENT: `00-${TRACE}-b7ad6b7169203331-01`,
  };
  return { collector, env };
}

/** Nothing but names, numbers and classes may leave the machine. */
function expectNoContent(collector: TestCollector, { cwd }: Place): void {
  for (const word of [SECRET, 'giraffe', 'confidential', 'budget', 'key-of-the-collector', cwd, ROOT, '/tmp'])
    expect(collector.text).not.toContain(word);
  expect(new Set(collector.spans.map(({ traceId }) => traceId))).toEqual(new Set([TRACE]));
  for (const { headers } of collector.requests) expect(headers['x-key']).toBe('key-of-the-collector');
}

const parentOf = ({ traceId, spanId }: ReceivedSpan): string => `00-${traceId}-${spanId}-01`;

function suiteIn(here: Place, ids: readonly string[]): string {
  return here.file('cases.json', JSON.stringify(ids.map(id => ({ id, input: { user: PROMPT } }))));
}

describe('traces', () => {
  test('of a script have its verdict, and none of its output', async () => {
    const { collector, env } = await collecting();
    const here = place();
    here.file('report.py', `import os, sys\nprint(os.environ['TOKEN'], ${JSON.stringify(PROMPT)})\nsys.exit(3)\n`);
    const ran = await here.start(['run', 'script', 'report.py', '--secret', 'TOKEN'], { ...env, TOKEN: SECRET }).ended;
    expect(ran.code, ran.stderr).toBe(1);
    const [span, ...others] = collector.spans;
    expect(others).toEqual([]);
    expect(span).toMatchObject({
      name: 'proctor.run',
      traceId: TRACE,
      parentSpanId: 'b7ad6b7169203331',
      isError: true,
      attributes: {
        'proctor.run.kind': 'script',
        'proctor.run.id': path.basename(here.runFolders()[0] ?? ''),
        'proctor.ending': 'exited',
        'proctor.exit_code': 3,
      },
    });
    expect(collector.requests[0]?.body).toContain('deployment.environment.name');
    expectNoContent(collector, here);
  });

  test('of an intent have its decision', async () => {
    const { collector, env } = await collecting();
    const here = place();
    const intent = here.file('intent.json', JSON.stringify({ goal: PROMPT }));
    const ran = await here.start(['run', 'intent', intent], env).ended;
    const { run_id: id, kernel_result_kind: kind } = JSON.parse(ran.stdout) as Record<string, string>;
    expect(collector.one('proctor.run').attributes).toMatchObject({
      'proctor.run.kind': 'intent',
      'proctor.outcome': kind,
    });
    expect([id, ran.code]).toEqual([expect.any(String), 1]);
    expectNoContent(collector, here);
  });

  test('of an agent have its tools, with the times of its transcript', async () => {
    const { collector, env } = await collecting();
    const world = new AgentWorld();
    const ran = await world.start('claude', `${PROMPT} DO=tested DO=failed_command`, [], env).ended;
    const answer = JSON.parse(ran.stdout) as { folder: string; run_id: string; agent: { version: string } };
    const run = collector.one('proctor.run');
    expect(run.attributes).toMatchObject({ 'proctor.run.kind': 'agent', 'proctor.run.id': answer.run_id });
    const agent = collector.one('invoke_agent claude', run);
    expect(agent.attributes).toMatchObject({
      'gen_ai.agent.name': 'claude',
      'gen_ai.agent.version': answer.agent.version,
      'gen_ai.provider.name': 'anthropic',
      'gen_ai.usage.input_tokens': expect.any(Number),
      'gen_ai.usage.output_tokens': expect.any(Number),
      'proctor.ending': 'exited',
    });
    const lines = linesIn(path.join(world.place.cwd, answer.folder));
    const calls = lines.filter(({ kind }) => kind === 'tool_call');
    const tools = collector.spans.filter(({ name }) => name.startsWith('execute_tool '));
    expect(calls.length).toBeGreaterThan(1);
    expect(tools.map(({ name, parentSpanId }) => [name, parentSpanId])).toEqual(
      calls.map(({ tool }) => [`execute_tool ${String(tool)}`, agent.spanId]),
    );
    expect(tools.some(({ isError }) => isError)).toBe(true);
    for (const [index, { call, at_ms: at }] of calls.entries()) {
      const end = lines.find(({ kind, call: of }) => kind === 'tool_result' && of === call)?.['at_ms'];
      const { startMs = 0, endMs = 0 } = tools[index] ?? {};
      expect(startMs - agent.startMs).toBeCloseTo(Number(at), 0);
      expect(endMs - agent.startMs).toBeCloseTo(Number(end), 0);
      expect(endMs).toBeLessThanOrEqual(agent.endMs + 1_000);
    }
    expectNoContent(collector, world.place);
    expect(collector.text).not.toContain(world.repository);
  });

  test('of several attempts have a branch each', async () => {
    const { collector, env } = await collecting();
    const world = new AgentWorld();
    const ran = await world.start('codex', `${PROMPT} DO=write`, ['--attempts', '2'], env).ended;
    expect(JSON.parse(ran.stdout), ran.stderr).toMatchObject({ kind: 'attempts' });
    const attempts = collector.all('proctor.attempt', collector.one('proctor.run'));
    expect(new Set(attempts.map(({ attributes }) => attributes['proctor.attempt.number']))).toEqual(new Set([1, 2]));
    for (const attempt of attempts)
      expect(collector.one('invoke_agent codex', attempt).attributes).toMatchObject({
        'gen_ai.provider.name': 'openai',
      });
    expectNoContent(collector, world.place);
  });

  test('of a suite against an HTTP agent reach the agent', async () => {
    const { collector, env } = await collecting();
    const here = place();
    const events = [
      { type: 'tool_call', ts: 1, call_id: 'c1', tool: 'search', args: { q: PROMPT } },
      { type: 'tool_result', ts: 2, call_id: 'c1', status: 'ok', latency_ms: 7, payload_summary: SECRET },
    ];
    const agent = new Agent({ b: saying({ events, final_output: { content_type: 'text', content: SECRET } }) });
    const words = ['run', 'suite', suiteIn(here, ['a', 'b']), '--as', 'new', '--base-url', await agent.start()];
    const ran = await here.start([...words, '--secret', 'TOKEN'], { ...env, TOKEN: SECRET }).ended;
    expect(ran.code, ran.stderr).toBe(0);
    const attempts = collector.all('proctor.attempt', collector.one('proctor.run'));
    expect(attempts).toHaveLength(2);
    const sent = attempts.map(attempt => parentOf(collector.one('invoke_agent', attempt)));
    expect(new Set(agent.seen.map(({ headers }) => headers['traceparent']))).toEqual(new Set(sent));
    expect(collector.one('execute_tool search').attributes).toMatchObject({ 'proctor.tool.duration_ms': 7 });
    expectNoContent(collector, here);
  });

  test('of a suite of agent runs have their tools', async () => {
    const { collector, env } = await collecting();
    const world = new AgentWorld();
    const cases = world.place.file('cases.json', JSON.stringify([{ id: 'a', input: { user: `${PROMPT} DO=tested` } }]));
    const words = ['run', 'suite', cases, '--as', 'new', '--agent', 'claude', '--dir', world.repository];
    const ran = await world.place.start(words, { ...world.environment, ...WITH_KEYS, ...env }).ended;
    expect(ran.code, ran.stderr).toBe(0);
    const attempt = collector.one('proctor.attempt', collector.one('proctor.run'));
    const agent = collector.one('invoke_agent claude', attempt);
    expect(agent.attributes).toMatchObject({ 'gen_ai.usage.input_tokens': expect.any(Number) });
    const tool = collector.one('execute_tool Bash', agent);
    expect(tool.startMs).toBeGreaterThanOrEqual(agent.startMs);
    expect(tool.attributes).not.toHaveProperty(['proctor.tool.timing']);
    expectNoContent(collector, world.place);
  });
});

describe('a queue in PostgreSQL', () => {
  let postgres: TestPostgres;
  beforeAll(async () => {
    postgres = await TestPostgres.start();
  });
  afterAll(() => postgres.stop());

  test('carries the trace from the conductor through the worker to the agent and its tools', async () => {
    const { collector, env } = await collecting();
    const [here, there] = [place(), place()];
    const events = [
      { type: 'tool_call', ts: 1, call_id: 'c1', tool: 'search', args: { q: PROMPT } },
      { type: 'tool_result', ts: 2, call_id: 'c1', status: 'ok', latency_ms: 7, payload_summary: SECRET },
    ];
    const says = saying({ events, final_output: { content_type: 'text', content: 'done' } });
    const agent = new Agent({ a: says, b: says });
    const baseUrl = await agent.start();
    const queue = { ...env, PROCTOR_QUEUE: await postgres.database() };
    expect((await here.start(['queue', 'migrate'], queue).ended).code).toBe(0);
    // The worker is not started in the trace: the queue carries it.
    const worker = there.start(['worker', '--name', 'w1', '--json'], { ...queue, TRACEPARENT: '' });
    const words = ['run', 'suite', suiteIn(here, ['a', 'b']), '--as', 'new', '--base-url', baseUrl, '--queue'];
    const ran = await here.start(words, queue).ended;
    expect(ran.code, ran.stderr).toBe(0);
    worker.kill('SIGTERM');
    expect((await worker.ended).code, worker.stderr).toBe(0);
    const attempts = collector.all('proctor.attempt', collector.one('proctor.run'));
    const sent = attempts.map(attempt => {
      const work = collector.one('proctor.work', attempt);
      expect(work.attributes).toMatchObject({ 'proctor.worker.name': 'w1' });
      const invoked = collector.one('invoke_agent', work);
      const tool = collector.one('execute_tool search', invoked);
      expect(tool.attributes).toMatchObject({ 'proctor.tool.duration_ms': 7 });
      return parentOf(invoked);
    });
    expect(sent).toHaveLength(2);
    expect(new Set(agent.seen.map(({ headers }) => headers['traceparent']))).toEqual(new Set(sent));
    expectNoContent(collector, here);
  });

  test('carries the trace of a suite that a server conducts', async () => {
    const { collector, env } = await collecting();
    const [here, there, client] = [place(), place(), place()];
    const queue = { PROCTOR_QUEUE: await postgres.database() };
    expect((await here.start(['queue', 'migrate'], queue).ended).code).toBe(0);
    const server = here.start(['serve', '--listen', '127.0.0.1:0', '--queue', '--json'], { ...env, ...queue });
    await until('the server listens', () => server.stdout.includes('"address"') || server.isOver);
    const { origin } = new URL((JSON.parse(server.stdout) as { address: string }).address);
    const tokenFor = (role: string): { PROCTOR_TOKEN: string } => {
      const { stdout } = here.proctor(['token', 'new', '--role', role, '--name', role, '--json']);
      return { PROCTOR_TOKEN: (JSON.parse(stdout) as { token: string }).token };
    };
    const more = { ...env, TRACEPARENT: '' };
    const worker = there.start(['worker', '--on', origin, '--name', 'w1'], { ...more, ...tokenFor('worker') });
    const agent = new Agent();
    const words = ['run', 'suite', suiteIn(client, ['a', 'b']), '--as', 'new', '--base-url', await agent.start()];
    const ran = await client.start([...words, '--on', origin, '--queue'], tokenFor('runner')).ended;
    expect(ran.code, ran.stderr).toBe(0);
    worker.kill('SIGTERM');
    expect((await worker.ended).code, worker.stderr).toBe(0);
    server.kill('SIGTERM');
    expect((await server.ended).code, server.stderr).toBe(0);
    const attempts = collector.all('proctor.attempt', collector.one('proctor.run'));
    const sent = attempts.map(attempt =>
      parentOf(collector.one('invoke_agent', collector.one('proctor.work', attempt))),
    );
    expect(sent).toHaveLength(2);
    expect(new Set(agent.seen.map(({ headers }) => headers['traceparent']))).toEqual(new Set(sent));
    expectNoContent(collector, here);
  });
});

describe('a collector', () => {
  const hanging = new Set<Server>();
  afterAll(() => {
    for (const server of hanging) server.close();
  });

  /** Accepts connections, and never says a word. */
  async function silent(): Promise<string> {
    const server = createServer(() => undefined).listen(0, '127.0.0.1');
    hanging.add(server.unref());
    await new Promise(resolve => {
      server.once('listening', resolve);
    });
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  }

  /** A suite of several cases, and what it leaves, without what differs between any two runs. */
  async function suiteWith(env: NodeJS.ProcessEnv) {
    const here = place();
    const agent = new Agent({ c3: (seen, response) => void response.writeHead(500).end(seen.caseId) });
    const ids = Array.from({ length: 8 }, (_, index) => `c${index}`);
    const words = ['run', 'suite', suiteIn(here, ids), '--as', 'new', '--base-url', await agent.start(), '--json'];
    const ran = await here.start([...words, '--retries', '0', '--run-id', 'r1'], env).ended;
    const { status, runs } = JSON.parse(ran.stdout) as { status: string; runs: { ok: number; failed: number }[] };
    await expectValid(path.join(here.cwd, '.proctor', 'runs', 'new', 'r1'));
    return { result: [ran.code, status, runs?.[0]?.ok, runs?.[0]?.failed], stderr: ran.stderr };
  }

  test('that is gone, hangs or redirects makes no difference to a run, but to one warning', async () => {
    const plain = await suiteWith({});
    expect(plain.stderr).toBe('');
    const redirecting = await collecting((response, times) =>
      times > 1 ? accepts(response) : void response.writeHead(307, { location: '/v1/traces' }).end(),
    );
    for (const [endpoint, why] of [
      ['http://127.0.0.1:9', 'the collector cannot be reached'],
      [await silent(), 'the collector did not answer in time'],
      [redirecting.env.OTEL_EXPORTER_OTLP_ENDPOINT, 'the collector answered with status 307'],
    ] as const) {
      const traced = await suiteWith({ OTEL_EXPORTER_OTLP_ENDPOINT: endpoint });
      expect(traced.result).toEqual(plain.result);
      expect(traced.stderr).toMatch(/^warning: \d+ of \d+ trace spans were lost, because [a-z0-9 ]+\.\n$/);
      expect(traced.stderr).toContain(why);
    }
  });

  test('is not used, and the reason is printed, if the protocol is not supported', async () => {
    const { collector, env } = await collecting();
    const traced = await suiteWith({ ...env, OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' });
    expect(traced.stderr).toBe(
      'warning: Proctor exports no traces: OTEL_EXPORTER_OTLP_PROTOCOL names a protocol that Proctor does not support. Set it to http/json, or unset it.\n',
    );
    expect(collector.requests).toEqual([]);
  });

  test('is not asked if the SDK is disabled', async () => {
    const { collector, env } = await collecting();
    expect((await suiteWith({ ...env, OTEL_SDK_DISABLED: 'true' })).stderr).toBe('');
    expect(collector.requests).toEqual([]);
  });

  test('gets the spans of a suite that is interrupted', async () => {
    const { collector, env } = await collecting();
    const here = place();
    const agent = new Agent({ a: () => undefined, b: answersWell });
    const words = ['run', 'suite', suiteIn(here, ['a']), '--as', 'new', '--base-url', await agent.start()];
    const started = here.start(words, env);
    await until('the agent is asked', () => agent.seen.length > 0);
    started.kill('SIGINT');
    expect((await started.ended).code).toBe(130);
    const run = collector.one('proctor.run');
    expect(run).toMatchObject({ isError: true, attributes: { 'error.type': 'interrupted' } });
    expect(collector.one('proctor.attempt', run).attributes).toMatchObject({ 'error.type': 'cancelled' });
  });
});
