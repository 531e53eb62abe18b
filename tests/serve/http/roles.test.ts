import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { allows, SERVER_ROLES, type ServerRole } from '../../../src/serve/access/roles.ts';
import { Tokens } from '../../../src/serve/access/tokens.ts';
import type { Route } from '../../../src/serve/http/route.ts';
import { ROUTES } from '../../../src/serve/routes/index.ts';
import { serve, type Serving } from '../../../src/serve/serve.ts';
import { serverFolder } from '../../../src/serve/state/server-folder.ts';
import { systemClock } from '../../../src/base/clock.ts';
import { homeFrom } from '../../../src/evidence/run-folder/runs.ts';

/** A value for every parameter in a path. None of them names anything that exists. */
const PARAMETERS: Readonly<Record<string, string>> = {
  run_id: 'script_20260101_000000_000000000000',
  case_id: 'nothing',
  correlation_id: '000000000000',
  comparison_id: 'nothing',
  id: 'tok_0000000000000000',
  suite: 'nothing',
  index: '0',
  file: 'nothing',
  name: 'nothing',
  version: '1.0.0',
  sha256: '0'.repeat(64),
};

const cwd = mkdtempSync(path.join(tmpdir(), 'proctor-roles-'));
let serving: Serving;
let origin: string;
/** The tests send more wrong tokens than one address may. */
const UNLIMITED = { requests: 1_000_000, anonymous: 1_000_000, failures: 1_000_000 };
const tokens = new Map<string, string>();

beforeAll(async () => {
  serving = await serve({ cwd, host: '127.0.0.1', port: 0, drainMs: 100, onLog: () => {}, rates: UNLIMITED });
  origin = new URL(serving.address).origin;
  const kept = new Tokens(serverFolder(homeFrom(cwd)), systemClock);
  for (const role of SERVER_ROLES) tokens.set(role, (await kept.create({ name: role, role })).text);
  const { token, text } = await kept.create({ name: 'revoked', role: 'admin' });
  await kept.revoke(token.id);
  tokens.set('revoked', text);
});

afterAll(async () => {
  await serving.stop();
  rmSync(cwd, { recursive: true, force: true });
});

/** Asks a route for nothing that exists, and returns the status and the code of the refusal. */
async function ask({ method, path }: Route, token: string | undefined): Promise<{ status: number; code: string }> {
  const at = path.replace(/\{(\w+)\}/g, (_, name: string) => {
    const value = PARAMETERS[name];
    if (value === undefined) throw new Error(`The test needs a value for {${name}}.`);
    return value;
  });
  const stop = new AbortController();
  const response = await fetch(`${origin}${at}`, {
    method,
    redirect: 'manual',
    signal: stop.signal,
    headers: {
      ...(token !== undefined && { authorization: `Bearer ${token}` }),
      ...(method !== 'GET' && { 'content-type': 'application/json' }),
    },
    ...(method !== 'GET' && { body: '{}' }),
  });
  const text = response.ok ? '' : await response.text();
  stop.abort();
  const { error } = (text.startsWith('{') ? JSON.parse(text) : {}) as { error?: { code: string } };
  return { status: response.status, code: error?.code ?? '' };
}

describe.each(ROUTES.filter(({ role }) => role !== 'anyone'))('$method $path', route => {
  test('refuses a client without a token', async () => {
    expect(await ask(route, undefined)).toEqual({ status: 401, code: 'not_signed_in' });
  });

  test('refuses an unknown, a malformed and a revoked token', async () => {
    const admin = tokens.get('admin') ?? '';
    const unknown = admin.slice(0, -1) + (admin.endsWith('x') ? 'y' : 'x');
    for (const token of [unknown, 'pt_', 'x'.repeat(5_000), tokens.get('revoked')])
      expect((await ask(route, token)).status).toBe(401);
  });

  test.each(SERVER_ROLES)('takes the role %s for what it is', async (role: ServerRole) => {
    const { status, code } = await ask(route, tokens.get(role));
    if (allows(role, route.role as ServerRole)) expect([401, 403]).not.toContain(status);
    else expect({ status, code }).toEqual({ status: 403, code: 'role_too_low' });
  });
});

test('no route that is open to anyone tells anything about runs', () => {
  const open = ROUTES.filter(({ role }) => role === 'anyone').map(({ method, path }) => `${method} ${path}`);
  expect(open.filter(address => /runs|scripts|tokens|audit|history|comparisons/.test(address))).toEqual([]);
});
