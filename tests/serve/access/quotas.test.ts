/** What a token with quotas may use. */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { systemClock } from '../../../src/base/clock.ts';
import { homeFrom } from '../../../src/evidence/run-folder/runs.ts';
import type { TokenQuotas } from '../../../src/serve/access/identity.ts';
import type { ServerRole } from '../../../src/serve/access/roles.ts';
import { Tokens } from '../../../src/serve/access/tokens.ts';
import type { ServeOptions } from '../../../src/serve/serve.ts';
import { serverFolder } from '../../../src/serve/state/server-folder.ts';
import { publishScript } from '../../../src/verbs/publish/publish.ts';
import { PublishWorld } from '../../publish/world.ts';
import { newProject, send, type World, world } from './serve-world.ts';

const tokensOf = ({ cwd }: Pick<World, 'cwd'>) => new Tokens(serverFolder(homeFrom(cwd)), systemClock);

async function tokenFor(at: Pick<World, 'cwd'>, quotas: TokenQuotas, role: ServerRole = 'runner'): Promise<string> {
  return (await tokensOf(at).create({ name: 'quotas', role, quotas })).text;
}

const bearer = (text: string) => [['authorization', `Bearer ${text}`]] as const;

const statuses = async (at: World, token: string, count: number): Promise<number[]> => {
  const seen: number[] = [];
  for (let asked = 0; asked < count; asked++) seen.push((await send(at, 'GET', '/v1/session', bearer(token))).status);
  return seen;
};

test('a rate limits its token alone, and the refusal names it and says when to try again', async () => {
  const at = await world();
  const [limited, free] = [await tokenFor(at, { rate: 2 }), await tokenFor(at, {})];
  expect(await statuses(at, limited, 3)).toEqual([200, 200, 429]);
  const { code, text, headers } = await send(at, 'GET', '/v1/session', bearer(limited));
  expect(code).toBe('too_many_requests');
  expect(text).toMatch(/The quota of this token is 2 requests per minute\. Try again in \d+ seconds?\./);
  expect(Number(headers['retry-after'])).toBeGreaterThan(0);
  expect(await statuses(at, free, 3)).toEqual([200, 200, 200]);
});

test('a rate may exceed the limit of the server', async () => {
  const at = await world({ rates: { requests: 2, anonymous: 100, failures: 20 } });
  expect(await statuses(at, await tokenFor(at, { rate: 4 }), 5)).toEqual([200, 200, 200, 200, 429]);
});

test('a session shares the rate of the token that it began with', async () => {
  const at = await world();
  const text = await tokenFor(at, { rate: 2 });
  const signed = await send(at, 'POST', '/v1/session', [['Origin', at.origin]], { token: text });
  const cookie = signed.headers['set-cookie']?.[0]?.split(';')[0] ?? '';
  expect((await send(at, 'GET', '/v1/session', [['Cookie', cookie]])).status).toBe(200);
  expect(await statuses(at, text, 2)).toEqual([200, 429]);
});

test('a rate limits workers too', async () => {
  const at = await world();
  const text = await tokenFor(at, { rate: 1 }, 'worker');
  const codes = [await send(at, 'POST', '/v1/beats', bearer(text)), await send(at, 'POST', '/v1/beats', bearer(text))];
  expect(codes.map(({ code }) => code)).toEqual([expect.not.stringContaining('too_many'), 'too_many_requests']);
});

const CASES = { name: 'cases.jsonl', text: '{"id":"one","input":{"user":"1"}}\n' };

/** A server that begins no suite, so that every order waits. */
async function waiting(quotas: TokenQuotas, options: Partial<ServeOptions> = {}) {
  const at = await world({ ...options, ordering: { runs: 0, ...options.ordering } });
  const text = await tokenFor(at, quotas);
  const place = (id: string, token = text) =>
    send(at, 'POST', '/v1/runs', bearer(token), {
      as: 'new',
      run_id: id,
      cases: CASES,
      base_url: 'http://127.0.0.1:9',
    });
  return { at, place };
}

test('a quota of waiting orders refuses the next one, and still accepts a repeated one', async () => {
  const { at, place } = await waiting({ waiting: 2 });
  expect([await place('r1'), await place('r2')].map(({ status }) => status)).toEqual([202, 202]);
  const { status, headers, text } = await place('r3');
  expect([status, headers['retry-after']]).toEqual([429, '30']);
  expect(text).toContain('The quota of this token is 2 waiting runs. Try again later.');
  expect((await place('r2')).status).toBe(202);
  expect((await place('r4', await tokenFor(at, {}))).status).toBe(202);
});

