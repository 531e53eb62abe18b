import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { findAgents } from '../../../src/verbs/init/find-agents.ts';
import { findDescription } from '../../../src/verbs/init/find-description.ts';
import { findScripts } from '../../../src/verbs/init/find-scripts.ts';
import { findServers, loopbackOrigin } from '../../../src/verbs/init/find-servers.ts';
import { findStart, namedPorts } from '../../../src/verbs/init/find-start.ts';
import { findTests } from '../../../src/verbs/init/find-tests.ts';
import { nameOfFolder } from '../../../src/verbs/init/folder.ts';
import { chatOperation } from '../../../src/verbs/init/openapi.ts';
import { surveyFolder } from '../../../src/verbs/init/survey.ts';
import { temporaryFolder } from '../../support/support.ts';

type Handler = (request: IncomingMessage, response: ServerResponse) => void;

/** A server on a free port of this machine. */
async function serverWith(handler: Handler): Promise<{ readonly port: number; readonly seen: string[] }> {
  const seen: string[] = [];
  const server = createServer((request, response) => {
    seen.push(`${request.method} ${request.url}`);
    handler(request, response);
  });
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { port: (server.address() as AddressInfo).port, seen };
}

/** A server that has these documents, and answers 404 to everything else. */
function documents(values: Readonly<Record<string, unknown>>): Handler {
  return ({ url = '' }, response) => {
    const value = values[url];
    response.writeHead(value === undefined ? 404 : 200, { 'content-type': 'application/json' });
    response.end(value === undefined ? '{}' : JSON.stringify(value));
  };
}

const empty = { environment: {}, ports: [] };

async function heard(handler: Handler) {
  const { port, seen } = await serverWith(handler);
  const origin = `http://127.0.0.1:${port}`;
  // Proctor asks a named server again if it answers late, so a busy machine does not matter.
  const [found] = await findServers({ ...empty, cwd: temporaryFolder(), url: `${origin}/` });
  return { found, seen, origin };
}

const DESCRIPTION = {
  openapi: '3.1.0',
  paths: {
    '/users': { post: operation('message', 'answer') },
    '/chat': { post: operation('message', 'answer') },
  },
};

function operation(ask: string, answer: string, more: object = {}): object {
  const of = (key: string): object => ({
    content: {
      'application/json': { schema: { type: 'object', properties: { [key]: { type: 'string' } }, required: [key] } },
    },
  });
  return { requestBody: of(ask), responses: { 200: of(answer) }, ...more };
}

