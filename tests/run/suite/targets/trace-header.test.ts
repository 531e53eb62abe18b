import { describe, expect, test } from 'vitest';
import type { FinishedSpan } from '../../../../src/trace/span.ts';
import { Tracer } from '../../../../src/trace/tracer.ts';
import { Agent } from '../agent.ts';
import { everythingIn, expectValid } from '../support.ts';
import { ranDeclared } from './declared-world.ts';
import { declarationOf as mcpDeclaration, statelessServer } from './mcp-servers.ts';
import { declarationOf as socketDeclaration, WebSocketAgent } from './websocket-agent.ts';

const OWN = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';

/** Runs a suite with a tracer, and returns the trace that its agent should get. */
async function traced(declaration: object) {
  const spans: FinishedSpan[] = [];
  const tracer = new Tracer({ take: span => void spans.push(span) });
  const { folder, run } = await ranDeclared(['a'], declaration, { tracer });
  expect(run.stats).toMatchObject({ cases_completed: 1, cases_failed: 0 });
  await expectValid(folder);
  const asked = spans.find(({ name }) => name.startsWith('invoke_agent'));
  expect(asked).toMatchObject({ kind: 'client', isError: false });
  const { traceId = '', spanId = '' } = asked?.context ?? {};
  expect(everythingIn(folder)).not.toContain(traceId);
  return `00-${traceId}-${spanId}-01`;
}

describe('the header traceparent', () => {
  test('opens the connection of a WebSocket target', async () => {
    const agent = new WebSocketAgent();
    const trace = await traced(socketDeclaration(await agent.start()));
    expect(agent.talks.map(({ headers }) => headers['traceparent'])).toEqual([trace]);
  });

  test('comes with every call of an MCP tool', async () => {
    const { url, seen } = await statelessServer(true);
    const trace = await traced(mcpDeclaration(url));
    const calls = seen.filter(({ message }) => message['method'] === 'tools/call');
    expect(calls.map(({ headers }) => headers['traceparent'])).toEqual([trace]);
  });

  test('comes with the requests of a declared HTTP target, unless the declaration has its own', async () => {
    const agent = new Agent();
    const declaration = {
      kind: 'http',
      url: await agent.start(),
      request: { path: '/ask', body: { case_id: '${case.id}', input: { user: '${input.user}' } } },
      reply: { final_output: '$.final_output.content' },
    };
    const trace = await traced(declaration);
    await traced({ ...declaration, headers: { TraceParent: OWN } });
    expect(agent.seen.map(({ headers }) => headers['traceparent'])).toEqual([trace, OWN]);
  });
});
