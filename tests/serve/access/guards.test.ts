import { readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { openAccess } from '../../../src/serve/access/access.ts';
import { Tokens } from '../../../src/serve/access/tokens.ts';
import { newTokenText } from '../../../src/serve/access/token-text.ts';
import { SERVER_ROLES, type ServerRole } from '../../../src/serve/access/roles.ts';
import { serverFolder } from '../../../src/serve/state/server-folder.ts';
import { cookieOf, newProject, send, type World, world } from './serve-world.ts';

const bearer = (text: string) => ['Authorization', `Bearer ${text}`] as const;

async function tokenIn(cwd: string, role: ServerRole, name: string = role): Promise<{ text: string; id: string }> {
  const tokens = new Tokens(serverFolder(path.join(cwd, '.proctor')), { now: () => Date.now() });
  const { text, token } = await tokens.create({ name, role });
  return { text, id: token.id };
}

async function signedIn(at: World): Promise<string> {
  const answer = await send(at, 'POST', '/v1/session', [['Origin', at.origin]], { secret: at.secret });
  expect(answer.status).toBe(200);
  return cookieOf(answer);
}

describe('the printed address', () => {
  test('opens the server: its secret is exchanged for a cookie that a new server still knows', async () => {
    const first = await world();
    const answer = await send(first, 'POST', '/v1/session', [['Origin', first.origin]], { secret: first.secret });
    expect(answer.value).toEqual({ name: 'you', role: 'admin' });
    expect(answer.headers['set-cookie']?.[0]).toMatch(
      new RegExp(`^proctor_session_${first.port}=[0-9A-Za-z]{43}; Path=/; Max-Age=604800; HttpOnly; SameSite=Lax$`),
    );
    const cookie = cookieOf(answer);
    expect((await send(first, 'GET', '/v1/runs', [['Cookie', cookie]])).status).toBe(200);
    await first.stop();
    const next = await world({ cwd: first.cwd, port: first.port });
    expect((await send(next, 'GET', '/v1/runs', [['Cookie', cookie]])).status).toBe(200);
    const old = await send(next, 'POST', '/v1/session', [['Origin', next.origin]], { secret: first.secret });
    expect([old.status, old.code]).toEqual([401, 'bad_secret']);
  });

  test('is not needed again until you sign out', async () => {
    const at = await world();
    const cookie = await signedIn(at);
    const out = await send(at, 'DELETE', '/v1/session', [
      ['Cookie', cookie],
      ['Origin', at.origin],
    ]);
    expect(out.headers['set-cookie']?.[0]).toContain('Max-Age=0');
    expect((await send(at, 'GET', '/v1/runs', [['Cookie', cookie]])).code).toBe('not_signed_in');
  });

  test('does not put its secret or a cookie into any file of the server', async () => {
    const at = await world();
    const [, value = ''] = (await signedIn(at)).split('=');
    const folder = path.join(at.cwd, '.proctor', 'server');
    for (const name of ['sessions.json', 'audit.ndjson']) {
      const text = readFileSync(path.join(folder, name), 'utf8');
      expect(text).not.toContain(at.secret);
      expect(text).not.toContain(value);
    }
  });
});

describe('a request', () => {
  test('needs an identity, and with a wrong one gets the same answer whether it is unknown, expired or revoked', async () => {
    const cwd = newProject();
    const revoked = await tokenIn(cwd, 'viewer');
    const expired = await new Tokens(serverFolder(path.join(cwd, '.proctor')), { now: () => 0 }).create({
      name: 'old',
      role: 'viewer',
    });
    await new Tokens(serverFolder(path.join(cwd, '.proctor')), { now: () => Date.now() }).revoke(revoked.id);
    const at = await world({ cwd });
    expect((await send(at, 'GET', '/v1/runs')).code).toBe('not_signed_in');
    const answers = await Promise.all(
      [revoked.text, expired.text, newTokenText(), 'pt_x', ''].map(text => send(at, 'GET', '/v1/runs', [bearer(text)])),
    );
    expect(new Set(answers.map(({ text }) => text)).size).toBe(1);
    expect(answers.map(({ status, code }) => `${status} ${code}`)).toEqual(Array(5).fill('401 bad_token'));
  });

  test('with a wrong token is refused even if its cookie is right', async () => {
    const at = await world();
    const cookie = await signedIn(at);
    expect((await send(at, 'GET', '/v1/runs', [['Cookie', cookie], bearer(newTokenText())])).code).toBe('bad_token');
  });

  test('with two Authorization headers or two session cookies has no identity', async () => {
    const cwd = newProject();
    const { text } = await tokenIn(cwd, 'admin');
    const at = await world({ cwd });
    const cookie = await signedIn(at);
    expect((await send(at, 'GET', '/v1/runs', [bearer(text), bearer(text)])).status).toBe(401);
    const forged = `${cookie.split('=')[0]}=${'A'.repeat(43)}`;
    for (const headers of [
      [['Cookie', `${forged}; ${cookie}`]],
      [['Cookie', `${cookie}; ${forged}`]],
      [
        ['Cookie', cookie],
        ['cookie', forged],
      ],
    ] as [string, string][][]) {
      expect((await send(at, 'GET', '/v1/runs', headers)).status).toBe(401);
    }
  });

  test.each([
    ['GET', '/v1/session', 'user'],
    ['GET', '/v1/runs', 'viewer'],
    ['GET', '/metrics', 'viewer'],
    ['GET', '/v1/tokens', 'admin'],
    ['GET', '/v1/audit', 'admin'],
  ] as const)('%s %s needs the role %s', async (method, target, need) => {
    const cwd = newProject();
    const tokens = await Promise.all(SERVER_ROLES.map(role => tokenIn(cwd, role)));
    const at = await world({ cwd });
    const opened: ServerRole[] = [];
    for (const [index, { text }] of tokens.entries()) {
      const { status } = await send(at, method, target, [bearer(text)]);
      if (status === 200) opened.push(SERVER_ROLES[index] as ServerRole);
      else expect(status).toBe(403);
    }
    expect(opened).toEqual(SERVER_ROLES.slice(SERVER_ROLES.indexOf(need), -1));
  });
});

describe('a token', () => {
  test('signs a browser in, and ends its session when it is revoked', async () => {
    const cwd = newProject();
    const { text, id } = await tokenIn(cwd, 'viewer');
    const at = await world({ cwd });
    const answer = await send(at, 'POST', '/v1/session', [], { token: text });
    expect(answer.value).toEqual({ name: 'viewer', role: 'viewer' });
    const cookie = ['Cookie', cookieOf(answer)] as const;
    expect((await send(at, 'GET', '/v1/runs', [cookie])).status).toBe(200);
    const admin = await send(at, 'DELETE', `/v1/tokens/${id}`, [bearer(at.secret)]);
    expect(admin.value['state']).toBe('revoked');
    expect((await send(at, 'GET', '/v1/runs', [cookie])).status).toBe(401);
    expect((await send(at, 'GET', '/v1/runs', [bearer(text)])).status).toBe(401);
  });

  test('of a worker does not sign a browser in', async () => {
    const cwd = newProject();
    const { text } = await tokenIn(cwd, 'worker');
    const at = await world({ cwd });
    expect((await send(at, 'POST', '/v1/session', [], { token: text })).code).toBe('bad_token');
  });

  test('is created through the API, shown once, and listed without its secret', async () => {
    const at = await world();
    const made = await send(at, 'POST', '/v1/tokens', [bearer(at.secret)], { name: 'CI', role: 'runner' });
    const text = made.value['token'] as string;
    expect((await send(at, 'GET', '/v1/session', [bearer(text)])).value).toEqual({ name: 'CI', role: 'runner' });
    const listed = await send(at, 'GET', '/v1/tokens', [bearer(at.secret)]);
    expect(listed.text).toContain(text.slice(0, 8));
    expect(listed.text).not.toContain(text.slice(8));
    expect(listed.text).not.toContain('sha256');
  });
});

describe('an answer that stays open', () => {
  test('ends when the token is revoked, and not before', async () => {
    const cwd = newProject();
    const { text, id } = await tokenIn(cwd, 'viewer');
    const access = openAccess(path.join(cwd, '.proctor'), {
      listen: '127.0.0.1',
      port: 7700,
      hosts: [],
      isBehindProxy: false,
      recheckMs: 10,
    });
    onTestFinished(() => access.close());
    const rawHeaders = ['Host', '127.0.0.1:7700', 'Authorization', `Bearer ${text}`];
    const incoming = { method: 'GET', url: '/', rawHeaders, socket: {} };
    const ended: string[] = [];
    access.watch(incoming, 'viewer', () => ended.push('viewer'));
    access.watch(incoming, 'admin', () => ended.push('admin'));
    const stop = access.watch(incoming, 'user', () => ended.push('stopped'));
    await expect.poll(() => ended).toEqual(['admin']);
    stop();
    await access.tokens.revoke(id);
    await expect.poll(() => ended).toEqual(['admin', 'viewer']);
  });
});

describe('the Host of a request', () => {
  test.each([
    'evil.example',
    'evil.example:PORT',
    '127.0.0.1',
    '127.0.0.1:1',
    '127.0.0.1:PORT.evil.example',
    'localhost.:PORT',
    'localhost.evil.example:PORT',
    'user@127.0.0.1:PORT',
    '127.1:PORT',
    '0x7f.0.0.1:PORT',
    '2130706433:PORT',
    '[::ffff:127.0.0.1]:PORT',
    'ⅼocalhost:PORT',
    'LOCALHOST:0PORT',
    '127.0.0.1:PORT, evil.example',
    '',
  ])('%j is refused', async host => {
    const at = await world();
    const value = Buffer.from(host.replace('PORT', String(at.port))).toString('latin1');
    for (const target of ['/v1/runs', '/']) {
      const answer = await send(at, 'GET', target, [['Host', value], bearer(at.secret)]);
      expect([answer.status, answer.code ?? 'by Node']).toEqual([
        400,
        expect.stringMatching(/^(?:wrong_host|by Node)$/),
      ]);
    }
  });

  test.each(['127.0.0.1:PORT', 'localhost:PORT', 'LocalHost:PORT', '[::1]:PORT'])(
    '%s is served on loopback',
    async host => {
      const at = await world();
      const answer = await send(at, 'GET', '/v1/runs', [
        ['Host', host.replace('PORT', String(at.port))],
        bearer(at.secret),
      ]);
      expect(answer.status).toBe(200);
    },
  );

  test('is refused if it is sent twice, and so is an absolute target', async () => {
    const at = await world();
    const host = ['Host', `127.0.0.1:${at.port}`] as const;
    expect((await send(at, 'GET', '/v1/runs', [host, ['host', 'evil.example'], bearer(at.secret)])).status).toBe(400);
    expect((await send(at, 'GET', `http://evil.example/v1/runs`, [host, bearer(at.secret)])).status).toBe(400);
    expect((await send(at, 'GET', `${at.origin}/v1/runs`, [host, bearer(at.secret)])).status).toBe(400);
  });

  test('may be a name from --host', async () => {
    const at = await world({ hosts: ['proctor.example', 'other.example:8080'] });
    const status = async (host: string) =>
      (await send(at, 'GET', '/v1/runs', [['Host', host], bearer(at.secret)])).status;
    expect(await status(`proctor.example:${at.port}`)).toBe(200);
    expect(await status('other.example:8080')).toBe(200);
    expect(await status('proctor.example')).toBe(400);
    expect(await status(`other.example:${at.port}`)).toBe(400);
  });
});

describe('an act from another site', () => {
  const foreign: Record<string, readonly (readonly [string, string])[]> = {
    'another origin': [['Origin', 'https://evil.example']],
    'a hidden origin': [['Origin', 'null']],
    'another port of this machine': [
      ['Origin', 'http://127.0.0.1:1'],
      ['Sec-Fetch-Site', 'same-site'],
    ],
    'https instead of http': [['Origin', 'https://127.0.0.1:PORT']],
    'another name of this machine': [['Origin', 'http://localhost:PORT']],
    'a longer origin': [['Origin', 'http://127.0.0.1:PORT.evil.example']],
    'two origins': [
      ['Origin', 'http://127.0.0.1:PORT'],
      ['Origin', 'https://evil.example'],
    ],
    'no origin': [],
    'a cross-site fetch that hides its origin': [['Sec-Fetch-Site', 'cross-site']],
    'the right origin, but a cross-site fetch': [
      ['Origin', 'http://127.0.0.1:PORT'],
      ['Sec-Fetch-Site', 'cross-site'],
    ],
  };

  test.each(Object.entries(foreign))('with a cookie and %s is refused', async (_, headers) => {
    const at = await world();
    const cookie = await signedIn(at);
    const sent = headers.map(([name, value]) => [name, value.replace('PORT', String(at.port))] as const);
    for (const type of ['application/json', 'text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data']) {
      const all = [...sent, ['Cookie', cookie] as const, ['Content-Type', type] as const];
      const answer = await send(at, 'POST', '/v1/tokens', all, '{"name":"x","role":"admin"}');
      expect([answer.status, answer.code]).toEqual([403, 'wrong_origin']);
    }
    expect((await send(at, 'GET', '/v1/tokens', [bearer(at.secret)])).value).toEqual({ tokens: [] });
  });

  test('cannot sign a browser in as someone else', async () => {
    const at = await world();
    const answer = await send(at, 'POST', '/v1/session', [['Origin', 'https://evil.example']], { secret: at.secret });
    expect(answer.code).toBe('wrong_origin');
  });

  test('is allowed with a token, because browsers do not add tokens', async () => {
    const at = await world();
    const headers = [bearer(at.secret), ['Origin', 'https://elsewhere.example']] as const;
    expect((await send(at, 'POST', '/v1/tokens', headers, { name: 'x', role: 'user' })).status).toBe(200);
  });

  test('cannot embed or fetch what a cookie opens, but may link to it', async () => {
    const at = await world();
    const cookie = ['Cookie', await signedIn(at)] as const;
    const from = (...pairs: [string, string][]) =>
      send(at, 'GET', '/v1/runs', [cookie, ...pairs.map(([name, value]) => [`Sec-Fetch-${name}`, value] as const)]);
    expect((await from(['Site', 'cross-site'], ['Mode', 'no-cors'], ['Dest', 'script'])).status).toBe(403);
    expect((await from(['Site', 'same-site'], ['Mode', 'cors'], ['Dest', 'empty'])).status).toBe(403);
    expect((await from(['Site', 'cross-site'], ['Mode', 'navigate'], ['Dest', 'iframe'])).status).toBe(403);
    expect((await from(['Site', 'cross-site'], ['Mode', 'navigate'], ['Dest', 'document'])).status).toBe(200);
    expect((await from(['Site', 'same-origin'], ['Mode', 'cors'], ['Dest', 'empty'])).status).toBe(200);
  });
});

describe('the rate limits', () => {
  test('stop guessing: after too many wrong tokens even the right one waits', async () => {
    const at = await world({ rates: { requests: 100, anonymous: 100, failures: 3 } });
    for (let tries = 0; tries < 3; tries++)
      expect((await send(at, 'GET', '/v1/runs', [bearer(newTokenText())])).status).toBe(401);
    const answer = await send(at, 'GET', '/v1/runs', [bearer(at.secret)]);
    expect([answer.status, answer.code]).toEqual([429, 'too_many_requests']);
    expect(Number(answer.headers['retry-after'])).toBeGreaterThanOrEqual(1);
    expect((await send(at, 'POST', '/v1/session', [], { secret: at.secret })).status).toBe(429);
  });

  test('count each identity by itself', async () => {
    const cwd = newProject();
    const [one, other] = [await tokenIn(cwd, 'viewer', 'one'), await tokenIn(cwd, 'viewer', 'other')];
    const at = await world({ cwd, rates: { requests: 2, anonymous: 1, failures: 20 } });
    const status = async (text: string) => (await send(at, 'GET', '/v1/session', [bearer(text)])).status;
    expect([await status(one.text), await status(one.text), await status(one.text)]).toEqual([200, 200, 429]);
    expect(await status(other.text)).toBe(200);
    expect((await send(at, 'GET', '/healthz')).status).toBe(200);
    expect((await send(at, 'GET', '/healthz')).status).toBe(429);
  });
});

describe('listening', () => {
  test.each([
    [{ host: '0.0.0.0' }, 'Listening on 0.0.0.0 needs tokens or --oidc'],
    [{ host: '::' }, 'Listening on :: needs tokens or --oidc'],
    [{ isBehindProxy: true, hosts: ['a.example'] }, 'Listening behind a proxy needs tokens or --oidc'],
    [{ hosts: ['bad host'] }, '--host bad host is not a host'],
  ])('%j without tokens is refused', async (options, sentence) => {
    await expect(world(options)).rejects.toThrow(sentence);
  });

  test('on other addresses without TLS, or behind a proxy without a name, is refused', async () => {
    const cwd = newProject();
    await tokenIn(cwd, 'admin');
    await expect(world({ cwd, host: '0.0.0.0' })).rejects.toThrow('Listening on 0.0.0.0 without TLS');
    await expect(world({ cwd, host: '0.0.0.0', isBehindProxy: true })).rejects.toThrow('needs --host NAME');
  });

  test('behind a proxy serves only https under the given names, with secure cookies', async () => {
    const cwd = newProject();
    const { text } = await tokenIn(cwd, 'admin');
    const at = await world({ cwd, isBehindProxy: true, hosts: ['proctor.example'] });
    expect(at.address).toBe('https://proctor.example/');
    const https = ['X-Forwarded-Proto', 'https'] as const;
    const host = ['X-Forwarded-Host', 'proctor.example'] as const;
    const get = (...headers: (readonly [string, string])[]) => send(at, 'GET', '/v1/runs', [bearer(text), ...headers]);
    expect((await get(https, host)).status).toBe(200);
    expect((await get(https, ['Host', 'proctor.example'])).status).toBe(200);
    expect((await get(host)).code).toBe('not_secure');
    expect((await get(['X-Forwarded-Proto', 'http'], host)).code).toBe('not_secure');
    expect((await get(https, https, host)).code).toBe('not_secure');
    expect((await get(https)).code).toBe('wrong_host');
    expect((await get(https, ['X-Forwarded-Host', 'evil.example'])).code).toBe('wrong_host');
    expect((await get(https, host, ['X-Forwarded-Host', 'evil.example'])).code).toBe('wrong_host');
    expect((await send(at, 'GET', '/healthz')).status).toBe(200);
    const origin = ['Origin', 'https://proctor.example'] as const;
    const answer = await send(at, 'POST', '/v1/session', [https, host, origin], { token: text });
    expect(answer.headers['set-cookie']?.[0]).toMatch(
      /^__Host-proctor_session=\w{43}; Path=\/; Max-Age=604800; HttpOnly; SameSite=Lax; Secure$/,
    );
    expect((await send(at, 'GET', '/v1/runs', [https, host, ['Cookie', cookieOf(answer)]])).status).toBe(200);
  });

  test('without a proxy ignores forwarded headers', async () => {
    const at = await world();
    const headers = [bearer(at.secret), ['X-Forwarded-Host', 'evil.example'], ['X-Forwarded-Proto', 'https']] as const;
    expect((await send(at, 'GET', '/v1/runs', headers)).status).toBe(200);
  });
});
