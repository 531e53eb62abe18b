import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import type { TargetDeclaration } from '../../src/contracts/target/index.ts';
import { declaredVersion } from '../../src/verbs/declared-version.ts';

/** A server that reports its version to clients with the token. */
async function versionServer(seen: IncomingMessage[] = []): Promise<string> {
  const server = createServer((request, response) => {
    seen.push(request);
    const isKnown = request.url === '/v1/version' && request.headers.authorization === 'Bearer tok_123456';
    response.statusCode = isKnown ? 200 : 404;
    response.end(isKnown ? '{"agent":{"version":"1.2.3"}}' : '{"agent":{"version":"none"}}');
  });
  onTestFinished(() => void server.close());
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
}

function declared(url: string, version: object = { path: '/version', read: '$.agent.version' }): TargetDeclaration {
  return {
    kind: 'http',
    url,
    auth: { bearer: '${env:TOKEN}' },
    headers: { 'X-Team': 'desk' },
    request: {},
    reply: { final_output: '$.text' },
    version,
  };
}

async function asked(declaration: TargetDeclaration, token = 'tok_123456', signal?: AbortSignal) {
  const warnings: string[] = [];
  const version = await declaredVersion(
    { declaration, dir: '.' },
    { secrets: { TOKEN: token }, onWarning: sentence => void warnings.push(sentence), ...(signal && { signal }) },
  );
  return { version, warnings };
}

test('requests the version from the declared path, with the declared headers', async () => {
  const seen: IncomingMessage[] = [];
  const url = await versionServer(seen);
  expect(await asked(declared(url))).toEqual({ version: '1.2.3', warnings: [] });
  expect(seen.map(({ method, headers }) => [method, headers['x-team']])).toEqual([['GET', 'desk']]);
});

test.each([
  ['the server has none', '/versions', 'tok_123456', 'The version request returned status 404.'],
  ['the reply has none at this path', '/version', 'tok_123456', 'The version request returned no text.'],
  ['a header cannot be sent', '/version', 'tok\n123456', 'The version request cannot be sent: auth.bearer: '],
])('the version is unknown, with a warning, if %s', async (_, at, token, reason) => {
  const read = reason.includes('no text') ? '$.version' : '$.agent.version';
  const { version, warnings } = await asked(declared(await versionServer(), { path: at, read }), token);
  expect(version).toBeUndefined();
  expect(warnings).toEqual([expect.stringContaining(`The version of the target is unknown: ${reason}`)]);
  expect(warnings.join()).not.toContain('123456');
});

test('the version is unknown, with a warning, if a variable makes the address invalid', async () => {
  const { version, warnings } = await asked(declared('${env:TOKEN}'), 'not an address');
  expect(version).toBeUndefined();
  expect(warnings.join()).toContain('The url of the target is not an http or https URL.');
});

test('stops waiting when the run is cancelled', async () => {
  const stop = new AbortController();
  const server = createServer(() => stop.abort());
  onTestFinished(() => void server.close());
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  await expect(asked(declared(url), 'tok_123456', stop.signal)).rejects.toThrow('The run was cancelled.');
});
