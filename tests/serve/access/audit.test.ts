import { execFileSync } from 'node:child_process';
import {
  appendFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { bytesHash } from '../../../src/base/hash.ts';
import { Audit, type AuditAct, type AuditLine } from '../../../src/serve/access/audit.ts';
import { systemClock } from '../../../src/base/clock.ts';
import { newTokenText } from '../../../src/serve/access/token-text.ts';
import { proctor } from '../../support/support.ts';
import { cookieOf, newProject, send, world } from './serve-world.ts';

const LIMITS = { lineBytesMax: 8 * 1024, fileBytesMax: 4 * 1024, filesMax: 64 };

function folder(): string {
  const made = mkdtempSync(path.join(tmpdir(), 'proctor-audit-'));
  onTestFinished(() => rmSync(made, { recursive: true, force: true }));
  return made;
}

const act = (thing: string): AuditAct => ({
  who: { id: 'token:tok_1', name: 'CI', role: 'runner' },
  verb: 'cancelRun',
  thing,
  correlationId: '0123456789abcdef',
});

const linesIn = (file: string): AuditLine[] =>
  readFileSync(file, 'utf8')
    .trimEnd()
    .split('\n')
    .map(line => JSON.parse(line) as AuditLine);

/** All lines of all files, oldest first. */
function allLines(within: string): string[] {
  const files = readdirSync(within).sort();
  const current = files.filter(name => name === 'audit.ndjson');
  return [...files.filter(name => name !== 'audit.ndjson'), ...current].flatMap(name =>
    readFileSync(path.join(within, name), 'utf8').trimEnd().split('\n'),
  );
}

describe('the audit log', () => {
  test('has a line before and a line after each act, and each line has the hash of the one before', () => {
    const within = folder();
    const audit = new Audit(within, systemClock, LIMITS);
    for (let at = 0; at < 40; at++)
      audit.begin(act(`run_${at}`)).end(at % 2 ? 'done' : 'failed', at % 2 ? undefined : 'x');
    audit.close();
    const again = new Audit(within, systemClock, LIMITS);
    again.note({ ...act('run_x'), who: null }, 'refused', 'role_too_low');
    again.close();
    const texts = allLines(within);
    expect(texts).toHaveLength(81);
    expect(readdirSync(within).length).toBeGreaterThan(3);
    let previous: string | null = null;
    for (const [at, text] of texts.entries()) {
      const line = JSON.parse(text) as AuditLine;
      expect([line.sequence, line.previous_sha256]).toEqual([at + 1, previous]);
      previous = bytesHash(`${text}\n`);
    }
  });

  test('is read backwards in pages, across files, without a line twice or missing', () => {
    const audit = new Audit(folder(), systemClock, LIMITS);
    for (let at = 0; at < 57; at++) audit.begin(act(`run_${at}`)).end('done');
    const open = audit.begin(act('run_57'));
    const seen: string[] = [];
    let before: number | undefined;
    do {
      const { lines, next } = audit.page({ before, limit: 10 });
      expect(lines.length).toBeLessThanOrEqual(10);
      seen.push(...lines.map(({ thing, outcome }) => `${thing} ${outcome}`));
      before = next ?? undefined;
    } while (before !== undefined);
    expect(seen).toEqual(Array.from({ length: 58 }, (_, at) => `run_${57 - at} ${at === 0 ? null : 'done'}`));
    open.end('done');
    expect(audit.page({ limit: 1 }).lines[0]).toMatchObject({ thing: 'run_57', outcome: 'done' });
  });

  test('gives an act that the last server did not survive the outcome unknown, once', () => {
    const within = folder();
    const killed = new Audit(within, systemClock, LIMITS);
    killed.begin(act('run_lost'));
    for (let at = 0; at < 30; at++) killed.begin(act(`run_${at}`)).end('done');
    new Audit(within, systemClock, LIMITS).close();
    const next = new Audit(within, systemClock, LIMITS);
    const unknown = next.page({ limit: 200 }).lines.filter(({ outcome }) => outcome === 'unknown');
    expect(unknown.map(({ thing, code, who }) => [thing, code, who])).toEqual([
      ['run_lost', 'server_stopped', 'token:tok_1'],
    ]);
  });

  test('cuts off a line that a power cut left incomplete, and says so', () => {
    const within = folder();
    const audit = new Audit(within, systemClock);
    audit.note(act('run_1'), 'done');
    audit.close();
    appendFileSync(path.join(within, 'audit.ndjson'), '{"torn');
    new Audit(within, systemClock).close();
    const lines = linesIn(path.join(within, 'audit.ndjson'));
    expect(lines.map(({ verb, thing }) => [verb, thing])).toEqual([
      ['cancelRun', 'run_1'],
      ['audit.repair', '6 bytes'],
    ]);
  });

  test('refuses a file that is a link or that has a line of another kind', () => {
    const linked = folder();
    writeFileSync(path.join(linked, 'elsewhere'), '', { mode: 0o600 });
    symlinkSync('elsewhere', path.join(linked, 'audit.ndjson'));
    expect(() => new Audit(linked, systemClock)).toThrow();
    const other = folder();
    writeFileSync(path.join(other, 'audit.ndjson'), '{"sequence":1}\n', { mode: 0o600 });
    expect(() => new Audit(other, systemClock)).toThrow('is not valid');
  });

  test('removes the oldest of too many files', () => {
    const within = folder();
    const audit = new Audit(within, systemClock, { ...LIMITS, filesMax: 3 });
    for (let at = 0; at < 100; at++) audit.note(act(`run_${at}`), 'done');
    expect(readdirSync(within)).toHaveLength(3);
    expect(audit.page({ limit: 1 }).lines[0]?.thing).toBe('run_99');
  });

  test('shortens what comes from outside, and accepts half a character', () => {
    const audit = new Audit(folder(), systemClock);
    audit.note({ ...act(`${'x'.repeat(10_000)}`), correlationId: '\ud800' }, 'done');
    expect(audit.page({ limit: 1 }).lines[0]?.thing).toHaveLength(257);
  });
});

describe('several writers', () => {
  const ofCommand = (within: string): Audit => new Audit(within, systemClock, LIMITS, { isServer: false });

  test('continue one chain, also across full files, and each sees the lines of the others', () => {
    const within = folder();
    const server = new Audit(within, systemClock, LIMITS);
    for (let at = 0; at < 20; at++) {
      const open = server.begin(act(`server_${at}`));
      const command = ofCommand(within);
      command.begin(act(`command_${at}`)).end('done');
      command.close();
      open.end('done');
    }
    const texts = allLines(within);
    expect(readdirSync(within).filter(name => name.endsWith('.ndjson')).length).toBeGreaterThan(3);
    expect(texts.map(text => (JSON.parse(text) as AuditLine).sequence)).toEqual(texts.map((_, at) => at + 1));
    expect(texts.map(text => (JSON.parse(text) as AuditLine).previous_sha256)).toEqual([
      null,
      ...texts.slice(0, -1).map(text => bytesHash(`${text}\n`)),
    ]);
    const things = server.page({ limit: 200 }).lines.map(({ thing, outcome }) => `${thing} ${outcome}`);
    const expected = Array.from({ length: 20 }, (_, at) => [`server_${19 - at} done`, `command_${19 - at} done`]);
    expect(things).toEqual(expected.flat());
    server.close();
  });

  test('leave the open acts of a running server alone', () => {
    const within = folder();
    const server = new Audit(within, systemClock);
    const open = server.begin(act('run_open'));
    ofCommand(within).close();
    open.end('done');
    expect(linesIn(path.join(within, 'audit.ndjson')).map(({ outcome }) => outcome)).toEqual([null, 'done']);
  });

  test('cut off a line that another writer left incomplete, and report it', () => {
    const within = folder();
    const server = new Audit(within, systemClock);
    server.note(act('run_1'), 'done');
    appendFileSync(path.join(within, 'audit.ndjson'), '{"torn');
    expect(server.page({ limit: 5 }).lines).toHaveLength(1);
    server.note(act('run_2'), 'done');
    server.note(act('run_3'), 'done');
    expect(linesIn(path.join(within, 'audit.ndjson')).map(({ thing }) => thing)).toEqual([
      'run_1',
      '6 bytes',
      'run_2',
      'run_3',
    ]);
  });
});

describe('a full disk', () => {
  test('refuses the act before it happens, and keeps the outcome of those before', () => {
    const within = folder();
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=64k,mode=700', 'tmpfs', within]);
    onTestFinished(() => void execFileSync('umount', ['-l', within]));
    const audit = new Audit(within, systemClock);
    const before = audit.begin(act('run_before'));
    const ballast = path.join(within, 'ballast');
    writeFileSync(ballast, '');
    expect(() => {
      for (;;) appendFileSync(ballast, Buffer.alloc(4096));
    }).toThrow('ENOSPC');
    // The last page of the file may still have room for a few lines.
    let refused: unknown;
    for (let at = 0; at < 100 && refused === undefined; at++) {
      try {
        audit.note(act(`run_${at}`), 'done');
      } catch (error) {
        refused = error;
      }
    }
    expect(refused).toMatchObject({ code: 'audit_failed', message: expect.stringContaining('nothing was done') });
    before.end('done');
    expect(() => audit.begin(act('run_refused'))).toThrow('nothing was done');
    rmSync(ballast);
    audit.begin(act('run_after')).end('done');
    const things = audit.page({ limit: 200 }).lines.map(({ thing, outcome }) => `${thing} ${outcome}`);
    expect(things.slice(0, 2)).toEqual(['run_after done', 'run_before done']);
    expect(things.join()).not.toContain('run_refused');
    audit.close();
    new Audit(within, systemClock).close();
  });

  test('answers an act over HTTP with 503, and nothing is done', async context => {
    context.skip(process.getuid?.() !== 0, 'only root can make a small disk');
    const cwd = newProject();
    const server = path.join(cwd, '.proctor', 'server');
    mkdirSync(server, { mode: 0o700 });
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=128k,mode=700', 'tmpfs', server]);
    onTestFinished(() => void execFileSync('umount', ['-l', server]));
    const at = await world({ cwd });
    const authorization = ['Authorization', `Bearer ${at.secret}`] as const;
    const make = () => send(at, 'POST', '/v1/tokens', [authorization], { name: 'x', role: 'user' });
    expect((await make()).status).toBe(200);
    const ballast = path.join(server, 'ballast');
    expect(() => {
      for (;;) appendFileSync(ballast, Buffer.alloc(4096));
    }).toThrow('ENOSPC');
    // Refused acts leave lines until the last page is full.
    let answer = await make();
    for (let tries = 0; tries < 50 && answer.code !== 'audit_failed'; tries++) answer = await make();
    expect([answer.status, answer.code]).toEqual([503, 'audit_failed']);
    rmSync(ballast);
    const listed = await send(at, 'GET', '/v1/tokens', [authorization]);
    expect((listed.value['tokens'] as unknown[]).length).toBe(1);
    expect((await make()).status).toBe(200);
  });
});

describe('the audit log of a server', () => {
  test('notes acts, sign-ins and refused roles and tokens, but no reads and no secrets', async () => {
    const at = await world();
    const admin = ['Authorization', `Bearer ${at.secret}`] as const;
    const made = await send(at, 'POST', '/v1/tokens', [admin], { name: 'CI', role: 'user' });
    const text = made.value['token'] as string;
    await send(at, 'GET', '/v1/runs', [admin]);
    await send(at, 'GET', '/v1/audit', [['Authorization', `Bearer ${text}`]]);
    await send(at, 'POST', '/v1/session', [], { token: text });
    await send(at, 'POST', '/v1/session', [], { token: newTokenText() });
    await send(at, 'DELETE', '/v1/tokens/tok_0000000000000000', [admin]);
    const audit = await send(at, 'GET', '/v1/audit', [admin]);
    const entries = audit.value['entries'] as AuditLine[];
    expect(entries.map(({ name, verb, outcome, code }) => [name, verb, outcome, code])).toEqual([
      ['you', 'revokeToken', 'refused', 'not_found'],
      [null, 'signIn', 'refused', 'bad_token'],
      ['CI', 'signIn', 'done', null],
      ['CI', 'audit', 'refused', 'role_too_low'],
      ['you', 'newToken', 'done', null],
    ]);
    expect(entries.at(-1)?.thing).toBe(`/v1/tokens/${(made.value['created'] as { id: string }).id}`);
    const stored = readFileSync(path.join(at.cwd, '.proctor/server/audit.ndjson'), 'utf8');
    for (const secret of [text, at.secret]) expect(stored).not.toContain(secret.slice(8));
  });

  test('notes what a command in a terminal does to tokens while the server runs', async () => {
    const at = await world();
    const admin = ['Authorization', `Bearer ${at.secret}`] as const;
    await send(at, 'POST', '/v1/tokens', [admin], { name: 'before', role: 'user' });
    const command = (...words: string[]) => proctor(['token', ...words], { cwd: at.cwd });
    const made = command('new', '--role', 'user', '--name', 'CI', '--json');
    expect(made.code, made.stderr).toBe(0);
    const { id, token } = JSON.parse(made.stdout) as { readonly id: string; readonly token: string };
    expect(command('revoke', id).code).toBe(0);
    expect(command('revoke', 'tok_0000000000000000').code).toBe(2);
    await send(at, 'POST', '/v1/tokens', [admin], { name: 'after', role: 'user' });
    const audit = await send(at, 'GET', '/v1/audit', [admin]);
    const entries = audit.value['entries'] as AuditLine[];
    expect(entries.map(({ who, role, verb, outcome, code }) => [who, role, verb, outcome, code])).toEqual([
      ['you', 'admin', 'newToken', 'done', null],
      ['terminal', 'admin', 'revokeToken', 'refused', 'not_found'],
      ['terminal', 'admin', 'revokeToken', 'done', null],
      ['terminal', 'admin', 'newToken', 'done', null],
      ['you', 'admin', 'newToken', 'done', null],
    ]);
    expect(entries.slice(2, 4).map(({ thing }) => thing)).toEqual([`/v1/tokens/${id}`, `/v1/tokens/${id}`]);
    const file = path.join(at.cwd, '.proctor/server/audit.ndjson');
    expect(readFileSync(file, 'utf8')).not.toContain(token.slice(8));
    expect(linesIn(file).map(({ sequence }) => sequence)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
  });

  test('has the line of a command before any server ran, and the first server continues it', async () => {
    const cwd = newProject();
    expect(proctor(['token', 'new', '--role', 'user', '--name', 'CI'], { cwd }).code).toBe(0);
    const at = await world({ cwd });
    const audit = await send(at, 'GET', '/v1/audit', [['Authorization', `Bearer ${at.secret}`]]);
    const entries = audit.value['entries'] as AuditLine[];
    expect(entries.map(({ who, verb, outcome }) => [who, verb, outcome])).toEqual([['terminal', 'newToken', 'done']]);
  });

  test('notes a wrong host and a foreign origin, for pages, reads and acts', async () => {
    const at = await world();
    const admin = ['Authorization', `Bearer ${at.secret}`] as const;
    const foreign = ['Host', 'rebound.example'] as const;
    const cookie = cookieOf(await send(at, 'POST', '/v1/session', [], { secret: at.secret }));
    expect((await send(at, 'GET', '/runs', [foreign])).code).toBe('wrong_host');
    expect((await send(at, 'GET', '/v1/runs', [foreign, admin])).code).toBe('wrong_host');
    const origin = ['Origin', 'https://other.example'] as const;
    const act = await send(at, 'POST', '/v1/tokens', [['Cookie', cookie], origin], { name: 'x', role: 'admin' });
    expect(act.code).toBe('wrong_origin');
    const audit = await send(at, 'GET', '/v1/audit', [admin]);
    const entries = audit.value['entries'] as AuditLine[];
    expect(entries.map(({ who, verb, thing, outcome, code }) => [who, verb, thing, outcome, code])).toEqual([
      ['you', 'newToken', '/v1/tokens', 'refused', 'wrong_origin'],
      [null, 'listRuns', '/v1/runs', 'refused', 'wrong_host'],
      [null, 'page', '/runs', 'refused', 'wrong_host'],
      ['you', 'signIn', 'address', 'done', null],
    ]);
  });

  test('counts a flood of refusals instead of writing a line for each', async () => {
    const at = await world();
    const foreign = ['Host', 'rebound.example'] as const;
    for (let round = 0; round < 100; round++) await send(at, 'GET', `/p${round}`, [foreign]);
    const admin = ['Authorization', `Bearer ${at.secret}`] as const;
    const made = await send(at, 'POST', '/v1/tokens', [admin], { name: 'CI', role: 'user' });
    const bearer = ['Authorization', `Bearer ${made.value['token'] as string}`] as const;
    expect((await send(at, 'GET', '/v1/audit', [bearer])).code).toBe('role_too_low');
    await at.stop();
    const lines = linesIn(path.join(at.cwd, '.proctor/server/audit.ndjson'));
    const ofHost = lines.filter(({ code }) => code === 'wrong_host');
    expect(ofHost.map(({ verb }) => verb)).toEqual([...Array<string>(60).fill('page'), 'audit.omitted']);
    expect(ofHost.at(-1)).toMatchObject({ thing: '40 more in this minute', outcome: 'refused', who: null });
    expect(lines.filter(({ code }) => code === 'role_too_low')).toHaveLength(1);
  });
});
