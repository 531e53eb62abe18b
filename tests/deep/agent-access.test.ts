/** Credentials of a model API, and the ways to reach it. */
import { chmodSync, symlinkSync } from 'node:fs';
import { createServer, type IncomingMessage, type RequestListener, type Server } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { type AddressInfo, connect } from 'node:net';
import path from 'node:path';
import type { Duplex } from 'node:stream';
import { describe, expect, onTestFinished, test } from 'vitest';
import { type AgentRan, AgentWorld, filesIn, linesIn, placePrograms } from '../run/agent/world.ts';
import { authority } from '../run/agent/certificates.ts';

placePrograms();

const SECRETS = {
  key: 'violet-lantern-key-11173',
  bearer: 'violet-lantern-bearer-22173',
  oauth: 'violet-lantern-oauth-33173',
  refresh: 'violet-lantern-refresh-44173',
  id: 'violet-lantern-id-token-55173',
  account: 'violet-lantern-account-66173',
};

type Seen = Pick<IncomingMessage, 'url' | 'headers'>;

/** A model that echoes its requests, as some servers do. */
function telling(seen: Seen[]): RequestListener {
  return (request, response) => {
    seen.push({ url: request.url, headers: request.headers });
    request.resume().on('end', () => response.writeHead(403).end(JSON.stringify(request.headers)));
  };
}

async function listening(server: Server): Promise<number> {
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  return (server.address() as AddressInfo).port;
}

async function model(): Promise<{ readonly url: string; readonly seen: Seen[] }> {
  const seen: Seen[] = [];
  return { url: `http://127.0.0.1:${await listening(createServer(telling(seen)))}`, seen };
}

async function ran(
  world: AgentWorld,
  agent: 'claude' | 'codex',
  env: NodeJS.ProcessEnv,
  flags: readonly string[] = [],
): Promise<AgentRan> {
  return world.ran(await world.start(agent, 'DO=model', flags, env).ended);
}

/** The complete output of the agent. */
function said({ folder }: AgentRan): string {
  return linesIn(folder)
    .map(line => JSON.stringify(line))
    .join('\n');
}

/** Neither the run folder nor the printed text contains a credential. */
function expectKept({ folder, stdout, stderr }: AgentRan): void {
  const texts = [...filesIn(folder).values(), Buffer.from(stdout), Buffer.from(stderr)];
  for (const secret of Object.values(SECRETS))
    expect(
      texts.some(text => text.includes(secret) || text.includes(Buffer.from(secret).toString('base64').slice(0, -4))),
    ).toBe(false);
}

const inFile = (expiresAtMs: number) => ({
  claude: { claudeAiOauth: { accessToken: SECRETS.oauth, refreshToken: SECRETS.refresh, expiresAt: expiresAtMs } },
  codex: {
    auth_mode: 'chatgpt',
    OPENAI_API_KEY: null,
    tokens: {
      access_token: jwt(expiresAtMs),
      refresh_token: SECRETS.refresh,
      id_token: SECRETS.id,
      account_id: SECRETS.account,
    },
  },
});

function jwt(expiresAtMs: number): string {
  const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');
  return [part({ alg: 'none' }), part({ exp: Math.floor(expiresAtMs / 1_000) }), SECRETS.bearer].join('.');
}

const FILES = { claude: '.claude/.credentials.json', codex: '.codex/auth.json' } as const;
const TOMORROW = Date.now() + 86_400_000;

/** Writes a login where the agent's own program would. */
function loggedIn(world: AgentWorld, agent: 'claude' | 'codex', expiresAtMs = TOMORROW): NodeJS.ProcessEnv {
  world.place.file(`home/${FILES[agent]}`, JSON.stringify(inFile(expiresAtMs)[agent]), 0o600);
  return { HOME: path.join(world.place.cwd, 'home'), CODEX_HOME: '', CLAUDE_CONFIG_DIR: '' };
}

describe('a credential variable', () => {
  const all = {
    ANTHROPIC_API_KEY: SECRETS.key,
    ANTHROPIC_AUTH_TOKEN: SECRETS.bearer,
    CLAUDE_CODE_OAUTH_TOKEN: SECRETS.oauth,
  };

  test.each([
    [
      'ANTHROPIC_API_KEY',
      ['x-api-key', SECRETS.key],
      ['ANTHROPIC_API_KEY', 'ANTHROPIC_AUTH_TOKEN', 'CLAUDE_CODE_OAUTH_TOKEN'],
    ],
    [
      'ANTHROPIC_AUTH_TOKEN',
      ['authorization', `Bearer ${SECRETS.bearer}`],
      ['ANTHROPIC_AUTH_TOKEN', 'CLAUDE_CODE_OAUTH_TOKEN'],
    ],
    ['CLAUDE_CODE_OAUTH_TOKEN', ['authorization', `Bearer ${SECRETS.oauth}`], ['CLAUDE_CODE_OAUTH_TOKEN']],
  ] as const)(
    '%s authenticates to the model, is named in the evidence, and is hidden from the sandbox',
    async (name, [header, value], set) => {
      const world = new AgentWorld();
      const { url, seen } = await model();
      const env = Object.fromEntries(set.map(one => [one, all[one]]));
      const run = await ran(world, 'claude', { ...env, ANTHROPIC_BASE_URL: url });
      expect(seen, run.stderr).toHaveLength(1);
      expect(seen[0]?.headers[header]).toBe(value);
      expect(seen[0]?.headers[header === 'x-api-key' ? 'authorization' : 'x-api-key']).toBeUndefined();
      expect(seen[0]?.headers['anthropic-beta']).toBe(
        name === 'CLAUDE_CODE_OAUTH_TOKEN' ? 'oauth-2025-04-20' : undefined,
      );
      expect(run.answer['model_access']).toMatchObject({ mode: 'live', credential: { from: 'environment', name } });
      expect(said(run)).toContain('The model does not answer: 403');
      expect(world.tried(['show', 'latest']).stdout).toContain(`with ${name}`);
      expectKept(run);
    },
  );
});