describe('a running server', () => {
  test('gets GET requests for five documents, and no others', async () => {
    const { found, seen, origin } = await heard(documents({}));
    expect([...new Set(seen)].sort()).toEqual([
      'GET /.well-known/agent-card.json',
      'GET /health',
      'GET /openapi.json',
      'GET /run-case',
      'GET /v1/models',
    ]);
    expect(found).toEqual({
      origin,
      port: Number(new URL(origin).port),
      isNamed: true,
      hasHealth: false,
      speaks: { kind: 'unknown', url: origin, path: '/chat' },
    });
  });

  test('with a list of models speaks openai-chat', async () => {
    const { found, origin } = await heard(documents({ '/health': {}, '/v1/models': { data: [{ id: 'desk:7b' }] } }));
    expect(found).toMatchObject({
      hasHealth: true,
      speaks: { kind: 'openai-chat', url: `${origin}/v1`, model: 'desk:7b' },
    });
  });

  test.each([
    ['0.3', { url: 'http://localhost:PORT/rpc', protocolVersion: '0.3.0' }, '/rpc'],
    [
      '1.0',
      { supportedInterfaces: [{ url: 'http://127.0.0.1:PORT/', protocolBinding: 'JSONRPC', protocolVersion: '1.0' }] },
      '',
    ],
    ['0.3', { url: 'http://other.example.com/rpc' }, ''],
  ])(
    'with an agent card speaks a2a %s, at the address in the card only if it is on this server',
    async (protocol, card, below) => {
      const { found, origin } = await heard((request, response) => {
        const text = JSON.stringify(card).replace('PORT', request.headers.host?.split(':')[1] ?? '');
        documents({ '/.well-known/agent-card.json': JSON.parse(text) })(request, response);
      });
      expect(found?.speaks).toEqual({ kind: 'a2a', url: `${origin}${below}`, protocol });
    },
  );

  test("whose /run-case accepts only POST speaks Proctor's protocol", async () => {
    const { found, origin } = await heard(({ url }, response) => {
      response.writeHead(url === '/run-case' ? 405 : 404).end();
    });
    expect(found?.speaks).toEqual({ kind: 'proctor', url: origin });
    const blanket = await heard((_, response) => void response.writeHead(405).end());
    expect(blanket.found?.speaks.kind).toBe('unknown');
  });

  test('with an OpenAPI document speaks http, through its chat operation', async () => {
    const { found, origin } = await heard(documents({ '/openapi.json': DESCRIPTION }));
    const operation = { path: '/chat', ask: 'message', answer: 'answer' };
    expect(found?.speaks).toEqual({ kind: 'http', url: origin, operation });
  });

  test.each<[string, Handler]>([
    ['never answers', () => undefined],
    ['sends endless bodies', (_, response) => void response.writeHead(200).write('{"data":[')],
    ['redirects', (_, response) => void response.writeHead(302, { location: '/v1/models' }).end()],
    ['sends text that is not JSON', (_, response) => void response.end('<html>')],
    ['sends a model name with a placeholder', documents({ '/v1/models': { data: [{ id: '${env:HOME}' }] } })],
    ['sends a list without models', documents({ '/v1/models': { data: [null, 7, {}] } })],
    [
      'sends a path with a placeholder',
      documents({ '/openapi.json': { paths: { '/chat/${env:HOME}': DESCRIPTION.paths['/chat'] } } }),
    ],
  ])('that %s is at most an unknown API', async (_, handler) => {
    const { found } = await heard(handler);
    expect(found?.speaks.kind ?? 'unknown').toBe('unknown');
  });

  test('counts as named if a file in the folder names its port', async () => {
    const { port } = await serverWith(documents({}));
    const cwd = temporaryFolder();
    writeFileSync(path.join(cwd, '.env'), `SECRET=1\nPORT=${port}\n`);
    expect(await findServers({ ...empty, cwd })).toMatchObject([{ port, isNamed: true }]);
  });

  test('is probed only if it is on this machine', async () => {
    expect(loopbackOrigin('http://localhost:80/x')).toBe('http://localhost');
    expect(loopbackOrigin('http://127.1.2.3:8000')).toBe('http://127.1.2.3:8000');
    for (const url of ['http://example.com', 'http://127.0.0.1.example.com', 'http://10.0.0.1', 'ftp://localhost', 'x'])
      expect(loopbackOrigin(url)).toBeUndefined();
  });
});

describe('an OpenAPI document', () => {
  const at = (route: string, post: object): object => ({ paths: { [route]: { post } } });

  test('may use references', () => {
    const schema = (name: string): object => ({
      content: { 'application/json': { schema: { $ref: `#/components/schemas/${name}` } } },
    });
    const properties = (key: string): object => ({ properties: { [key]: { type: 'string' } } });
    const document = {
      ...at('/ask', { requestBody: schema('Ask'), responses: { 201: schema('Answer') } }),
      components: {
        schemas: { Ask: properties('prompt'), Answer: { $ref: '#/components/schemas/Real' }, Real: properties('text') },
      },
    };
    expect(chatOperation(document)).toEqual({ path: '/ask', ask: 'prompt', answer: 'text' });
  });

  test.each([
    ['a path that is not for chat', at('/users', operation('message', 'answer'))],
    ['a request without a message field', at('/chat', operation('name', 'answer'))],
    ['a reply without an answer field', at('/chat', operation('message', 'id'))],
    ['a required parameter', at('/chat', operation('message', 'answer', { parameters: [{ required: true }] }))],
    ['circular references', { ...at('/chat', { requestBody: { $ref: '#/a' }, responses: {} }), a: { $ref: '#/a' } }],
    ['a reference to an inherited key', at('/chat', { requestBody: { $ref: '#/constructor/name' } })],
    ['a list as its root', []],
  ])('with %s has no operation to test', (_, document) => {
    expect(chatOperation(document)).toBeUndefined();
  });

  test('is read from JSON and YAML files, but not through links', () => {
    const cwd = temporaryFolder();
    writeFileSync(path.join(cwd, 'elsewhere.json'), JSON.stringify(DESCRIPTION));
    symlinkSync('elsewhere.json', path.join(cwd, 'openapi.json'));
    expect(findDescription({ ...empty, cwd })).toBeUndefined();
    writeFileSync(path.join(cwd, 'openapi.yaml'), JSON.stringify(DESCRIPTION, null, 1));
    expect(findDescription({ ...empty, cwd })).toEqual({
      file: 'openapi.yaml',
      operation: { path: '/chat', ask: 'message', answer: 'answer' },
    });
    writeFileSync(path.join(cwd, 'openapi.yaml'), 'a: [\n');
    expect(findDescription({ ...empty, cwd })).toBeUndefined();
  });
});

