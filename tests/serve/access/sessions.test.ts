import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import { AddressSecret, type SessionBegin, Sessions } from '../../../src/serve/access/sessions.ts';
import { newSecretText, secretHash } from '../../../src/serve/access/token-text.ts';
import { Tokens } from '../../../src/serve/access/tokens.ts';
import { serverFolder } from '../../../src/serve/state/server-folder.ts';
import { newProject } from './serve-world.ts';

const HOUR_MS = 3_600_000;
const clock = { ms: 0, now: () => clock.ms };
beforeEach(() => {
  clock.ms = 1_800_000_000_000;
});

function world(rules: { hasPerson?: boolean; oidcSettings?: string } = {}, folder = newFolder()) {
  const tokens = new Tokens(folder, clock);
  const { hasPerson = true, oidcSettings } = rules;
  return { folder, tokens, sessions: new Sessions(folder, clock, { hasPerson, tokens, oidcSettings }) };
}

function newFolder(): string {
  return serverFolder(path.join(newProject(), '.proctor'));
}

const OIDC: SessionBegin = { by: 'oidc', id: 'oidc:1:ada', name: 'Ada', role: 'runner', settings: 'one' };

describe('a session', () => {
  test('ends after 12 hours without use, and after 7 days in any case', () => {
    const { sessions } = world();
    const idle = sessions.begin({ by: 'address' });
    clock.ms += 12 * HOUR_MS - 1;
    expect(sessions.find(idle)).toMatchObject({ id: 'you', role: 'admin' });
    clock.ms += 12 * HOUR_MS;
    expect(sessions.find(idle)).toBeUndefined();
    const busy = sessions.begin({ by: 'address' });
    let hours = 0;
    for (; sessions.find(busy); hours++) clock.ms += HOUR_MS;
    expect(hours).toBe(7 * 24);
  });

  test('of a provider ends after 24 hours, or when the settings of the provider change', () => {
    const first = world({ oidcSettings: 'one' });
    const text = first.sessions.begin(OIDC);
    let hours = 0;
    for (; first.sessions.find(text); hours++) clock.ms += HOUR_MS;
    expect(hours).toBe(24);
    const other = first.sessions.begin(OIDC);
    expect(world({ oidcSettings: 'one' }, first.folder).sessions.find(other)?.name).toBe('Ada');
    expect(world({ oidcSettings: 'two' }, first.folder).sessions.find(other)).toBeUndefined();
    expect(world({}, first.folder).sessions.find(other)).toBeUndefined();
  });

  test('of the printed address does not open a server that others can reach', () => {
    const { folder, sessions } = world();
    const text = sessions.begin({ by: 'address' });
    expect(world({ hasPerson: false }, folder).sessions.find(text)).toBeUndefined();
  });

  test('of a token has the role and the life of the token', async () => {
    const { tokens, sessions } = world();
    const { token } = await tokens.create({ name: 'x', role: 'viewer', expiresInMs: HOUR_MS });
    const text = sessions.begin({ by: 'token', token_id: token.id });
    expect(sessions.find(text)).toEqual({ id: `token:${token.id}`, name: 'x', role: 'viewer' });
    clock.ms += HOUR_MS;
    expect(sessions.find(text)).toBeUndefined();
  });

  test('survives a restart, and does not come back after it has ended', () => {
    const { folder, sessions } = world();
    const [kept, ended] = [sessions.begin({ by: 'address' }), sessions.begin({ by: 'address' })];
    sessions.end(ended);
    const next = world({}, folder).sessions;
    expect(next.find(kept)?.id).toBe('you');
    expect(next.find(ended)).toBeUndefined();
  });

  test('that is used keeps its time over a restart without a proper stop', () => {
    const { folder, sessions } = world();
    const text = sessions.begin({ by: 'address' });
    clock.ms += 11 * HOUR_MS;
    sessions.find(text);
    clock.ms += 11 * HOUR_MS;
    expect(world({}, folder).sessions.find(text)?.id).toBe('you');
  });

  test('is one of at most 20 of the same identity; the oldest ends', () => {
    const { sessions } = world({ oidcSettings: 'one' });
    const other = sessions.begin(OIDC);
    const all = Array.from({ length: 21 }, () => {
      clock.ms += 1;
      return sessions.begin({ by: 'address' });
    });
    expect(all.map(text => sessions.find(text) !== undefined)).toEqual([false, ...Array<boolean>(20).fill(true)]);
    expect(sessions.find(other)?.name).toBe('Ada');
  });

  test.each(['', 'x', 'A'.repeat(43), 'A'.repeat(44), '__proto__', '\0'])('is not found by %j', text => {
    expect(world().sessions.find(text)).toBeUndefined();
  });
});

describe('a session file that Proctor did not write', () => {
  test('opens nothing, and is replaced', () => {
    const { folder, sessions } = world();
    const own = sessions.begin({ by: 'address' });
    const file = path.join(folder, 'sessions.json');
    const forged = newSecretText();
    const text = readFileSync(file, 'utf8').replaceAll(secretHash(own), secretHash(forged));
    writeFileSync(file, text, { mode: 0o600 });
    const next = world({}, folder).sessions;
    expect([next.find(forged), next.find(own)]).toEqual([undefined, undefined]);
    const again = next.begin({ by: 'address' });
    expect(world({}, folder).sessions.find(again)?.id).toBe('you');
  });

  test('cannot be a token file under another name', async () => {
    const { folder, tokens } = world();
    await tokens.create({ name: 'x', role: 'admin' });
    writeFileSync(path.join(folder, 'sessions.json'), readFileSync(path.join(folder, 'tokens.json')), { mode: 0o600 });
    expect(() => world({}, folder)).not.toThrow();
  });
});

test('the secret of an address matches only itself', () => {
  const secret = new AddressSecret();
  expect(secret.matches(secret.text)).toBe(true);
  for (const other of ['', secret.text.slice(1), `${secret.text} `, secret.text.toLowerCase(), newSecretText()])
    expect(secret.matches(other)).toBe(false);
});
