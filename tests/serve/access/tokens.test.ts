import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync, chmodSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import fc from 'fast-check';
import { describe, expect, onTestFinished, test } from 'vitest';
import { Masker, maskingOf } from '../../../src/base/masker.ts';
import { allows, SERVER_ROLES } from '../../../src/serve/access/roles.ts';
import { Sessions } from '../../../src/serve/access/sessions.ts';
import { isTokenText, newTokenText } from '../../../src/serve/access/token-text.ts';
import { Tokens } from '../../../src/serve/access/tokens.ts';
import { serverFolder } from '../../../src/serve/state/server-folder.ts';
import { ROOT } from '../../support/support.ts';

const DAY_MS = 86_400_000;

function home(): string {
  const project = mkdtempSync(path.join(tmpdir(), 'proctor-serve-'));
  onTestFinished(() => rmSync(project, { recursive: true, force: true }));
  const made = path.join(project, '.proctor');
  mkdirSync(made, { mode: 0o700 });
  return made;
}

const clockAt = (ms: number) => ({ nowMs: ms, now: () => ms });

describe('a role', () => {
  test('includes the roles before it, and worker stands apart', () => {
    const table = SERVER_ROLES.map(have => `${have}: ${SERVER_ROLES.filter(need => allows(have, need)).join(' ')}`);
    expect(table).toEqual([
      'user: user',
      'viewer: user viewer',
      'runner: user viewer runner',
      'admin: user viewer runner admin',
      'worker: worker',
    ]);
  });
});

describe('the text of a token', () => {
  test('has 256 random bits and a checksum', () => {
    const texts = Array.from({ length: 200 }, newTokenText);
    expect(new Set(texts).size).toBe(200);
    for (const text of texts) expect(text).toMatch(/^pt_[0-9A-Za-z]{49}$/);
    expect(texts.every(isTokenText)).toBe(true);
  });

  test('with any one character changed is not a token', () => {
    const text = newTokenText();
    fc.assert(
      fc.property(fc.nat(text.length - 1), fc.string({ minLength: 1, maxLength: 2 }), (at, other) => {
        fc.pre(other !== text[at]);
        return !isTokenText(text.slice(0, at) + other + text.slice(at + 1));
      }),
    );
    expect([`${text}\n`, ` ${text}`, text.slice(1), `${text}${text}`, ''].some(isTokenText)).toBe(false);
  });

  test('is masked wherever Proctor stores output', () => {
    const text = newTokenText();
    const masker = new Masker(maskingOf([]));
    expect(masker.text(`token=${text}, then script_${'a1'.repeat(25)}`)).not.toContain(text.slice(3, 20));
    expect(masker.kinds).toEqual({ proctor_token: 1 });
  });
});

describe('tokens', () => {
  test('open the server until they expire or are revoked', async () => {
    const folder = serverFolder(home());
    const clock = { ms: 1_800_000_000_000, now: () => clock.ms };
    const tokens = new Tokens(folder, clock);
    expect(tokens.hasActive()).toBe(false);
    const short = await tokens.create({ name: 'nightly', role: 'runner', expiresInMs: DAY_MS });
    const long = await tokens.create({ name: 'laptop', role: 'viewer' });
    expect(tokens.find(short.text)).toMatchObject({ name: 'nightly', role: 'runner' });
    expect(tokens.find(newTokenText())).toBeUndefined();
    clock.ms += DAY_MS;
    expect(tokens.find(short.text)).toBeUndefined();
    expect(tokens.active(short.token.id)).toBeUndefined();
    expect(tokens.find(long.text)?.role).toBe('viewer');
    await tokens.revoke(long.token.id);
    expect(tokens.find(long.text)).toBeUndefined();
    expect(tokens.list().map(({ state }) => state)).toEqual(['expired', 'revoked']);
    expect(tokens.hasActive()).toBe(false);
    expect(await tokens.revoke('tok_0000000000000000')).toBeUndefined();
  });

  test('are stored as hashes, in a file that only their owner can read', async () => {
    const folder = serverFolder(home());
    const { text, token } = await new Tokens(folder, clockAt(0)).create({ name: 'x', role: 'user' });
    const stored = readFileSync(path.join(folder, 'tokens.json'), 'utf8');
    expect(stored).not.toContain(text.slice(8, 30));
    expect(stored).toContain(token.prefix);
    expect(text.startsWith(token.prefix)).toBe(true);
  });

  test('that another process creates or revokes count at once', async () => {
    const folder = serverFolder(home());
    const [server, shell] = [new Tokens(folder, clockAt(0)), new Tokens(folder, clockAt(0))];
    const { text, token } = await shell.create({ name: 'x', role: 'admin' });
    expect(server.find(text)?.id).toBe(token.id);
    await shell.revoke(token.id);
    expect(server.find(text)).toBeUndefined();
  });

  test('that many writers create at the same time are all kept', async () => {
    const folder = serverFolder(home());
    const writers = Array.from({ length: 8 }, () => new Tokens(folder, clockAt(0)));
    await Promise.all(writers.map((tokens, at) => tokens.create({ name: `writer ${at}`, role: 'user' })));
    expect(new Tokens(folder, clockAt(0)).list()).toHaveLength(8);
  });

  test('note the day of their last use', async () => {
    const folder = serverFolder(home());
    const tokens = new Tokens(folder, clockAt(Date.parse('2026-03-04T12:00:00Z')));
    const { text } = await tokens.create({ name: 'x', role: 'user' });
    tokens.find(text);
    await tokens.saveUse();
    expect(new Tokens(folder, clockAt(0)).list()[0]?.last_used_on).toBe('2026-03-04');
  });

  test.each(['', 'a\nb', 'a\u202eb', 'x'.repeat(101)])('reject the name %j', async name => {
    const tokens = new Tokens(serverFolder(home()), clockAt(0));
    await expect(tokens.create({ name, role: 'user' })).rejects.toThrow('name of a token must be');
  });

  test('have groups, once each, which their sessions have too', async () => {
    const folder = serverFolder(home());
    const tokens = new Tokens(folder, clockAt(0));
    const { token, text } = await tokens.create({ name: 'x', role: 'user', groups: ['accounting', 'accounting'] });
    expect(token.groups).toEqual(['accounting']);
    expect(new Tokens(folder, clockAt(0)).find(text)?.groups).toEqual(['accounting']);
    const sessions = new Sessions(folder, clockAt(0), { hasPerson: false, tokens, oidcSettings: undefined });
    const cookie = sessions.begin({ by: 'token', token_id: token.id });
    expect(sessions.find(cookie)?.groups).toEqual(['accounting']);
    await expect(tokens.create({ name: 'x', role: 'user', groups: ['a b'] })).rejects.toThrow('the name of a group');
  });

  test.each([0, -1, Number.NaN, 5_000 * DAY_MS])('reject an expiry of %d ms', async expiresInMs => {
    const tokens = new Tokens(serverFolder(home()), clockAt(0));
    await expect(tokens.create({ name: 'x', role: 'user', expiresInMs })).rejects.toThrow('3660 days');
  });
});

