import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { ownPath } from '../../../src/serve/access/oidc.ts';
import { groupsOfClaims, parseRoleRule, roleOfClaims } from '../../../src/serve/access/oidc-roles.ts';
import { publishScript } from '../../../src/verbs/publish/publish.ts';
import { CLIENT, type Lie, lyingProvider, realProvider, teamServer, throughProvider, visit } from './oidc-world.ts';
import { cookieOf, newProject, type World } from './serve-world.ts';

const ADA = { sub: 'ada', name: 'Ada', email: 'Ada@Example.com', email_verified: true, groups: ['ops', 'all'] };
/** One client may fail three times. */
const FEW_FAILURES = { requests: 1_000, anonymous: 1_000, failures: 3 };
const RULES = ['admin=group:ops', 'runner=domain:example.com'].map(parseRoleRule);

/** Publishes a script for some roles and groups. */
async function published(cwd: string, name: string, who: readonly string[] | undefined): Promise<void> {
  const folder = path.join(cwd, name);
  mkdirSync(folder);
  const script = { schema_version: 'published-script.v1', name, version: '1.0.0', title: name, script: 'run.sh', who };
  writeFileSync(path.join(folder, 'script.yaml'), JSON.stringify(script));
  writeFileSync(path.join(folder, 'run.sh'), 'exit 0\n');
  await publishScript(folder, { cwd });
}

/** Begins a sign-in: where the browser goes, and its cookie. */
async function begun(at: World, to = '/runs/one'): Promise<{ address: string; cookie: string }> {
  const answer = await visit(at, `/login/provider?to=${encodeURIComponent(to)}`);
  expect(answer.status).toBe(302);
  return { address: answer.headers.location ?? '', cookie: cookieOf(answer, 'login') };
}

