import { existsSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { faultOfError } from '../../../src/serve/http/refusal.ts';
import { storedOrders } from '../../../src/serve/orders/stored-orders.ts';
import { ServerLog } from '../../../src/serve/operation/log.ts';
import { newProject } from '../access/serve-world.ts';
import { orderingServer } from './ordering-server.ts';

const CASES = { name: 'cases.jsonl', text: '{"id":"one","input":{"user":"1"}}\n' };

/** A project with a folder in which every file that Proctor reads is a folder. */
function damaged(cwd: string, at: string): string {
  const folder = path.join(cwd, '.proctor', at);
  for (const name of ['journal.ndjson', 'run.json', 'evidence/seal.json', 'evidence/metadata.json', 'result.json'])
    mkdirSync(path.join(folder, name), { recursive: true, mode: 0o700 });
  return folder;
}

test('a server with a damaged order starts, and neither starts nor replaces that order', async () => {
  const cwd = newProject();
  mkdirSync(path.join(cwd, '.proctor/server/orders'), { recursive: true, mode: 0o700 });
  const folder = damaged(cwd, 'server/orders/r1');
  const server = await orderingServer(cwd);
  expect(server.log.join('')).toContain('"run_id":"r1"');
  const order = { as: 'new', cases: CASES, base_url: 'http://127.0.0.1:9', run_id: 'r1' };
  const init = { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(order) };
  const { status, body } = await server.json('/v1/runs', init);
  expect([status, body.error.code]).toEqual([409, 'run_exists']);
  expect(existsSync(path.join(folder, 'journal.ndjson'))).toBe(true);
  expect((await server.ask('/v1/runs')).status).toBe(200);
});

test('an unreadable folder of orders counts as empty, and the log says so', () => {
  const lines: string[] = [];
  const file = path.join(newProject(), 'orders');
  writeFileSync(file, '');
  expect(storedOrders(file, new ServerLog(line => lines.push(line)))).toEqual([]);
  expect(lines.join('')).toContain('unreadable_order');
});

test('damaged run folders are listed, and the others stay readable', async () => {
  const cwd = newProject();
  for (const lane of ['new', 'script', 'agent', 'intent']) damaged(cwd, `runs/${lane}/${lane}-broken`);
  const server = await orderingServer(cwd);
  const { runs } = (await (await server.ask('/v1/runs')).json()) as { runs: { run_id: string; state: string }[] };
  expect(runs.map(({ run_id }) => run_id).sort()).toEqual([
    'agent-broken',
    'intent-broken',
    'new-broken',
    'script-broken',
  ]);
  expect(new Set(runs.map(({ state }) => state))).toEqual(new Set(['unreadable']));
  for (const { run_id } of runs) {
    expect((await server.ask(`/v1/runs/${run_id}`)).status).toBe(200);
    expect((await server.ask(`/v1/runs/${run_id}/pack`)).status).toBeGreaterThanOrEqual(400);
  }
  expect((await server.ask('/healthz')).status).toBe(200);
  expect(server.log.join('')).not.toContain('"code":"bug"');
});

test('a token file that becomes unreadable refuses tokens with a sentence, until it is back', async () => {
  const cwd = newProject();
  const server = await orderingServer(cwd);
  const file = path.join(cwd, '.proctor/server/tokens.json');
  renameSync(file, `${file}.aside`);
  mkdirSync(file);
  const { status, body } = await server.json('/v1/runs');
  expect([status, body.error.code]).toEqual([503, 'foreign_state']);
  expect(body.error.message).toMatch(/^Your Proctor did not write .*tokens\.json/);
  expect((await fetch(`${server.origin}/healthz`)).status).toBe(200);
  rmSync(file, { recursive: true });
  renameSync(`${file}.aside`, file);
  expect((await server.ask('/v1/runs')).status).toBe(200);
});

test('a server with an unreadable session file starts', async () => {
  const cwd = newProject();
  mkdirSync(path.join(cwd, '.proctor/server/sessions.json'), { recursive: true, mode: 0o700 });
  expect((await (await orderingServer(cwd)).ask('/v1/runs')).status).toBe(200);
});

test('uploads and packs that a killed server left are removed', async () => {
  const cwd = newProject();
  const left = ['uploads/0123456789abcdef/0', 'packs/0123456789abcdef.tar'].map(name =>
    path.join(cwd, '.proctor/server', name),
  );
  for (const file of left) {
    mkdirSync(path.dirname(file), { recursive: true, mode: 0o700 });
    writeFileSync(file, 'x');
  }
  await orderingServer(cwd);
  expect(left.filter(file => existsSync(file))).toEqual([]);
});

test.each([
  ['ENOSPC', 'storage_failed', 'The server cannot read or write its files: the disk is full. '],
  ['EIO', 'storage_failed', 'The server cannot read or write its files. '],
  ['EACCES', 'storage_failed', 'The server cannot read or write its files. '],
  ['ERR_X', 'bug', 'The server hit an internal error.'],
])('an error with the code %s is refused as %s, without a path', (code, refused, sentence) => {
  const fault = faultOfError(Object.assign(new Error(`${code}: /home/secret`), { code }));
  expect(fault.code).toBe(refused);
  expect(fault.message).toContain(sentence);
  expect(fault.message).not.toContain('/home');
});
