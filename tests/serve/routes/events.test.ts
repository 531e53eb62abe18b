import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import type { RunFolder } from '../../../src/evidence/run-folder/runs.ts';
import { runSuite } from '../../../src/verbs/index.ts';
import { Agent, answersWell } from '../../run/suite/agent.ts';
import { until } from '../../support/runs.ts';
import { cookieOf, newProject, send, world, type World } from '../access/serve-world.ts';
import { SseClient } from '../live/sse-client.ts';

async function signedIn(at: World): Promise<string> {
  return cookieOf(await send(at, 'POST', '/v1/session', [['Origin', at.origin]], { secret: at.secret }));
}

/** A suite in a project. Its agent answers once it is released. */
async function waitingSuite(cwd: string) {
  let release = (): void => undefined;
  const released = new Promise<void>(resolve => (release = resolve));
  const later: typeof answersWell = (seen, response, times) =>
    void released.then(() => answersWell(seen, response, times));
  const ids = Array.from({ length: 20 }, (_, index) => `case-${index}`);
  writeFileSync(path.join(cwd, 'cases.json'), JSON.stringify(ids.map(id => ({ id, input: { user: id } }))));
  const baseUrl = await new Agent({ 'case-10': later }).start();
  let ended: Promise<unknown> = Promise.resolve();
  const { id } = await new Promise<RunFolder>(resolve => {
    ended = runSuite({ cases: 'cases.json', cwd, baseUrl, as: 'new', concurrency: 1, onFolder: resolve });
  });
  return { id, ended, release };
}

const linesOf = ({ events }: SseClient): unknown[] => events.flatMap(({ data }) => data['line'] ?? []);

describe('GET /v1/runs/{run_id}/events', () => {
  test('streams a run, and continues after Last-Event-ID on the next server', async () => {
    const cwd = newProject();
    const { id, ended, release } = await waitingSuite(cwd);
    const first = await world({ cwd });
    const cookie = await signedIn(first);
    const url = `${first.origin}/v1/runs/${id}/events`;
    const before = new SseClient(url, undefined, undefined, { cookie });
    await until('ten cases', () => before.events.filter(({ event }) => event === 'case').length === 10);
    expect(before.response?.headers).toMatchObject({
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
    });
    await first.stop();
    await before.ended;
    const next = await world({ cwd, port: first.port });
    const after = new SseClient(url, before.lastId, undefined, { cookie });
    release();
    await after.ended;
    await ended;
    await next.stop();
    const lines = [...linesOf(before), ...linesOf(after)];
    expect(lines).toEqual(Array.from({ length: 43 }, (_, index) => index + 1));
    expect(after.events.at(-1)).toEqual({ event: 'sealed', id: undefined, data: {} });
  });

  test('refuses an unknown run and a malformed position, and says that a sealed run is sealed', async () => {
    const cwd = newProject();
    const { id, ended, release } = await waitingSuite(cwd);
    release();
    await ended;
    const at = await world({ cwd });
    const cookie = ['Cookie', await signedIn(at)] as const;
    expect((await send(at, 'GET', '/v1/runs/none/events', [cookie])).status).toBe(404);
    expect((await send(at, 'GET', `/v1/runs/${id}/events?after=x`, [cookie])).status).toBe(422);
    expect((await send(at, 'GET', `/v1/runs/${id}/events`, [])).status).toBe(401);
    const { text } = await send(at, 'GET', `/v1/runs/${id}/events?after=7`, [cookie]);
    expect(text).toBe('retry: 1000\n\nevent: sealed\ndata: {}\n\n');
  });
});