describe('a sign-in at a real provider', () => {
  test('gives the role of the group, and leads back to the page that asked', async () => {
    const at = await teamServer(await realProvider(ADA), { roles: RULES });
    const { address, cookie } = await begun(at);
    const sent = new URL(address).searchParams;
    expect(sent.get('code_challenge_method')).toBe('S256');
    expect(
      [sent.get('state'), sent.get('nonce'), sent.get('code_challenge')].every(text => (text ?? '').length > 40),
    ).toBe(true);
    const back = await throughProvider(address);
    expect(back.href).toMatch(/^https:\/\/proctor\.example\/login\/callback\?/);
    const answer = await visit(at, `${back.pathname}${back.search}`, cookie);
    expect([answer.status, answer.headers.location]).toEqual([302, '/runs/one']);
    const session = cookieOf(answer);
    expect(session).toMatch(/^__Host-proctor_session=/);
    expect(answer.headers['set-cookie']?.find(line => line.includes('_login'))).toContain('Max-Age=0');
    expect((await visit(at, '/v1/session', session)).value).toEqual({ name: 'ada@example.com', role: 'admin' });
    expect((await visit(at, '/v1/session', session, 'DELETE')).status).toBe(200);
    expect((await visit(at, '/v1/session', session)).status).toBe(401);
  });

  test('decides by the groups which published scripts a person sees and runs, until the flags change', async () => {
    const ada = { ...ADA, groups: ['accounting', 'admin', 7, 'a\u202eb', 'x'.repeat(101)] };
    const issuer = await realProvider(ada);
    const at = await teamServer(issuer);
    for (const [name, who] of Object.entries({
      books: ['accounting'],
      ships: ['shipping'],
      keys: ['admin'],
      all: undefined,
    }))
      await published(at.cwd, name, who);
    const { address, cookie } = await begun(at);
    const back = await throughProvider(address);
    const session = cookieOf(await visit(at, `${back.pathname}${back.search}`, cookie));
    // A group that is named like a role gives no role.
    const { scripts } = (await visit(at, '/v1/scripts', session)).value as { scripts: { name: string }[] };
    expect(scripts.map(({ name }) => name)).toEqual(['all', 'books']);
    expect((await visit(at, '/v1/scripts/books', session)).status).toBe(200);
    expect((await visit(at, '/v1/scripts/ships', session)).status).toBe(404);
    expect((await visit(at, '/v1/scripts/keys/runs', session, 'POST')).code).toBe('no_script');
    await at.stop();
    const again = await teamServer(issuer, {}, at.cwd);
    expect((await visit(again, '/v1/scripts/books', session)).status).toBe(200);
    await again.stop();
    const other = await teamServer(issuer, { standardRole: 'viewer' }, at.cwd);
    expect((await visit(other, '/v1/scripts/books', session)).status).toBe(401);
  });

  test('works once: the same answer, its code in another sign-in, or in another browser is refused', async () => {
    const at = await teamServer(await realProvider(ADA));
    const first = await begun(at);
    const back = await throughProvider(first.address);
    const target = `${back.pathname}${back.search}`;
    expect((await visit(at, target)).code).toBe('login_failed');
    const other = await begun(at);
    expect((await visit(at, target, other.cookie)).code).toBe('login_failed');
    expect((await visit(at, target, first.cookie)).status).toBe(302);
    expect((await visit(at, target, first.cookie)).code).toBe('login_failed');
    const last = await begun(at);
    const replayed = new URL(back);
    replayed.searchParams.set('state', new URL(last.address).searchParams.get('state') ?? '');
    expect((await visit(at, `${replayed.pathname}${replayed.search}`, last.cookie)).code).toBe('login_failed');
  });

  test.each([
    ['state', 'x'],
    ['state', ''],
    ['iss', 'https://evil.example'],
    ['code', 'x'],
  ])('with another %s (%j) is refused', async (name, value) => {
    const at = await teamServer(await realProvider(ADA));
    const { address, cookie } = await begun(at);
    const back = await throughProvider(address);
    back.searchParams.set(name, value);
    const answer = await visit(at, `${back.pathname}${back.search}`, cookie);
    expect([answer.status, answer.code, answer.headers['set-cookie']]).toEqual([401, 'login_failed', undefined]);
    expect(answer.text).not.toContain('evil');
  });

  test('that the person cancels is refused', async () => {
    const at = await teamServer(await realProvider(ADA));
    const { address, cookie } = await begun(at);
    const state = new URL(address).searchParams.get('state');
    const issuer = new URL(address).origin;
    const query = new URLSearchParams({ error: 'access_denied', state: state ?? '', iss: issuer });
    expect((await visit(at, `/login/callback?${query}`, cookie)).code).toBe('login_failed');
  });

  test('survives a page that sends the browser back with other answers, again and again', async () => {
    const at = await teamServer(await realProvider(ADA), {}, newProject(), FEW_FAILURES);
    const { address, cookie } = await begun(at);
    const back = await throughProvider(address);
    for (const query of ['', '?state=x', '?code=x&state=x', '?error=access_denied', '?state=x&error=access_denied']) {
      expect((await visit(at, `/login/callback${query}`, cookie)).code).toBe('login_failed');
      expect((await visit(at, `/login/callback${query}`)).code).toBe('login_failed');
    }
    expect((await visit(at, `${back.pathname}${back.search}`, cookie)).status).toBe(302);
  });

  test('with wrong codes is stopped after too many of them', async () => {
    const at = await teamServer(await realProvider(ADA), {}, newProject(), FEW_FAILURES);
    const codes: (string | undefined)[] = [];
    for (let tries = 0; tries < 4; tries++) {
      const { address, cookie } = await begun(at);
      const back = await throughProvider(address);
      back.searchParams.set('code', 'x');
      codes.push((await visit(at, `${back.pathname}${back.search}`, cookie)).code);
    }
    expect(codes).toEqual(['login_failed', 'login_failed', 'login_failed', 'too_many_requests']);
  });

  test('that the provider refuses, or of a person without a role, locks no one out', async () => {
    const settings = { roles: RULES, standardRole: undefined };
    const at = await teamServer(await realProvider({ sub: 'eve' }), settings, newProject(), FEW_FAILURES);
    for (let tries = 0; tries < 4; tries++) {
      const { address, cookie } = await begun(at);
      const back = await throughProvider(address);
      if (tries % 2 === 0) back.searchParams.set('error', 'access_denied');
      const { code } = await visit(at, `${back.pathname}${back.search}`, cookie);
      expect(code).toBe(tries % 2 === 0 ? 'login_failed' : 'no_role');
    }
  });

  test('of a person without a role is refused if the default is none', async () => {
    const at = await teamServer(await realProvider({ sub: 'eve' }), { roles: RULES, standardRole: undefined });
    const { address, cookie } = await begun(at);
    const back = await throughProvider(address);
    const answer = await visit(at, `${back.pathname}${back.search}`, cookie);
    expect([answer.status, answer.code]).toEqual([403, 'no_role']);
  });
});