test('a quota of waiting orders may exceed the limit of an identity, but not that of the server', async () => {
  const { place } = await waiting({ waiting: 2 }, { ordering: { waitingPerIdentity: 1 } });
  const answers = [await place('r1'), await place('r2'), await place('r3')];
  expect(answers.map(({ status }) => status)).toEqual([202, 202, 429]);
});

/** A server that begins no published script, and how its users order one. */
async function scriptsWaiting(ordering: ServeOptions['ordering'] = {}) {
  const tool = new PublishWorld();
  await publishScript('tool', { cwd: tool.cwd });
  const at = await world({ cwd: tool.cwd, ordering: { ...ordering, scripts: 0 } });
  const form = '--b\r\ncontent-disposition: form-data; name="word"\r\n\r\nhello\r\n--b--';
  const asForm = ['content-type', 'multipart/form-data; boundary=b'] as const;
  const place = (token: string, key: string) =>
    send(at, 'POST', '/v1/scripts/echo/runs', [...bearer(token), asForm, ['idempotency-key', key]], form);
  return { at, place };
}

test('a quota of waiting orders limits runs of published scripts, and still accepts a repeated one', async () => {
  const { at, place } = await scriptsWaiting();
  const token = await tokenFor(at, { waiting: 2 }, 'user');
  const [first, second] = [await place(token, '1'), await place(token, '2')];
  expect([first, second].map(({ status }) => status)).toEqual([202, 202]);
  const { status, code, headers, text } = await place(token, '3');
  expect([status, code, headers['retry-after']]).toEqual([429, 'queue_full', '30']);
  expect(text).toContain('The quota of this token is 2 waiting runs. Try again later.');
  expect((await place(token, '2')).value).toMatchObject({ run_id: second.value['run_id'] });
  expect((await place(await tokenFor(at, {}, 'user'), '4')).status).toBe(202);
  const stopped = `/v1/script-runs/${String(first.value['run_id'])}/cancel`;
  expect((await send(at, 'POST', stopped, bearer(token))).status).toBe(202);
  expect((await place(token, '3')).status).toBe(202);
});

test('only so many runs of published scripts of one identity wait, and more with a quota', async () => {
  const { at, place } = await scriptsWaiting({ waitingPerIdentity: 1 });
  const token = await tokenFor(at, {}, 'user');
  expect((await place(token, '1')).status).toBe(202);
  const { status, code, text } = await place(token, '2');
  expect([status, code]).toEqual([429, 'queue_full']);
  expect(text).toContain('1 of your runs are waiting. Try again later.');
  const large = await tokenFor(at, { waiting: 2 }, 'user');
  expect([(await place(large, '1')).status, (await place(large, '2')).status]).toEqual([202, 202]);
});

test('stores quotas with the token, and lists null for the limit of the server', async () => {
  const cwd = newProject();
  const tokens = tokensOf({ cwd });
  await tokens.create({ name: 'both', role: 'runner', quotas: { rate: 60, waiting: 5 } });
  await tokens.create({ name: 'none', role: 'runner' });
  expect(tokensOf({ cwd }).list()).toMatchObject([
    { name: 'both', rate: 60, waiting: 5 },
    { name: 'none', rate: null, waiting: null },
  ]);
  for (const quotas of [{ rate: 0 }, { rate: 1.5 }, { rate: 1_000_001 }, { waiting: 1_001 }, { waiting: Number.NaN }])
    await expect(tokens.create({ name: 'wrong', role: 'runner', quotas })).rejects.toMatchObject({ code: 'usage' });
});

test('an administrator creates a token with quotas through the API, and the audit log notes it', async () => {
  const at = await world();
  const made = await send(at, 'POST', '/v1/tokens', bearer(at.secret), {
    name: 'ci',
    role: 'runner',
    rate: 60,
    waiting: 5,
  });
  expect(made.value['created']).toMatchObject({ rate: 60, waiting: 5 });
  const wrong = await send(at, 'POST', '/v1/tokens', bearer(at.secret), { name: 'ci', role: 'runner', waiting: 0 });
  expect([wrong.status, wrong.code]).toEqual([422, 'invalid_input']);
  const audit = readFileSync(path.join(at.cwd, '.proctor', 'server', 'audit.ndjson'), 'utf8');
  expect(audit).toMatch(/"name":"you".*"outcome":"done".*"verb":"newToken"/);
  expect(audit).not.toContain('waiting');
});