describe('a login', () => {
  test.each([
    ['claude', 'ANTHROPIC_BASE_URL', '/v1/messages', SECRETS.oauth],
    ['codex', 'CHATGPT_BASE_URL', '/backend-api/codex/responses', jwt(TOMORROW)],
  ] as const)('of %s authenticates to the model with --login', async (agent, variable, asked, token) => {
    const world = new AgentWorld();
    const { url, seen } = await model();
    const env = { ...loggedIn(world, agent), [variable]: agent === 'codex' ? `${url}/backend-api/codex` : url };
    const without = await ran(world, agent, env);
    expect(without.answer['model_access']).toMatchObject({ mode: 'none' });
    expect(seen).toEqual([]);
    const run = await ran(world, agent, env, ['--login', agent]);
    expect(seen, run.stderr).toHaveLength(1);
    expect(seen[0]).toMatchObject({ url: asked, headers: { authorization: `Bearer ${token}` } });
    expect(seen[0]?.headers['chatgpt-account-id']).toBe(agent === 'codex' ? SECRETS.account : undefined);
    expect(run.answer['model_access']).toMatchObject({ credential: { from: 'login', name: agent } });
    expectKept(run);
  });

  test('that cannot be used is refused with advice, and leaves no files', async () => {
    const world = new AgentWorld();
    const file = (agent: 'claude' | 'codex'): string => path.join(world.place.cwd, 'home', FILES[agent]);
    const refusal = async (
      agent: 'claude' | 'codex',
      env: NodeJS.ProcessEnv,
      login: string = agent,
    ): Promise<string> => {
      const { code, stderr, stdout } = await world.start(agent, 'x', ['--login', login], env).ended;
      expect(code).toBe(2);
      expect(stderr + stdout).not.toMatch(/violet-lantern/);
      return stdout + stderr;
    };
    const yesterday = loggedIn(world, 'claude', Date.now() - 1_000);
    expect(await refusal('claude', yesterday)).toContain('it has expired. Run claude once');
    expect(await refusal('codex', loggedIn(world, 'codex', Date.now() - 1_000))).toContain('Run codex once');
    const env = loggedIn(world, 'codex');
    chmodSync(file('codex'), 0o666);
    expect(await refusal('codex', env)).toContain('auth.json must be a regular file');
    world.place.file(`home/${FILES.codex}`, '{"OPENAI_API_KEY":"violet-lantern","tokens":null}', 0o600);
    expect(await refusal('codex', env)).toContain('contains no login that Proctor understands');
    world.place.file(`home/${FILES.codex}`, ' '.repeat(70_000), 0o600);
    expect(await refusal('codex', env)).toContain('at most 64 KiB');
    symlinkSync(file('claude'), path.join(world.place.cwd, 'auth.json'));
    expect(await refusal('codex', { ...env, CODEX_HOME: world.place.cwd })).toContain('must be a regular file');
    expect(await refusal('codex', { HOME: '', CODEX_HOME: '' })).toContain('HOME is not set');
    expect(await refusal('codex', env, 'claude')).toContain('codex cannot use the login of claude');
    expect(world.place.runFolders()).toEqual([]);
  });

  test('is checked by doctor, as are the credential variables, and no credential is printed', async () => {
    const world = new AgentWorld();
    const env = { ...world.environment, ...loggedIn(world, 'codex'), ANTHROPIC_AUTH_TOKEN: SECRETS.bearer };
    const { stdout } = await world.place.start(['doctor', '--json'], env).ended;
    const { agents } = JSON.parse(stdout) as { agents: object[] };
    expect(agents).toMatchObject([
      { agent: 'claude', key: { variable: 'ANTHROPIC_AUTH_TOKEN', set: true }, login: { usable: false } },
      { agent: 'codex', key: { variable: 'OPENAI_API_KEY', set: false }, login: { usable: true, why: null } },
    ]);
    expect(stdout).toContain('--login codex');
    expect(stdout).not.toMatch(/violet-lantern/);
  });
});