describe('a token file that Proctor did not write', () => {
  test.each([
    ['has no code', (text: string) => text.slice(44)],
    ['has the code of other bytes', (text: string) => text.replace('"role":"user"', '"role":"admin"')],
    ['is empty', () => ''],
    ['is cut', (text: string) => text.slice(0, -2)],
  ])('is refused if it %s', async (_, change) => {
    const folder = serverFolder(home());
    await new Tokens(folder, clockAt(0)).create({ name: 'x', role: 'user' });
    const file = path.join(folder, 'tokens.json');
    writeFileSync(file, change(readFileSync(file, 'utf8')), { mode: 0o600 });
    expect(() => new Tokens(folder, clockAt(0))).toThrow('Your Proctor did not write .proctor/server/tokens.json');
  });

  test('is refused if it is a link or writable by others', async () => {
    const folder = serverFolder(home());
    await new Tokens(folder, clockAt(0)).create({ name: 'x', role: 'user' });
    const file = path.join(folder, 'tokens.json');
    chmodSync(file, 0o666);
    expect(() => new Tokens(folder, clockAt(0))).toThrow('did not write');
    const elsewhere = path.join(folder, 'elsewhere');
    writeFileSync(elsewhere, readFileSync(file), { mode: 0o600 });
    rmSync(file);
    symlinkSync(elsewhere, file);
    expect(() => new Tokens(folder, clockAt(0))).toThrow('did not write');
  });
});

describe("the server's folder", () => {
  test('is refused if it is a link, a file, or open to others', () => {
    const linked = home();
    symlinkSync(tmpdir(), path.join(linked, 'server'));
    expect(() => serverFolder(linked)).toThrow('is a link or a file');
    const open = home();
    mkdirSync(path.join(open, 'server'));
    chmodSync(path.join(open, 'server'), 0o755);
    expect(() => serverFolder(open)).toThrow('open to other users');
    const shared = home();
    chmodSync(shared, 0o777);
    expect(() => serverFolder(shared)).toThrow('Other users can change');
    const project = home();
    symlinkSync(project, path.join(project, 'link'));
    expect(() => serverFolder(path.join(project, 'link'))).toThrow('is a link');
  });
});

describe('proctor token', () => {
  const proctor = async (cwd: string, ...args: string[]) =>
    promisify(execFile)(process.execPath, [path.join(ROOT, 'dist/proctor.js'), ...args], { cwd });

  test('creates, lists and revokes a token, and shows its text once', async () => {
    const project = path.dirname(home());
    const made = JSON.parse(
      (await proctor(project, 'token', 'new', '--role', 'viewer', '--name', 'CI', '--group', 'ops', '--json')).stdout,
    );
    expect(made.groups).toEqual(['ops']);
    expect(isTokenText(made.token)).toBe(true);
    const listed = (await proctor(project, 'token', 'list')).stdout;
    expect(listed).toContain(made.id);
    expect(listed).toContain('ops');
    expect(listed).not.toContain(made.token);
    expect((await proctor(project, 'token', 'revoke', made.id)).stdout).toBe(`Revoked ${made.id} (CI).\n`);
    expect(JSON.parse((await proctor(project, 'token', 'list', '--json')).stdout).tokens[0].state).toBe('revoked');
    await expect(proctor(project, 'token', 'revoke', 'tok_x')).rejects.toThrow('No token has this id');
  });
});
