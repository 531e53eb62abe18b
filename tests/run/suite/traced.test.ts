import { describe, expect, onTestFinished, test } from 'vitest';
import { SpanExporter } from '../../../src/trace/exporter.ts';
import { Tracer } from '../../../src/trace/tracer.ts';
import { spanContextIn } from '../../../src/trace/traceparent.ts';
import { type ReceivedSpan, TestCollector } from '../../support/collector.ts';
import { Agent, answersWell, json, saying } from './agent.ts';
import { changedQueue, queueWorld } from './queue-world.ts';
import { everythingIn, expectValid, ranSuite } from './support.ts';

const PARENT = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
const SECRET = 'orange-giraffe-77';
const PROMPT = 'What about the confidential budget?';

async function tracedWorld(parent?: string) {
  const collector = new TestCollector();
  const url = `${await collector.start()}/v1/traces`;
  onTestFinished(() => collector.stop());
  /** A tracer for every process. */
  const traced = () => {
    const exporter = new SpanExporter({ url, headers: {}, timeoutMs: 5_000, resource: [] });
    return { tracer: new Tracer(exporter, spanContextIn(parent)), exporter };
  };
  return { collector, traced };
}

const parentOf = ({ traceId, spanId }: ReceivedSpan): string => `00-${traceId}-${spanId}-01`;