describe('a model behind TLS', () => {
  test('is contacted only with a trusted certificate for its name', async () => {
    const world = new AgentWorld();
    const seen: Seen[] = [];
    const ours = authority();
    const port = await listening(createTlsServer(ours.issue('localhost'), telling(seen)));
    const env = { ANTHROPIC_API_KEY: SECRETS.key, ANTHROPIC_BASE_URL: `https://localhost:${port}` };
    const trusted = await ran(world, 'claude', { ...env, NODE_EXTRA_CA_CERTS: ours.file });
    expect(seen[0]?.headers['x-api-key'], trusted.stderr).toBe(SECRETS.key);
    const untrusting = { ...env, NODE_EXTRA_CA_CERTS: '', NODE_TLS_REJECT_UNAUTHORIZED: '0' };
    const untrusted = await ran(world, 'claude', untrusting);
    expect(said(untrusted)).toContain('is signed by an untrusted authority');
    const elsewhere = { ...env, NODE_EXTRA_CA_CERTS: ours.file, ANTHROPIC_BASE_URL: `https://127.0.0.1:${port}` };
    const misnamed = await ran(world, 'claude', elsewhere);
    expect(said(misnamed)).toContain("The model API's certificate is for another host name.");
    expect(said(untrusted) + said(misnamed)).not.toContain(String(port));
    expect(seen).toHaveLength(1);
    for (const run of [trusted, untrusted, misnamed]) expectKept(run);
  });
});

describe('a proxy', () => {
  /** A proxy that forwards everything to one port, and records its requests. */
  async function proxy(port: number, status = 200) {
    const asked: { readonly target: string | undefined; readonly authorization: string | undefined }[] = [];
    const tunnels: Duplex[] = [];
    const server = createServer((_, response) => response.writeHead(501).end());
    server.on('connect', (request, socket) => {
      asked.push({ target: request.url, authorization: request.headers['proxy-authorization'] });
      socket.on('error', () => undefined);
      tunnels.push(socket);
      if (status !== 200) {
        socket.end(`HTTP/1.1 ${status} No\r\n\r\n`);
        return;
      }
      const onward = connect(port, '127.0.0.1', () => {
        socket.write('HTTP/1.1 200 OK\r\n\r\n');
        socket.pipe(onward).pipe(socket);
      });
      onward.on('error', () => socket.destroy());
      socket.on('close', () => onward.destroy());
    });
    onTestFinished(() => tunnels.forEach(socket => socket.destroy()));
    return { address: `127.0.0.1:${await listening(server)}`, asked };
  }

  const password = SECRETS.refresh;

  async function behind(status = 200) {
    const seen: Seen[] = [];
    const ours = authority();
    const port = await listening(createTlsServer(ours.issue('model.invalid'), telling(seen)));
    const { address, asked } = await proxy(port, status);
    const env = {
      ANTHROPIC_API_KEY: SECRETS.key,
      ANTHROPIC_BASE_URL: 'https://model.invalid',
      NODE_EXTRA_CA_CERTS: ours.file,
      HTTPS_PROXY: `http://caller:${password}@${address}`,
      https_proxy: '',
      NO_PROXY: 'elsewhere.invalid',
      no_proxy: '',
    };
    return { env, seen, asked };
  }

  test('reaches the model, and its password stays hidden', async () => {
    const world = new AgentWorld();
    const { env, seen, asked } = await behind();
    const run = await ran(world, 'claude', env);
    expect(seen[0]?.headers, run.stderr + run.stdout).toMatchObject({
      'x-api-key': SECRETS.key,
      host: 'model.invalid',
    });
    expect(seen[0]?.headers).not.toHaveProperty('proxy-authorization');
    const authorization = `Basic ${Buffer.from(`caller:${password}`).toString('base64')}`;
    expect(asked).toEqual([{ target: 'model.invalid:443', authorization }]);
    expectKept(run);
  });

  test('is bypassed for NO_PROXY and for this machine', async () => {
    const world = new AgentWorld();
    const { env, asked } = await behind();
    await ran(world, 'claude', { ...env, NO_PROXY: 'other.invalid, .invalid:443' });
    const { url, seen } = await model();
    await ran(world, 'claude', { ...env, HTTP_PROXY: env.HTTPS_PROXY, http_proxy: '', ANTHROPIC_BASE_URL: url });
    expect(seen).toHaveLength(1);
    expect(asked).toEqual([]);
  });

  test('that refuses is distinguished from a model that refuses; an unsupported kind of proxy is rejected', async () => {
    const world = new AgentWorld();
    const { env } = await behind(407);
    const refused = await ran(world, 'claude', env);
    expect(said(refused)).toContain('The proxy refuses to connect to the model API (status 407).');
    expectKept(refused);
    const socks = await world.start('claude', 'x', [], { ...env, HTTPS_PROXY: 'socks5://127.0.0.1:1080' }).ended;
    expect(socks.code).toBe(2);
    expect(socks.stdout + socks.stderr).toContain('HTTPS_PROXY must be a proxy URL');
  });
});