describe('a folder', () => {
  test('can name ports in scripts, .env and compose files', () => {
    const cwd = temporaryFolder();
    const scripts = { start: 'node x.js --port 4001', dev: 'PORT=4002 vite -p 4003', test: 'vitest :99' };
    writeFileSync(path.join(cwd, 'package.json'), JSON.stringify({ scripts }));
    writeFileSync(path.join(cwd, '.env'), 'export PORT="4004"\nOTHER_PORT=4005\n');
    writeFileSync(path.join(cwd, 'compose.yaml'), 'ports:\n  - "4006:80"\n  - 127.0.0.1:4007:80\n  - 99999:80\n');
    expect(namedPorts(cwd)).toEqual([4001, 4002, 4003, 4004, 4006, 4007]);
    expect(findStart({ ...empty, cwd })).toEqual({ port: 4001 });
  });

  test.each([
    ['no package.json', undefined],
    ['no start script', '{"scripts":{"test":"x"}}'],
    ['scripts that are not an object', '{"scripts":["start"]}'],
    ['a broken package.json', '{'],
  ])('with %s has nothing to start', (_, text) => {
    const cwd = temporaryFolder();
    if (text !== undefined) writeFileSync(path.join(cwd, 'package.json'), text);
    expect(findStart({ ...empty, cwd })).toBeUndefined();
    expect(namedPorts(cwd)).toEqual([]);
  });

  test.each([
    ['a test script', 'package.json', '{"scripts":{"test":"vitest"}}', 'npm test'],
    [
      'no test script yet',
      'package.json',
      '{"scripts":{"test":"echo \\"Error: no test specified\\" && exit 1"}}',
      undefined,
    ],
    ['a Go module', 'go.mod', 'module shop\n', 'go test ./...'],
    ['no file that names its tests', 'README.md', 'Tests: npm test\n', undefined],
  ])('with %s gets the right test command, if any', (_, file, text, command) => {
    const cwd = temporaryFolder();
    writeFileSync(path.join(cwd, file), text);
    expect(findTests({ ...empty, cwd })).toBe(command);
  });

  test('has its scripts listed, those that read cases first', () => {
    const cwd = temporaryFolder();
    mkdirSync(path.join(cwd, 'tools'));
    writeFileSync(path.join(cwd, 'a.py'), '');
    writeFileSync(path.join(cwd, 'vite.config.js'), '');
    writeFileSync(path.join(cwd, '$x.sh'), '');
    writeFileSync(path.join(cwd, 'tools', 'total.py'), 'open("input/case.json")');
    expect(findScripts({ ...empty, cwd })).toEqual([
      { file: 'tools/total.py', readsCases: true },
      { file: 'a.py', readsCases: false },
    ]);
  });

  test('gets agents only from absolute folders on the PATH', () => {
    const cwd = temporaryFolder();
    for (const name of ['claude', 'codex'])
      writeFileSync(path.join(cwd, name), '', { mode: name === 'codex' ? 0o755 : 0o644 });
    expect(findAgents({ cwd, environment: { PATH: `.:${cwd}` } })).toEqual(['codex']);
    expect(findAgents({ cwd, environment: { PATH: '.' } })).toEqual([]);
    expect(findAgents({ cwd, environment: {} })).toEqual([]);
  });

  test.each([
    ['/x/Help Desk', 'help-desk'],
    ['/x/ä', 'my-project'],
    ['/', 'my-project'],
  ])('such as %s gets a valid project name', (folder, name) => {
    expect(nameOfFolder(folder)).toBe(name);
  });

  test('that contains only .git counts as empty', async () => {
    const cwd = temporaryFolder();
    mkdirSync(path.join(cwd, '.git'));
    expect(await surveyFolder({ ...empty, cwd })).toMatchObject({
      isEmpty: true,
      servers: [],
      agents: [],
      scripts: [],
    });
    writeFileSync(path.join(cwd, 'a'), '');
    expect(await surveyFolder({ ...empty, cwd })).toMatchObject({ isEmpty: false });
  });
});