describe('a suite against an HTTP agent', () => {
  test('is one trace: run, attempt, agent and tools, and the agent can continue it', async () => {
    const { collector, traced } = await tracedWorld(PARENT);
    const agent = new Agent({
      a: (seen, response) => {
        const ts = Date.now();
        const events = [
          { type: 'tool_call', ts, call_id: 'c1', tool: 'search', args: { q: PROMPT } },
          { type: 'tool_result', ts: ts + 20, call_id: 'c1', status: 'error', latency_ms: 20, payload_summary: SECRET },
        ];
        saying({ events, final_output: { content_type: 'text', content: `the answer is ${SECRET}` } })(
          seen,
          response,
          1,
        );
      },
    });
    const baseUrl = await agent.start();
    const { tracer, exporter } = traced();
    const { result, folder } = await ranSuite([{ id: 'a', input: { user: PROMPT } }], {
      baseUrl,
      tracer,
      secrets: { TOKEN: SECRET },
      headers: [{ name: 'authorization', env: 'AUTH', value: `Bearer ${SECRET}-header` }],
    });
    expect(result.runs[0]).toMatchObject({ ok: 1 });
    expect(await exporter.end()).toMatchObject({ delivered: 4, lost: 0 });

    const run = collector.one('proctor.run');
    const attempt = collector.one('proctor.attempt', run);
    const asked = collector.one('invoke_agent', attempt);
    const tool = collector.one('execute_tool search', asked);
    expect(new Set(collector.spans.map(({ traceId }) => traceId))).toEqual(
      new Set(['0af7651916cd43dd8448eb211c80319c']),
    );
    expect(run).toMatchObject({ parentSpanId: 'b7ad6b7169203331', kind: 1, isError: false });
    expect(run.attributes).toMatchObject({
      'proctor.run.kind': 'suite',
      'proctor.run.id': result.runs[0]?.place.id,
      'proctor.side': 'baseline',
      'proctor.cases.total': 1,
      'proctor.cases.answered': 1,
      'proctor.cases.failed': 0,
    });
    expect(attempt.attributes).toMatchObject({
      'proctor.case.id': 'a',
      'proctor.attempt.number': 1,
      'proctor.target.kind': 'http',
      'proctor.outcome': 'ok',
    });
    expect(asked).toMatchObject({ kind: 3, isError: false });
    expect(asked.attributes).toMatchObject({
      'gen_ai.operation.name': 'invoke_agent',
      'http.response.status_code': 200,
      'server.address': '127.0.0.1',
      'server.port': Number(new URL(baseUrl).port),
      'proctor.tool.calls': 1,
    });
    expect(tool.endMs - tool.startMs).toBeCloseTo(20);
    expect(tool).toMatchObject({
      isError: true,
      attributes: { 'gen_ai.tool.call.id': 'c1', 'error.type': 'tool_error' },
    });
    for (const [inner, outer] of [
      [attempt, run],
      [asked, attempt],
    ] as const) {
      expect(inner.startMs).toBeGreaterThanOrEqual(outer.startMs - 2);
      expect(inner.endMs).toBeLessThanOrEqual(outer.endMs + 2);
    }

    expect(agent.seen.map(({ headers }) => headers['traceparent'])).toEqual([parentOf(asked)]);
    for (const word of [SECRET, 'giraffe', 'confidential', 'the answer', 'budget'])
      expect(collector.text).not.toContain(word);
    // The evidence does not show whether the run was traced.
    expect(everythingIn(folder)).not.toContain('0af7651916cd43dd8448eb211c80319c');
    await expectValid(folder);
  });

  test('has a span for every attempt, with the class of its failure', async () => {
    const { collector, traced } = await tracedWorld();
    const agent = new Agent({
      a: (seen, response, times) =>
        times === 1 ? json(response, { error: PROMPT }, 503) : answersWell(seen, response, times),
    });
    const { tracer, exporter } = traced();
    await ranSuite(['a'], { baseUrl: await agent.start(), tracer, retries: 1 });
    await exporter.end();
    const run = collector.one('proctor.run');
    const [first, second] = collector.all('proctor.attempt', run);
    if (!first || !second) throw new Error('an attempt is missing');
    expect(first).toMatchObject({
      isError: true,
      attributes: { 'proctor.attempt.number': 1, 'error.type': 'http_error' },
    });
    expect(second).toMatchObject({ isError: false, attributes: { 'proctor.attempt.number': 2 } });
    expect(collector.one('invoke_agent', first).attributes).toMatchObject({ 'http.response.status_code': 503 });
    expect(agent.seen.map(({ headers }) => headers['traceparent'])).toEqual(
      [first, second].map(attempt => parentOf(collector.one('invoke_agent', attempt))),
    );
    expect(collector.text).not.toContain('confidential');
  });

  test('states that the time of an event without a clock is unknown', async () => {
    const { collector, traced } = await tracedWorld();
    const call = { type: 'tool_call', call_id: 'c1', tool: 'search', args: {} };
    const done = { type: 'tool_result', call_id: 'c1', status: 'ok', latency_ms: 35 };
    const agent = new Agent({
      counted: saying({
        events: [
          { ...call, ts: 1 },
          { ...done, ts: 2 },
        ],
      }),
      repaired: saying({ events: [call, done] }),
    });
    const { tracer, exporter } = traced();
    await ranSuite(['counted', 'repaired'], { baseUrl: await agent.start(), tracer });
    await exporter.end();
    const tools = collector.all('execute_tool search');
    expect(tools).toHaveLength(2);
    for (const tool of tools) {
      expect(tool.endMs).toBe(tool.startMs);
      expect(tool.attributes).toMatchObject({ 'proctor.tool.timing': 'unknown', 'proctor.tool.duration_ms': 35 });
    }
  });

  test('keeps a traceparent that the user declares', async () => {
    const { collector, traced } = await tracedWorld();
    const agent = new Agent();
    const { tracer, exporter } = traced();
    const headers = [{ name: 'traceparent', env: 'OWN', value: PARENT }];
    await ranSuite(['a'], { baseUrl: await agent.start(), tracer, headers });
    await exporter.end();
    expect(collector.spans).toHaveLength(3);
    expect(agent.seen[0]?.headers['traceparent']).toBe(PARENT);
  });

  test('sends no traceparent without a tracer', async () => {
    const agent = new Agent();
    await ranSuite(['a'], { baseUrl: await agent.start() });
    expect(agent.seen[0]?.headers).not.toHaveProperty('traceparent');
  });

  test('that fails ends its spans', async () => {
    const { collector, traced } = await tracedWorld();
    const agent = new Agent();
    const { tracer, exporter } = traced();
    const broken = {
      get onProgress(): () => void {
        return () => {
          throw new Error('a bug');
        };
      },
    };
    const running = ranSuite(['a'], { baseUrl: await agent.start(), tracer, ...broken });
    await expect(running).rejects.toThrow('a bug');
    await exporter.end();
    expect(collector.one('proctor.run')).toMatchObject({ isError: true, attributes: { 'error.type': 'bug' } });
  });
});