describe('a provider that lies', () => {
  const lies: Record<string, Lie> = {
    'about the nonce': { claims: { nonce: 'x' } },
    'without a nonce': { claims: { nonce: undefined } },
    'about the issuer of the token': { claims: { iss: 'https://evil.example' } },
    'about the audience': { claims: { aud: 'another' } },
    'about several audiences without saying for which': { claims: { aud: ['proctor', 'another'], azp: 'another' } },
    'with an expired token': { claims: { iat: 1_000, exp: 2_000 } },
    'without an expiry': { claims: { exp: undefined } },
    'without a subject': { claims: { sub: undefined } },
    'with a token that is not signed': { sign: 'none' },
    'with the signature of another key': { sign: 'other key' },
    'with an HMAC as signature': { sign: 'hmac' },
    'about a critical header': { header: { crit: ['x'], x: true } },
    'with a refusal that has a token': { status: 400 },
  };

  test.each(Object.entries(lies))('%s signs no one in', async (_, lie) => {
    const { issuer, hear } = await lyingProvider(lie);
    const at = await teamServer(issuer);
    const { address, cookie } = await begun(at);
    hear(address);
    const state = new URL(address).searchParams.get('state') ?? '';
    const answer = await visit(at, `/login/callback?code=x&state=${state}`, cookie);
    expect([answer.status, answer.code, answer.headers['set-cookie']]).toEqual([401, 'login_failed', undefined]);
  });

  test('in nothing signs in, so the lies above are what is refused', async () => {
    const { issuer, hear } = await lyingProvider({});
    const at = await teamServer(issuer);
    const { address, cookie } = await begun(at);
    hear(address);
    const state = new URL(address).searchParams.get('state') ?? '';
    expect((await visit(at, `/login/callback?code=x&state=${state}`, cookie)).status).toBe(302);
  });

  test.each([
    ['names another issuer', { discovery: { issuer: 'https://evil.example' } }],
    ['sends more than 1 MiB', { bytes: 2 * 1024 * 1024 }],
  ] as [string, Lie][])('that %s cannot be used', async (_, lie) => {
    const at = await teamServer((await lyingProvider(lie)).issuer);
    const answer = await visit(at, '/login/provider');
    expect([answer.status, answer.code]).toEqual([503, 'oidc_unreachable']);
    expect(at.log.join('')).toContain('oidc_unreachable');
    expect(at.log.join('')).not.toContain(CLIENT.client_secret);
  });

  test.each([
    'http://login.example',
    'https://login.example/.well-known/openid-configuration',
    'https://a:b@login.example',
    'x',
  ])('%s is not accepted as an issuer', async issuer => {
    await expect(teamServer(issuer)).rejects.toThrow('--oidc needs the https address of the issuer');
  });
});

describe('the way back after a sign-in', () => {
  test('is a path of this server', () => {
    const origin = 'https://proctor.example';
    expect(ownPath('/runs/a?b=c#d', origin)).toBe('/runs/a?b=c#d');
    for (const text of [
      '//evil.example',
      '/\\evil.example',
      '\\\\evil.example',
      'https://evil.example',
      '',
      'runs',
      '/a\nb',
      '/\t/evil.example',
      '/a/..//evil.example',
      '/.//evil.example',
    ])
      expect(ownPath(text, origin)).toBe('/');
    const part = fc.constantFrom(
      '/',
      '\\',
      '.',
      '..',
      'evil.example',
      ':',
      '@',
      '%2f',
      '%5c',
      '?',
      '#',
      '\t',
      'https:',
      'a',
    );
    fc.assert(
      fc.property(fc.array(part, { maxLength: 8 }), parts => {
        const to = ownPath(parts.join(''), origin);
        return new URL(to, origin).origin === origin && !/^\/[/\\]/.test(to);
      }),
      { numRuns: 2_000 },
    );
  });
});

test('the groups of a person are texts that a script can name, and at most 250', () => {
  const many = Array.from({ length: 600 }, (_, at) => `g${at}`);
  expect(groupsOfClaims({ groups: many })).toEqual(many.slice(0, 250));
  expect(groupsOfClaims({ groups: [...many, ...many] })).toEqual([]);
  expect(groupsOfClaims({ groups: ['a', 'a', '', 'b c', null, 'b'] })).toEqual(['a', 'b']);
  for (const groups of ['accounting', { 0: 'a' }, undefined, 1]) expect(groupsOfClaims({ groups })).toEqual([]);
});

describe('the role of a person', () => {
  const rules = ['viewer=group:all', 'admin=email:ada@example.com', 'runner=domain:example.com'].map(parseRoleRule);

  test.each([
    [{}, 'user'],
    [{ groups: ['all'] }, 'viewer'],
    [{ groups: 'all' }, 'user'],
    [{ groups: { 0: 'all' } }, 'user'],
    [{ groups: ['ALL'] }, 'user'],
    [{ email: 'bob@EXAMPLE.com', email_verified: true }, 'runner'],
    [{ email: 'bob@example.com' }, 'user'],
    [{ email: 'bob@example.com', email_verified: 'true' }, 'user'],
    [{ email: 'bob@evil.example.com', email_verified: true }, 'user'],
    [{ email: 'bob@example.com@evil.example', email_verified: true }, 'user'],
    [{ email: 'ada@example.com', email_verified: true, groups: ['all'] }, 'admin'],
    [{ email: ['ada@example.com'], email_verified: true }, 'user'],
  ])('with %j is %s', (claims, role) => {
    expect(roleOfClaims(claims, rules, 'user')).toBe(role);
  });

  test.each(['root=group:x', 'worker=group:x', 'admin', 'admin=group:', 'admin=team:x', ''])(
    'cannot be set by %j',
    text => {
      expect(() => parseRoleRule(text)).toThrow('is not a rule');
    },
  );
});
