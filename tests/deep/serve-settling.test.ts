import { appendFileSync, existsSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { type ClientRequest, request } from 'node:http';
import path from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { Place, smallHome, type Started, until } from '../support/runs.ts';

/** A command-line server of a project, and a client with the role `runner`. */
class Killable {
  readonly #place: Place;
  #server: Started | undefined;
  #token = '';
  origin = '';

  constructor(place: Place) {
    this.#place = place;
    onTestFinished(async () => {
      await this.kill();
      place.remove();
    });
  }

  async start(): Promise<void> {
    if (this.#token === '') {
      const { stdout } = this.#place.proctor(['token', 'new', '--role', 'runner', '--name', 'tests', '--json']);
      this.#token = (JSON.parse(stdout) as { token: string }).token;
    }
    const server = this.#place.start(['serve', '--listen', '127.0.0.1:0', '--json']);
    this.#server = server;
    await until('the server listens', () => server.stdout.includes('}'));
    this.origin = new URL((JSON.parse(server.stdout) as { address: string }).address).origin;
  }

  async kill(signal: NodeJS.Signals = 'SIGKILL'): Promise<void> {
    this.#server?.kill(signal);
    await this.#server?.ended;
  }

  get headers() {
    return { authorization: `Bearer ${this.#token}` };
  }

  /** What the server answers; undefined if it dies first. */
  async ask(at: string, init: RequestInit = {}): Promise<Answer | undefined> {
    const headers = { ...this.headers, ...(init.headers as Record<string, string>) };
    try {
      const response = await fetch(`${this.origin}${at}`, { ...init, headers });
      return { ...((await response.json()) as Answer), status: response.status };
    } catch {
      return undefined;
    }
  }

  post(at: string, body: unknown, key = ''): Promise<Answer | undefined> {
    const headers = { 'content-type': 'application/json', ...(key !== '' && { 'idempotency-key': key }) };
    return this.ask(at, { method: 'POST', headers, body: JSON.stringify(body) });
  }
}

interface Answer {
  readonly status: number;
  readonly run_id: string;
  readonly state: string;
  readonly questions: readonly { readonly id: string; readonly key: string }[];
  readonly error?: { readonly code: string; readonly message: string };
}

const SUCCEEDS = `printf '{"contract_version":1,"status":"succeeded","html_output":"","error_summary":null,"artifacts":[]}' > result.json\n`;

function publish(place: Place, shell: string, limits: object = {}): void {
  const names = { schema_version: 'published-script.v1', name: 'tool', version: '1.0.0', title: 'Tool' };
  const inputs = [{ kind: 'file', name: 'list', label: 'List' }];
  place.file('tool/script.yaml', JSON.stringify({ ...names, script: 'run.sh', inputs, limits }));
  place.file('tool/run.sh', `${shell}\n${SUCCEEDS}`);
  expect(place.proctor(['publish', 'tool'])).toMatchObject({ code: 0 });
}

const stateOf = async (server: Killable, id: string): Promise<string> =>
  (await server.ask(`/v1/script-runs/${id}`))?.state ?? 'no answer';

describe('a server that is killed', () => {
  test('while a published script runs tells its user that it was stopped, and never runs it again', async () => {
    const place = new Place();
    const server = new Killable(place);
    publish(place, 'echo begun; sleep 600', { timeout: '10m' });
    await server.start();
    const order = () =>
      server.ask('/v1/scripts/tool/runs', {
        method: 'POST',
        headers: { 'idempotency-key': 'k' },
        body: new FormData(),
      });
    const { run_id: id = '' } = (await order()) ?? {};
    const folder = path.join(place.cwd, '.proctor/runs/script', id);
    const journal = path.join(folder, 'journal.ndjson');
    await until('it runs', () => existsSync(journal) && readFileSync(journal, 'utf8').includes('"started"'));
    await server.kill();

    await server.start();
    await expect.poll(() => stateOf(server, id)).toBe('stopped');
    expect(await order()).toMatchObject({ status: 202, run_id: id });
    await server.kill();
    await server.start();
    expect(await stateOf(server, id)).toBe('stopped');
    expect(readdirSync(path.dirname(folder))).toEqual([id]);
    const events = readFileSync(path.join(folder, 'evidence/events.ndjson'), 'utf8');
    expect(events.match(/"started"/g)?.length ?? 0).toBeLessThanOrEqual(1);
    expect(place.proctor(['verify', folder])).toMatchObject({ code: 0 });
    expect(place.proctor(['recover'])).toMatchObject({ code: 0 });
    await until('no stage is left', () => readdirSync(place.temp).length === 0);
  });

  test('while an intent waits for answers keeps the questions, and takes the answers once', async () => {
    const place = new Place();
    const server = new Killable(place);
    await server.start();
    const text = JSON.stringify({ goal: 'Write <what>', files: [{ path: 'a.txt', content: '<what>' }] });
    const asked = await server.post('/v1/intents', { intent: { name: 'a.json', text }, mode: 'execute-sandbox' });
    const id = asked?.run_id ?? '';
    await expect.poll(async () => (await server.ask(`/v1/runs/${id}`))?.state).toBe('finished');
    const questions = (await server.ask(`/v1/runs/${id}/questions`))?.questions ?? [];
    expect(questions.length).toBeGreaterThan(0);
    const answers = { [questions.find(({ key }) => key === 'what')?.id ?? '']: 'the notes' };
    const answer = () => server.post(`/v1/runs/${id}/answers`, { answers, mode: 'execute-sandbox' }, 'once');
    // The client gets no answer, or one that it may not have seen.
    const got: string[] = [];
    for (const waitMs of [0, 5, 20, 80]) {
      const answered = answer();
      await new Promise(resolve => setTimeout(resolve, waitMs));
      await server.kill();
      const { run_id } = (await answered) ?? {};
      if (run_id !== undefined) got.push(run_id);
      await server.start();
      expect((await server.ask(`/v1/runs/${id}/questions`))?.questions).toEqual(questions);
    }
    got.push((await answer())?.run_id ?? '');
    expect(new Set(got).size).toBe(1);
    const [next = ''] = got;
    await expect.poll(async () => (await server.ask(`/v1/runs/${next}`))?.state).toBe('finished');
    await server.kill('SIGTERM');
    const lane = path.join(place.cwd, '.proctor/runs/intent');
    expect(readdirSync(lane).sort()).toEqual([id, next].sort());
    for (const run of [id, next]) expect(place.proctor(['verify', path.join(lane, run)])).toMatchObject({ code: 0 });
  });
});

/** A body that is sent in two parts. */
function upload(server: Killable, at: string, headers: Record<string, string>): Uploading {
  const { hostname: host, port } = new URL(server.origin);
  const asked = request({
    agent: false,
    host,
    port,
    path: at,
    method: 'POST',
    headers: { ...server.headers, ...headers },
  });
  const answered = new Promise<Pick<Answer, 'status' | 'error'>>((resolve, reject) => {
    asked.on('error', reject);
    asked.on('response', response => {
      let text = '';
      response.setEncoding('utf8').on('data', (part: string) => (text += part));
      response.on('end', () => resolve({ ...(JSON.parse(text) as Answer), status: response.statusCode ?? 0 }));
    });
  });
  return { asked, answered };
}

interface Uploading {
  readonly asked: ClientRequest;
  readonly answered: Promise<Pick<Answer, 'status' | 'error'>>;
}

/** The bytes in a folder and the folders below it. */
function bytesBelow(folder: string): number {
  if (!existsSync(folder)) return 0;
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter(entry => entry.isFile())
    .reduce((sum, entry) => sum + statSync(path.join(entry.parentPath, entry.name)).size, 0);
}

test('a disk that becomes full while uploads stream refuses them, leaves nothing, and takes them later', async context => {
  const place = new Place();
  const server = new Killable(place);
  smallHome(context, place, 8 * 1024);
  const home = path.join(place.cwd, '.proctor');
  publish(place, 'mkdir output; wc -c < input/list.txt > output/bytes');
  await server.start();
  const uploads = path.join(home, 'server/uploads');
  const PART = Buffer.alloc(1024 ** 2, 'x');
  const file = 'content-disposition: form-data; name="list"; filename="list.txt"\r\n\r\n';
  const form = { 'content-type': 'multipart/form-data; boundary=b', 'idempotency-key': 'k' };
  const ballast = path.join(home, 'ballast');
  for (const [at, headers, begin] of [
    ['/v1/scripts/tool/runs', form, `--b\r\n${file}`],
    ['/v1/verify', { 'content-type': 'application/octet-stream' }, '{'],
  ] as const) {
    const { asked, answered } = upload(server, at, headers);
    asked.write(begin);
    asked.write(PART);
    await until('it has begun', () => bytesBelow(uploads) >= PART.length - 128 * 1024);
    expect(() => {
      for (;;) appendFileSync(ballast, Buffer.alloc(4096));
    }).toThrow('ENOSPC');
    asked.end(PART);
    const message = expect.stringContaining('the disk is full') as string;
    expect(await answered).toMatchObject({ status: 503, error: { message } });
    await until('nothing is left', () => bytesBelow(uploads) === 0);
    expect((await fetch(`${server.origin}/healthz`)).status).toBe(200);
    rmSync(ballast);
  }

  const again = upload(server, '/v1/scripts/tool/runs', form);
  again.asked.end(Buffer.concat([Buffer.from(`--b\r\n${file}`), PART, Buffer.from('\r\n--b--\r\n')]));
  const { run_id: id, status } = (await again.answered) as Answer;
  expect(status).toBe(202);
  await expect.poll(() => stateOf(server, id)).toBe('succeeded');
  expect(readdirSync(path.join(home, 'runs/script'))).toEqual([id]);
  const output = readFileSync(path.join(home, 'runs/script', id, 'output/bytes'), 'utf8');
  expect(Number(output)).toBe(PART.length);
});