describe('a queued suite', () => {
  test('is one trace over the conductor, the workers and the agent', async () => {
    const { collector, traced } = await tracedWorld();
    const ids = ['a', 'b', 'c'];
    const { run, worker, agent, folder } = await queueWorld({ ids });
    const [conducting, working] = [traced(), traced()];
    const { stop, ended } = worker({ tracer: working.tracer, name: 'w1' });
    const { runs } = await run({ tracer: conducting.tracer });
    expect(runs[0]).toMatchObject({ ok: 3, failed: 0 });
    stop();
    await ended;
    await Promise.all([conducting.exporter.end(), working.exporter.end()]);

    const top = collector.one('proctor.run');
    expect(top.attributes).toMatchObject({ 'proctor.run.id': 'r1' });
    const attempts = collector.all('proctor.attempt', top);
    expect(new Set(attempts.map(({ attributes }) => attributes['proctor.case.id']))).toEqual(new Set(ids));
    const sent = attempts.map(attempt => {
      const work = collector.one('proctor.work', attempt);
      expect(work.attributes).toMatchObject({
        'proctor.run.id': 'r1',
        'proctor.worker.name': 'w1',
        'proctor.case.id': attempt.attributes['proctor.case.id'],
      });
      expect(attempt.attributes).toMatchObject({ 'proctor.worker.name': 'w1' });
      return parentOf(collector.one('invoke_agent', work));
    });
    expect(collector.spans).toHaveLength(10);
    expect(new Set(collector.spans.map(({ traceId }) => traceId)).size).toBe(1);
    expect(new Set(agent.seen.map(({ headers }) => headers['traceparent']))).toEqual(new Set(sent));
    await expectValid(folder);
  });

  test('has the spans of both workers below an attempt that is made twice', async () => {
    const { collector, traced } = await tracedWorld();
    const { run, worker, agent } = await queueWorld({ ids: ['a'] });
    const [conducting, working, again] = [traced(), traced(), traced()];
    const workers = [worker({ tracer: working.tracer, name: 'w1' }), worker({ tracer: again.tracer, name: 'w2' })];
    await run({ tracer: conducting.tracer, twice: 1 });
    for (const { stop, ended } of workers) {
      stop();
      await ended;
    }
    await Promise.all([conducting, working, again].map(({ exporter }) => exporter.end()));
    const works = collector.all('proctor.work', collector.one('proctor.attempt'));
    expect(works).toHaveLength(2);
    expect(new Set(works.map(({ attributes }) => attributes['proctor.worker.name']))).toEqual(new Set(['w1', 'w2']));
    const sent = works.map(work => parentOf(collector.one('invoke_agent', work)));
    expect(new Set(agent.seen.map(({ headers }) => headers['traceparent']))).toEqual(new Set(sent));
  });

  test('passes the trace on to the agent if only its conductor exports spans', async () => {
    const { collector, traced } = await tracedWorld();
    const { run, worker, agent } = await queueWorld({ ids: ['a'] });
    const { tracer, exporter } = traced();
    worker();
    await run({ tracer });
    await exporter.end();
    expect(collector.spans.map(({ name }) => name).sort()).toEqual(['proctor.attempt', 'proctor.run']);
    expect(agent.seen[0]?.headers['traceparent']).toBe(parentOf(collector.one('proctor.attempt')));
  });

  test('begins a trace in a worker if its conductor exports none', async () => {
    const { collector, traced } = await tracedWorld();
    const { run, worker } = await queueWorld({ ids: ['a'] });
    const { tracer, exporter } = traced();
    const { stop, ended } = worker({ tracer });
    await run();
    stop();
    await ended;
    await exporter.end();
    expect(collector.one('proctor.work').parentSpanId).toBeUndefined();
    expect(collector.spans).toHaveLength(2);
  });

  test.each([
    'ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
    `00-${'0'.repeat(32)}-b7ad6b7169203331-01`,
    'x\r\ny: 1',
  ])('does not pass on a forged trace: %j', async trace => {
    const { run, worker, queue, agent } = await queueWorld({ ids: ['a'] });
    const forging = changedQueue(queue, {
      async claim(...asked) {
        const claims = await queue.claim(...asked);
        return claims.map(claim => Object.assign(claim, { request: { ...claim.request, trace } }));
      },
    });
    worker({ queue: forging });
    const { runs } = await run();
    expect(runs[0]).toMatchObject({ ok: 1 });
    expect(agent.seen[0]?.headers).not.toHaveProperty('traceparent');
  });
});
