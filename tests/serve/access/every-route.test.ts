import { describe, expect, test } from 'vitest';
import { ROUTES } from '../../../src/serve/routes/index.ts';
import { send, world } from './serve-world.ts';

/** The path of a route, with a value for each part that names something. Nothing has these names. */
const targetOf = (route: string): string =>
  route.replaceAll('{run_id}', 'script_20200101_000000_000000000000').replace(/\{\w+\}/g, 'nothing');

describe('every route', () => {
  test('refuses another Host, and an act from a page of another site', async () => {
    const at = await world();
    const signed = await send(at, 'POST', '/v1/session', [], { secret: at.secret });
    const [cookie = ''] = signed.headers['set-cookie']?.[0]?.split(';') ?? [];
    const wrong: string[] = [];
    for (const { method, path: route, name, role } of ROUTES) {
      const target = targetOf(route);
      const rebound = await send(at, method, target, [
        ['Host', 'evil.example'],
        ['Cookie', cookie],
      ]);
      if (rebound.code !== 'wrong_host' && !/^\/(?:healthz|readyz)$/.test(target))
        wrong.push(`${name}: ${rebound.code}`);
      const foreign = await send(at, method, target, [
        ['Cookie', cookie],
        ['Origin', 'https://evil.example'],
        ['Sec-Fetch-Site', 'cross-site'],
      ]);
      // A worker cannot have a cookie, so the cookie of any page fails at the role.
      const expected = role === 'worker' ? 'role_too_low' : 'wrong_origin';
      if (foreign.code !== expected) wrong.push(`${name}: ${foreign.status} ${foreign.code}`);
    }
    expect(wrong).toEqual([]);
  });
});

test('a second server of the same project is refused, until the first has stopped', async () => {
  const first = await world();
  await expect(world({ cwd: first.cwd })).rejects.toThrow('Another server serves this project');
  await first.stop();
  const next = await world({ cwd: first.cwd });
  expect((await send(next, 'GET', '/healthz')).status).toBe(200);
});
