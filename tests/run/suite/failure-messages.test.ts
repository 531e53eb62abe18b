import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { Evaluation } from '../../../src/contracts/evaluation/index.ts';
import type { HttpAnswer } from '../../../src/execute/http.ts';
import { contentHint, redirectHint } from '../../../src/run/suite/failure-hints.ts';
import { Place } from '../../support/runs.ts';
import { everythingIn, expectValid, ranSuite } from './support.ts';

const SECRET = 'correct-horse-battery-staple';

/** Answers as the last part of the path says. */
const REPLIES: Readonly<Record<string, readonly [status: number, headers: Record<string, string>, body: string]>> = {
  good: [200, {}, '{"answer":"Hello."}'],
  fails: [200, {}, '{"problem":"the model is overloaded"}'],
  leaks: [200, {}, '{"problem":"cannot read /home/bob/key"}'],
  moved: [307, { location: 'http://127.0.0.1:1/new?token=x' }, ''],
  streams: [200, { 'content-type': 'text/event-stream' }, 'data: {}\n\n'],
  plain: [200, { 'content-type': 'text/plain; charset=utf-8' }, 'Hello.'],
};

async function desk(): Promise<{ readonly server: Server; readonly url: string }> {
  const server = createServer((request, response) => {
    const id = new URL(request.url ?? '/', 'http://desk').pathname.split('/').at(-1) ?? '';
    const [status, headers, body] = REPLIES[id] ?? [404, {}, 'no'];
    request.resume().on('end', () => response.writeHead(status, headers).end(body));
  });
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  return { server, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
}

const declaration = (url: string) => ({
  kind: 'http',
  url,
  request: { path: '/${env:DESK_TOKEN}/${case.id}', query: { q: 'Quebec' }, body: {} },
  reply: { final_output: '$.answer', failed: '$.problem' },
});

async function ran(url: string, ids: readonly string[]) {
  const place = new Place();
  onTestFinished(() => place.remove());
  place.file('desk.json', JSON.stringify(declaration(url)));
  const environment = { DESK_TOKEN: SECRET };
  const suite = await ranSuite(ids, { cwd: place.cwd, target: 'desk.json', runId: 'r1', environment });
  const evaluation = JSON.parse(suite.bytes('evaluation.json').toString()) as Evaluation;
  return { ...suite, place, evaluation };
}

describe('the message of a failure', () => {
  test('names the address without query and secrets, says what to do, and appears in the evaluation', async () => {
    const { url } = await desk();
    const { folder, artifact, evaluation } = await ran(url, ['good', 'fails', 'moved', 'streams', 'plain', 'gone']);
    const messages = Object.fromEntries(evaluation.cases.map(one => [one.case_id, one.failure?.message]));
    const at = (id: string): string => `${url}/[masked]/${id}`;
    expect(messages).toEqual({
      good: undefined,
      fails: 'The agent reported a failure: the model is overloaded',
      moved: `The agent at ${at('moved')} answered with status 307, a redirect to http://127.0.0.1:1/new. Proctor does not follow redirects for declared targets: declare the final URL.`,
      streams: expect.stringMatching(/^This is not JSON.+ declare stream: \{ as: sse \}\.$/) as string,
      plain: expect.stringMatching(/^This is not JSON.+ Its content type is text\/plain\.$/) as string,
      gone: `The agent at ${at('gone')} answered with status 404.`,
    });
    for (const { case_id } of evaluation.cases.slice(1))
      expect(artifact(case_id).runner_failure?.error_message).toBe(messages[case_id]);
    expect(evaluation.cases[1]?.failure).toMatchObject({ error_name: 'AGENT_FAILED', status: 200 });
    expect(everythingIn(folder)).not.toContain(SECRET);
    await expectValid(folder);
  });

  test('is left out of the evaluation if it quotes a machine path, and the run still verifies', async () => {
    const { url } = await desk();
    const { folder, artifact, evaluation } = await ran(url, ['leaks']);
    expect(artifact('leaks').runner_failure?.error_message).toContain('/home/bob/key');
    expect(evaluation.cases[0]?.failure).toEqual(
      expect.not.objectContaining({ message: expect.anything() as unknown }),
    );
    await expectValid(folder);
  });

  test('is shown by show and every report', async () => {
    const { server, url } = await desk();
    server.close();
    const { place, result } = await ran(url, ['a', 'b']);
    const message = `The agent at ${url}/[masked]/a refused the connection.`;
    // The same failure of two cases is counted once.
    expect(result.runs[0]?.troubles).toEqual([{ name: 'network_error', message, count: 2 }]);
    const shown = place.proctor(['show', 'r1']).stdout;
    expect(shown).toContain(`error  a  network_error: ${message}\n`);
    expect(shown).toContain('proctor report r1 · proctor compare');
    const { stdout } = place.proctor(['report', 'r1', '--format', 'terminal,md,junit,html']);
    expect(stdout).toContain(`network_error: ${message}\n`);
    for (const file of ['report.md', 'junit.xml', 'report.html'])
      expect(readFileSync(path.join(place.cwd, '.proctor/reports/r1', file), 'utf8'), file).toContain(message);
    expect(place.proctor(['list']).stdout).toMatch(/^no answers /);
  });
});

describe('hints', () => {
  test.each([
    ['text/event-stream', 'http', / declare stream: \{ as: sse \}\.$/],
    ['application/x-ndjson; charset=utf-8', 'http', / declare stream: \{ as: ndjson \}\.$/],
    ['Text/Event-Stream', 'openai-chat', / declare stream: true\.$/],
    ['text/event-stream', undefined, / use a target file with kind: http/],
    ['text/event-stream', 'a2a', / Its content type is text\/event-stream\.$/],
    ['application/problem+json', 'http', /^$/],
    [undefined, 'http', /^$/],
  ] as const)('suggest the right declaration for content type %s and kind %s', (contentType, kind, hint) => {
    expect(contentHint(contentType, kind)).toMatch(hint);
  });

  const answer = (location: string): HttpAnswer => ({
    ended: 'complete',
    latencyMs: 1,
    status: 302,
    headers: { location },
    body: Buffer.alloc(0),
    bodyTotal: 0,
  });
  const url = 'http://127.0.0.1:8000/a';

  test('name the target of a redirect only if it is an HTTP URL, and how to follow it', () => {
    expect(redirectHint(answer('/b?key=1'), { url })).toBe(
      ', a redirect to http://127.0.0.1:8000/b. Use --follow-redirects, or the URL that answers',
    );
    expect(redirectHint(answer('file:///etc/passwd'), { url, kind: 'http' })).toMatch(
      /^, a redirect\. Proctor does not follow/,
    );
    expect(redirectHint(answer('/b'), { url, redirects: true })).toContain('none to another host or port');
    expect(redirectHint({ ...answer('/b'), status: 200 }, { url })).toBe('');
  });
});

test.each([
  [{ memoryBytes: 1 << 28 }, 'Proctor cannot enforce --memory on an API. Omit it.'],
  [
    { sandbox: 'process', isolation: 'strict', profile: 'strict', cpus: 1 },
    'Proctor cannot enforce --sandbox, --isolation, --profile, --cpus on an API. Omit them.',
  ],
] as const)('limits that Proctor cannot enforce on an API are refused and named', async (bounds, message) => {
  const place = new Place();
  onTestFinished(() => place.remove());
  const url = 'http://127.0.0.1:1';
  place.file('desk.json', JSON.stringify({ kind: 'proctor', url }));
  for (const target of [{ target: 'desk.json' }, { baseUrl: url }])
    await expect(ranSuite(['a'], { cwd: place.cwd, ...target, bounds })).rejects.toThrow(message);
});
