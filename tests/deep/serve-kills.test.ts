import { existsSync, readdirSync, readFileSync, readlinkSync, realpathSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import type { CaseArtifact } from '../../src/contracts/artifacts/index.ts';
import type { ScriptRunView } from '../../src/publish/views.ts';
import { Tokens } from '../../src/serve/access/tokens.ts';
import { serverFolder } from '../../src/serve/state/server-folder.ts';
import { publishScript } from '../../src/verbs/publish/publish.ts';
import { serverHome } from '../../src/verbs/server-home.ts';
import { Agent, answersWell } from '../run/suite/agent.ts';
import { randomFrom, SEED } from '../support/random.ts';
import { endProcess, Place, type Started, until } from '../support/runs.ts';

const KILLS = Number(process.env['PROCTOR_KILLS'] ?? 50);
const CASES = 5;
const chance = randomFrom(SEED);
const told = { suiteProcesses: 0 };

/** An order of a client that repeats it with its key until it gets an answer. */
interface Ordered {
  readonly kind: 'suite' | 'script';
  readonly key: string;
  runId: string | undefined;
}

test(`${KILLS} kills of the server lose nothing and do nothing twice (seed ${SEED})`, async () => {
  const place = new Place();
  onTestFinished(() => place.remove());
  const agent = new Agent(slowAnswers());
  const url = await agent.start();
  const token = await prepared(place);
  const orders: Ordered[] = [];
  for (let kill = 0; kill < KILLS; kill++) {
    const server = place.start(['serve', '--listen', '127.0.0.1:0', '--json']);
    // Some kills hit the start of the server.
    if (chance() < 0.15) await wait(chance() * 400);
    else {
      const origin = await addressOf(server);
      if (chance() < 0.35) orders.push({ kind: 'suite', key: `suite-${kill}`, runId: undefined });
      if (chance() < 0.7) orders.push({ kind: 'script', key: `script-${kill}`, runId: undefined });
      const client = clientOf(origin, token, url);
      const sent = client.sendAll(orders);
      await wait(chance() * 900);
      if (chance() < 0.2) endSuiteProcesses(place);
      server.kill('SIGKILL');
      await sent;
    }
    server.kill('SIGKILL');
    await server.ended;
  }

  const last = place.start(['serve', '--listen', '127.0.0.1:0', '--json']);
  onTestFinished(() => last.kill('SIGKILL'));
  const client = clientOf(await addressOf(last), token, url);
  await client.sendAll(orders);
  expect(orders.filter(({ runId }) => runId === undefined)).toEqual([]);
  const states = async (): Promise<string[]> =>
    Promise.all(orders.map(async order => (await client.stateOf(order)).replace(/^(?:waiting|running)$/, 'open')));
  await expect.poll(states, { timeout: 600_000, interval: 250 }).not.toContain('open');

  // Every order is one run, and every run is an order.
  const suites = orders.filter(({ kind }) => kind === 'suite').map(({ runId }) => runId as string);
  const scripts = orders.filter(({ kind }) => kind === 'script').map(({ runId }) => runId as string);
  expect((await client.ownScripts()).sort()).toEqual([...scripts].sort());
  const folders = (lane: string) => path.join(place.cwd, '.proctor', 'runs', lane);
  expect(namesIn(folders('new'))).toEqual([...suites].sort());
  expect(namesIn(folders('script'))).toEqual([...scripts].sort());

  const ended = await Promise.all(scripts.map(id => client.view(id)));
  for (const view of ended) {
    expect(['succeeded', 'stopped'], JSON.stringify(view)).toContain(view.state);
    expect(view.correlation_id).toMatch(/^\w+$/);
    if (view.state === 'succeeded') expect(view.files.map(file => file.path)).toEqual(['inputs.json']);
  }
  for (const id of suites) expect(await client.stateOf({ kind: 'suite', key: '', runId: id })).toBe('finished');
  expectAskedOnce(
    agent,
    suites.map(id => path.join(folders('new'), id)),
  );

  last.kill('SIGTERM');
  await last.ended;
  const all = [
    ...suites.map(id => path.join(folders('new'), id)),
    ...scripts.map(id => path.join(folders('script'), id)),
  ];
  const { code, stdout, stderr } = place.proctor(['verify', ...all]);
  expect(code, stdout + stderr).toBe(0);
  await until('no stage is left', () => readdirSync(place.temp).length === 0);
  const stopped = ended.filter(({ state }) => state === 'stopped').length;
  process.stdout.write(
    `seed ${SEED}: ${KILLS} kills, and ${told.suiteProcesses} of suite processes; ${suites.length} suites, ${scripts.length} scripts, ${stopped} of them stopped\n`,
  );
});

function slowAnswers() {
  const slowly: typeof answersWell = (seen, response, times) =>
    void setTimeout(() => answersWell(seen, response, times), 100);
  return Object.fromEntries(Array.from({ length: CASES }, (_, at) => [`case-${at}`, slowly]));
}

/** Publishes a script, and creates a token that may order everything. */
async function prepared(place: Place): Promise<string> {
  const script = {
    schema_version: 'published-script.v1',
    name: 'echo',
    version: '1.0.0',
    title: 'Echo',
    script: 'run.sh',
  };
  const inputs = [{ kind: 'text', name: 'word', label: 'Word', required: true }];
  place.file('tool/script.yaml', JSON.stringify({ ...script, inputs }));
  place.file('tool/run.sh', ECHOES);
  await publishScript('tool', { cwd: place.cwd });
  const tokens = new Tokens(serverFolder(serverHome(place.cwd)), systemClock);
  return (await tokens.create({ name: 'tests', role: 'runner' })).text;
}

const ECHOES = `mkdir -p output
cp input/inputs.json output/
sleep 0.3
printf '{"contract_version":1,"status":"succeeded","html_output":"","error_summary":null,"artifacts":[]}' > result.json
`;

async function addressOf(server: Started): Promise<string> {
  await until('the server listens', () => server.stdout.includes('}'));
  return new URL((JSON.parse(server.stdout) as { address: string }).address).origin;
}

function clientOf(origin: string, token: string, agentUrl: string) {
  const authorization = `Bearer ${token}`;
  const ask = async (at: string, init: RequestInit = {}): Promise<Response> =>
    fetch(`${origin}${at}`, { ...init, headers: { authorization, ...(init.headers as Record<string, string>) } });
  const json = async <Value>(at: string): Promise<Value> => (await (await ask(at)).json()) as Value;
  const send = (order: Ordered): Promise<Response> => {
    const headers = { 'idempotency-key': order.key };
    if (order.kind === 'suite') {
      const cases = Array.from({ length: CASES }, (_, at) =>
        JSON.stringify({ id: `case-${at}`, input: { user: order.key } }),
      );
      const body = {
        as: 'new',
        cases: { name: 'cases.jsonl', text: `${cases.join('\n')}\n` },
        base_url: agentUrl,
        concurrency: 2,
      };
      const type = { 'content-type': 'application/json' };
      return ask('/v1/runs', { method: 'POST', headers: { ...headers, ...type }, body: JSON.stringify(body) });
    }
    const form = new FormData();
    form.set('word', order.key);
    return ask('/v1/scripts/echo/runs', { method: 'POST', headers, body: form });
  };
  return {
    /** Sends what has no answer yet. A server that dies answers nothing. */
    sendAll: (orders: readonly Ordered[]): Promise<unknown> =>
      Promise.all(
        orders
          .filter(({ runId }) => runId === undefined)
          .map(async order => {
            const response = await send(order).catch(() => undefined);
            const answer = (await response?.json().catch(() => undefined)) as { run_id?: string } | undefined;
            if (answer) expect(response?.status, JSON.stringify(answer)).toBe(202);
            order.runId = answer?.run_id;
          }),
      ),
    stateOf: async ({ kind, runId }: Ordered): Promise<string> =>
      (await json<{ state: string }>(kind === 'suite' ? `/v1/runs/${runId}` : `/v1/script-runs/${runId}`)).state,
    view: (id: string) => json<ScriptRunView>(`/v1/script-runs/${id}`),
    ownScripts: async (): Promise<string[]> =>
      (await json<{ runs: { run_id: string }[] }>('/v1/script-runs?limit=200')).runs.map(({ run_id }) => run_id),
  };
}

/** Kills the processes that run suites, too. The next server resumes what they left. */
function endSuiteProcesses({ cwd }: Place): void {
  for (const pid of readdirSync('/proc').filter(name => /^\d+$/.test(name))) {
    try {
      const words = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0');
      const isHere = readlinkSync(`/proc/${pid}/cwd`) === realpathSync(cwd);
      if (words.includes('--resume') && isHere && endProcess(Number(pid))) told.suiteProcesses++;
    } catch {
      // The process has ended, or belongs to another user.
    }
  }
}

/** The agent has seen each attempt that the evidence records, each with its own key, and no others. */
function expectAskedOnce(agent: Agent, folders: readonly string[]): void {
  const keys = agent.seen.map(({ headers }) => String(headers['idempotency-key']));
  expect(new Set(keys).size).toBe(keys.length);
  let recorded = 0;
  for (const folder of folders) {
    const artifacts = Array.from({ length: CASES }, (_, at) => path.join(folder, `case-${at}.json`));
    for (const file of artifacts) {
      expect(existsSync(file), file).toBe(true);
      const { status, attempts = [] } = JSON.parse(readFileSync(file, 'utf8')) as CaseArtifact;
      expect(status).toBe('ok');
      recorded += Math.max(1, attempts.length);
    }
  }
  // An attempt is recorded before it is sent, so a kill in between records one that the agent never saw.
  expect(keys.length).toBeLessThanOrEqual(recorded);
  expect(keys.length).toBeGreaterThanOrEqual(folders.length * CASES);
}

function namesIn(folder: string): string[] {
  return existsSync(folder) ? readdirSync(folder).sort() : [];
}
