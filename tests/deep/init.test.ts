import { spawn, spawnSync } from 'node:child_process';
import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { agentFolder, repositoryFolder } from '../../stand-ins/place.ts';
import { type Ran, ROOT, temporaryFolder } from '../support/support.ts';

/** Runs the built command line without blocking this process, which serves some of the agents. */
function proctor(args: readonly string[], cwd: string, env: NodeJS.ProcessEnv = {}): Promise<Ran> {
  const child = spawn(process.execPath, [path.join(ROOT, 'dist', 'proctor.js'), ...args], {
    cwd,
    env: { ...process.env, NO_COLOR: '1', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  let [stdout, stderr] = ['', ''];
  child.stdout.setEncoding('utf8').on('data', (text: string) => (stdout += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text));
  return new Promise(resolve => child.once('close', code => resolve({ code, stdout, stderr })));
}

/** Sets up a project, and tests it at once. */
async function green(cwd: string, flags: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<string> {
  const made = await proctor(['init', '--yes', ...flags], cwd, env);
  expect(made.code, made.stderr).toBe(0);
  const tested = await proctor(['test'], cwd, env);
  expect(tested.code, tested.stdout + tested.stderr).toBe(0);
  return readFileSync(path.join(cwd, 'proctor.yaml'), 'utf8');
}

/** A server on a free port. A route is a method and a path; its value is the JSON to send. */
async function served(routes: Readonly<Record<string, (body: Record<string, never>) => unknown>>): Promise<string> {
  const server = createServer(async (request, response) => {
    let body = '';
    for await (const chunk of request) body += String(chunk);
    const route = routes[`${request.method} ${request.url}`];
    response.writeHead(route ? 200 : 404, { 'content-type': 'application/json' });
    response.end(JSON.stringify(route ? route(JSON.parse(body || '{}') as Record<string, never>) : {}));
  });
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

describe('a project that init writes passes its first test', () => {
  test('for an empty folder, and fails with the right cause if the example is broken as its comment says', async () => {
    const cwd = temporaryFolder();
    await green(cwd, []);
    expect((await proctor(['test', '--accept'], cwd)).code).toBe(0);
    expect((await proctor(['test'], cwd)).code).toBe(0);
    const agent = path.join(cwd, 'agent.mjs');
    const text = readFileSync(agent, 'utf8');
    expect(text).toMatch(/change 50 to 500 in the next line/);
    writeFileSync(agent, text.replace('_MAX = 50;', '_MAX = 500;'));
    const worse = await proctor(['test'], cwd);
    expect(worse.code).toBe(1);
    expect(worse.stdout).toContain(
      'tool choice: The candidate called “refunds.create” where the baseline called “tickets.create”.',
    );
  });

  test('for an OpenAI-compatible API', async () => {
    const url = await served({
      'GET /v1/models': () => ({ data: [{ id: 'desk-1' }] }),
      'POST /v1/chat/completions': ({ model }) => ({
        model,
        choices: [{ index: 0, finish_reason: 'stop', message: { role: 'assistant', content: 'Hello!' } }],
      }),
    });
    expect(await green(temporaryFolder(), ['--url', url])).toContain('kind: openai-chat\n');
  });

  test('for an A2A agent', async () => {
    const url = await served({
      'GET /.well-known/agent-card.json': () => ({
        name: 'Desk',
        supportedInterfaces: [{ url: '/', protocolBinding: 'JSONRPC', protocolVersion: '1.0' }],
      }),
      'POST /': ({ id }) => ({
        jsonrpc: '2.0',
        id,
        result: { message: { role: 'ROLE_AGENT', parts: [{ text: 'Hello!' }] } },
      }),
    });
    expect(await green(temporaryFolder(), ['--url', url])).toContain('kind: a2a\n');
  });

  test('for an API with an OpenAPI document', async () => {
    const text = (key: string): object => ({
      content: { 'application/json': { schema: { type: 'object', properties: { [key]: { type: 'string' } } } } },
    });
    const url = await served({
      'GET /openapi.json': () => ({
        openapi: '3.1.0',
        paths: { '/v2/ask': { post: { requestBody: text('question'), responses: { 200: text('reply') } } } },
      }),
      'POST /v2/ask': ({ question }) => ({ reply: `You said: ${String(question)}` }),
    });
    expect(await green(temporaryFolder(), ['--url', url])).toContain('path: /v2/ask\n');
  });

  test("for an agent that speaks Proctor's protocol", async () => {
    const child = spawn(process.execPath, [path.join(ROOT, 'examples/suite/agent.mjs'), '--port', '0'], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    onTestFinished(() => void child.kill());
    const said = await new Promise<string>(resolve => child.stdout.setEncoding('utf8').once('data', resolve));
    const [url = ''] = /http:\S+\d/.exec(said) ?? [];
    expect(await green(temporaryFolder(), ['--url', url])).toContain('kind: proctor\n');
  });

  test('for a package with a start script and an OpenAPI file', async () => {
    const cwd = temporaryFolder();
    const schema = (key: string): string =>
      `{ content: { application/json: { schema: { properties: { ${key}: { type: string } } } } } }`;
    writeFileSync(
      path.join(cwd, 'openapi.yaml'),
      `paths:\n  /chat:\n    post:\n      requestBody: ${schema('message')}\n      responses: { "200": ${schema('answer')} }\n`,
    );
    writeFileSync(path.join(cwd, 'package.json'), '{"private":true,"scripts":{"start":"node server.mjs"}}');
    cpSync(path.join(ROOT, 'examples/first/agent.mjs'), path.join(cwd, 'server.mjs'));
    expect(await green(cwd, [])).toContain('run: [npm, run, start]\n');
  });

  test.each([
    ['the example script', [], undefined],
    ['a script that reads and prints text', ['--script', 'echo.sh'], 'cat\n'],
    [
      'a script that reads cases',
      ['--script', 'echo.sh'],
      'cat input/case.json >&2; echo \'{"final_output":{"content_type":"text","content":"x"}}\'\n',
    ],
  ])('for %s', async (_, flags, script) => {
    const cwd = temporaryFolder();
    if (script !== undefined) writeFileSync(path.join(cwd, 'echo.sh'), script);
    await green(cwd, ['--kind', 'script', ...flags]);
  });

  test.each(['claude', 'codex'] as const)('for the coding agent %s, in a repository', async agent => {
    const cwd = repositoryFolder({ 'README.md': 'A shop.\n', '.gitignore': 'build\n' });
    const env = {
      PATH: `${agentFolder(agent)}:${process.env['PATH']}`,
      ANTHROPIC_API_KEY: 'an-unused-key',
      OPENAI_API_KEY: 'an-unused-key',
    };
    await green(cwd, ['--agent', agent], env);
    const changed = spawnSync('git', ['status', '--porcelain'], { cwd, encoding: 'utf8' }).stdout;
    expect(changed).toBe('?? proctor.yaml\n?? proctor/\n');
  });
});
