import { createSign, generateKeyPairSync, type KeyObject } from 'node:crypto';
import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';
// @ts-expect-error The package has no types.
import { Provider } from 'oidc-provider';
import type { RateSettings } from '../../../src/serve/access/limits.ts';
import type { OidcSettings } from '../../../src/serve/access/oidc.ts';
import { type Answer, newProject, send, type World, world } from './serve-world.ts';

/** A server on loopback; `listener` may be set later, when the port is known. */
async function listening(): Promise<{ origin: string; listen: (listener: RequestListener) => void }> {
  let answer: RequestListener = (_, response) => void response.end();
  const server = createServer((request, response) => answer(request, response));
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  return {
    origin: `http://127.0.0.1:${port}`,
    listen: listener => {
      answer = listener;
    },
  };
}

export const CLIENT = { client_id: 'proctor', client_secret: 'a secret of the client that is long enough' };
const CALLBACK = 'https://proctor.example/login/callback';

interface Interaction {
  readonly prompt: { readonly name: string };
  readonly params: { readonly client_id: string };
  readonly session?: { readonly accountId: string };
}

/** The real oidc-provider. Every person who comes is signed in as `claims.sub` and consents. */
export async function realProvider(claims: Record<string, unknown> & { readonly sub: string }): Promise<string> {
  const { origin, listen } = await listening();
  const provider = new Provider(origin, {
    clients: [{ ...CLIENT, redirect_uris: [CALLBACK], grant_types: ['authorization_code'], response_types: ['code'] }],
    claims: { openid: ['sub'], email: ['email', 'email_verified'], profile: ['name', 'groups'] },
    features: { devInteractions: { enabled: false } },
    cookies: { keys: ['only a test'] },
    interactions: { url: (_: unknown, { uid }: { uid: string }) => `/interaction/${uid}` },
    findAccount: () => ({ accountId: claims.sub, claims: () => claims }),
  });
  const answer = provider.callback() as RequestListener;
  listen((request, response) => {
    if (request.url?.startsWith('/interaction/')) void interact(provider, request, response, claims.sub);
    else answer(request, response);
  });
  return origin;
}

async function interact(provider: Provider, request: IncomingMessage, response: ServerResponse, sub: string) {
  const { prompt, params, session } = (await provider.interactionDetails(request, response)) as Interaction;
  if (prompt.name === 'login') {
    await provider.interactionFinished(request, response, { login: { accountId: sub } });
    return;
  }
  const grant = new provider.Grant({ accountId: session?.accountId, clientId: params.client_id });
  grant.addOIDCScope('openid profile email');
  await provider.interactionFinished(request, response, { consent: { grantId: await grant.save() } });
}

export interface Lie {
  readonly header?: Record<string, unknown>;
  readonly claims?: Record<string, unknown>;
  readonly sign?: 'other key' | 'none' | 'hmac';
  readonly discovery?: Record<string, unknown>;
  readonly status?: number;
  readonly bytes?: number;
}

/** A provider that lies in one respect. Its answer to any code is an ID token with the nonce of the last sign-in. */
export async function lyingProvider(lie: Lie): Promise<{ issuer: string; hear: (address: string) => void }> {
  const { origin, listen } = await listening();
  let nonce = '';
  listen((request, response) => {
    const tell = (value: unknown, status = 200): void => {
      response.writeHead(status, { 'content-type': 'application/json' });
      response.end(JSON.stringify(value));
    };
    if (request.url === '/.well-known/openid-configuration') {
      tell({
        issuer: origin,
        authorization_endpoint: `${origin}/auth`,
        token_endpoint: `${origin}/token`,
        jwks_uri: `${origin}/jwks`,
        response_types_supported: ['code'],
        subject_types_supported: ['public'],
        id_token_signing_alg_values_supported: ['RS256'],
        padding: 'x'.repeat(lie.bytes ?? 0),
        ...lie.discovery,
      });
    } else if (request.url === '/jwks') {
      tell({ keys: [{ ...own.publicKey.export({ format: 'jwk' }), kid: 'a', alg: 'RS256', use: 'sig' }] });
    } else {
      const now = Math.floor(Date.now() / 1_000);
      const claims = { iss: origin, sub: 'ada', aud: 'proctor', iat: now, exp: now + 300, nonce, ...lie.claims };
      const key = lie.sign === 'other key' ? other.privateKey : own.privateKey;
      const token = { access_token: 'x', token_type: 'bearer', id_token: jwt(claims, key, lie) };
      tell(token, lie.status);
    }
  });
  return { issuer: origin, hear: address => void (nonce = new URL(address).searchParams.get('nonce') ?? '') };
}

const [own, other] = [1, 2].map(() => generateKeyPairSync('rsa', { modulusLength: 2048 })) as [KeyPair, KeyPair];
type KeyPair = ReturnType<typeof generateKeyPairSync> & {
  readonly publicKey: KeyObject;
  readonly privateKey: KeyObject;
};

function jwt(claims: object, key: KeyObject, { header, sign }: Lie): string {
  const alg = sign === 'none' ? 'none' : sign === 'hmac' ? 'HS256' : 'RS256';
  const text = [{ alg, kid: 'a', ...header }, claims]
    .map(part => Buffer.from(JSON.stringify(part)).toString('base64url'))
    .join('.');
  if (sign === 'none') return `${text}.`;
  return `${text}.${createSign('RSA-SHA256').update(text).sign(key).toString('base64url')}`;
}

/** A Proctor server behind a proxy, for which people sign in at a provider. */
export async function teamServer(
  issuer: string,
  settings: Partial<OidcSettings> = {},
  cwd = newProject(),
  rates?: RateSettings,
): Promise<World> {
  const oidc = {
    issuer,
    clientId: CLIENT.client_id,
    clientSecret: CLIENT.client_secret,
    roles: [],
    standardRole: 'user' as const,
    ...settings,
  };
  return world({ cwd, isBehindProxy: true, hosts: ['proctor.example'], oidc, ...(rates && { rates }) });
}

const PROXY = [
  ['X-Forwarded-Proto', 'https'],
  ['X-Forwarded-Host', 'proctor.example'],
] as const;

/** A request as the proxy passes it on. */
export async function visit(at: World, target: string, cookie = '', method = 'GET'): Promise<Answer> {
  const origin = method === 'GET' ? [] : ([['Origin', 'https://proctor.example']] as const);
  return send(at, method, target, [...PROXY, ...origin, ...(cookie === '' ? [] : [['Cookie', cookie] as const])]);
}

/** Follows the redirects of a provider as a browser does, until one leaves it. Returns where that one leads. */
export async function throughProvider(start: string): Promise<URL> {
  const jar = new Map<string, string>();
  let at = new URL(start);
  const { origin } = at;
  for (let steps = 0; steps < 10; steps++) {
    const cookie = [...jar].map(([name, value]) => `${name}=${value}`).join('; ');
    const response = await fetch(at, { redirect: 'manual', headers: { cookie } });
    for (const line of response.headers.getSetCookie()) {
      const [pair = ''] = line.split(';');
      jar.set(pair.slice(0, pair.indexOf('=')), pair.slice(pair.indexOf('=') + 1));
    }
    const to = response.headers.get('location');
    if (to === null) throw new Error(`The provider answered ${response.status}: ${await response.text()}`);
    at = new URL(to, at);
    if (at.origin !== origin) return at;
  }
  throw new Error('The provider redirects without an end.');
}
