import { existsSync, readFileSync, renameSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { launch } from '../reports/browser.ts';
import { Agent } from '../run/suite/agent.ts';
import { Place, type Started, until } from '../support/runs.ts';
import { type ServedProject, servedUntilStopped } from '../support/serve.ts';

/** A script that runs until it is stopped. */
const WAITS = `import time, proctor_tool
time.sleep(600)
proctor_tool.succeed()
`;
/** More orders than the server runs at once. */
const SCRIPTS = 6;

interface Answer {
  readonly run_id: string;
  readonly state: string;
  readonly how: string | null;
  readonly status: string;
  readonly error?: { readonly code: string; readonly message: string };
}

let world: Place;
let project: ServedProject;
const agent = new Agent({ one: () => undefined });
let url: string;
let scripts: string[];
beforeAll(async () => {
  world = new Place();
  url = await agent.listen();
  const declared = { schema_version: 'published-script.v1', name: 'waits', version: '1.0.0', title: 'Waits' };
  world.file('waits/script.yaml', JSON.stringify({ ...declared, script: 'run.py', limits: { timeout: '10m' } }));
  world.file('waits/run.py', WAITS);
  expect(world.proctor(['publish', 'waits'])).toMatchObject({ code: 0 });
  project = await servedUntilStopped(world.cwd, { ordering: { runs: 1, intents: 0 } });
  await suite('first');
  scripts = [];
  for (let count = 0; count < SCRIPTS; count++) scripts.push((await script()).run_id);
});
afterAll(async () => {
  await post('/v1/runs/first/cancel');
  for (const id of scripts) await post(`/v1/script-runs/${id}/cancel`);
  await project.stop();
  await agent.stop();
  world.remove();
});

const post = async (at: string, body: unknown = {}): Promise<Answer> =>
  (
    await project.json(at, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
  ).body as Answer;

const shown = async (at: string): Promise<Answer> => (await project.json(at)).body as Answer;

const CASES = { name: 'cases.jsonl', text: '{"id":"one","input":{"user":"1"}}\n' };
const suite = (run_id: string, side = 'new'): Promise<Answer> =>
  post('/v1/runs', { run_id, as: side, base_url: url, cases: CASES });
const intent = async (): Promise<string> =>
  (await post('/v1/intents', { intent: { name: 'a.json', text: '{"goal":"Do <what>"}' } })).run_id;
const script = async (): Promise<Answer> =>
  (await project.json('/v1/scripts/waits/runs', { method: 'POST', body: new FormData() })).body as Answer;

/** A published script that waits for another to end. */
async function waitingScript(): Promise<string> {
  const id = scripts.at(-1) ?? '';
  if ((await shown(`/v1/script-runs/${id}`)).state === 'waiting') return id;
  scripts.push((await script()).run_id);
  return waitingScript();
}

const ended = (id: string) => ({ run_id: id, state: 'ended', how: 'cancelled' });

describe('an order that waits', () => {
  test('of an intent is cancelled, and stays cancelled when the client asks again', async () => {
    const id = await intent();
    expect(await post(`/v1/runs/${id}/cancel`)).toMatchObject(ended(id));
    expect(await post(`/v1/runs/${id}/cancel`)).toMatchObject(ended(id));
    expect(await shown(`/v1/runs/${id}`)).toMatchObject({ state: 'finished', status: 'cancelled' });
  });

  test('of a suite is cancelled, and can be resumed', async () => {
    await suite('second');
    expect(await post('/v1/runs/second/cancel')).toMatchObject(ended('second'));
    expect(await shown('/v1/runs/second')).toMatchObject({ state: 'interrupted' });
    expect(await post('/v1/runs/second/resume')).toMatchObject({ state: 'waiting' });
    expect(await post('/v1/runs/second/cancel')).toMatchObject(ended('second'));
  });

  test('of a published script is cancelled by the route of runs, too', async () => {
    const id = await waitingScript();
    expect(await post(`/v1/runs/${id}/cancel`)).toMatchObject(ended(id));
    expect(await post(`/v1/runs/${id}/cancel`)).toMatchObject(ended(id));
    expect(await shown(`/v1/script-runs/${id}`)).toMatchObject({ state: 'stopped' });
  });

  test('of a published script goes on waiting if its cancellation cannot be written', async () => {
    const id = await waitingScript();
    const journal = path.join(world.cwd, '.proctor/server/script-runs', id, 'journal.ndjson');
    renameSync(journal, `${journal}.aside`);
    const refused = await post(`/v1/runs/${id}/cancel`);
    renameSync(`${journal}.aside`, journal);
    expect(refused.error).toBeDefined();
    expect(await shown(`/v1/script-runs/${id}`)).toMatchObject({ state: 'waiting' });
    expect(await post(`/v1/runs/${id}/cancel`)).toMatchObject(ended(id));
  });

  test('is refused by name in a terminal, and not called missing or ended', async () => {
    await suite('third');
    for (const id of ['third', 'new/third', await intent(), await waitingScript()]) {
      const { code, stderr } = world.proctor(['cancel', id]);
      expect([id, code]).toEqual([id, 2]);
      expect(stderr).toMatch(
        /^error: \S+ waits until proctor serve starts it\. Cancel it there: on its page, or with POST /,
      );
    }
    expect(await post('/v1/runs/third/cancel')).toMatchObject(ended('third'));
    expect(world.proctor(['cancel', 'third'])).toMatchObject({ code: 1, stderr: expect.stringContaining('Resume it') });
    expect(world.proctor(['cancel', 'nothing'])).toMatchObject({ code: 2, stderr: expect.stringContaining('no run') });
  });

  test('is cancelled with the button of its page', async () => {
    const browser = await launch();
    try {
      const page = await (await browser.newContext()).newPage();
      await page.goto(`${project.origin}/runs#secret=${project.secret}`);
      await page.getByRole('button', { name: 'Sign out' }).waitFor();
      await suite('fourth');
      const orders: [string, string, string][] = [
        ['/runs/fourth', 'Cancel', 'interrupted'],
        [`/runs/${await intent()}`, 'Cancel', 'cancelled'],
        [`/script-runs/${await waitingScript()}`, 'Stop', 'stopped'],
      ];
      for (const [at, button, became] of orders) {
        await page.goto(`${project.origin}${at}`);
        await page.getByRole('button', { name: button, exact: true }).click();
        await page.getByRole('button', { name: button, exact: true }).waitFor({ state: 'detached' });
        await page
          .getByText(new RegExp(`^${became}$`, 'i'))
          .first()
          .waitFor();
      }
    } finally {
      await browser.close();
    }
  });
});

describe('an id that both sides of a comparison have', () => {
  /** A suite in a terminal that never ends by itself. */
  async function started(side: string): Promise<Started> {
    world.file('cases.jsonl', CASES.text);
    const args = ['run', 'suite', 'cases.jsonl', '--base-url', url, '--as', side, '--run-id', 'both'];
    const running = world.start(args);
    const journal = path.join(world.cwd, '.proctor/runs', side, 'both', 'journal.ndjson');
    await until('it asks', () => existsSync(journal) && readFileSync(journal, 'utf8').includes('"sent"'));
    return running;
  }

  test('names the run that is running', async () => {
    const older = await started('new');
    const newer = await started('baseline');
    expect(world.proctor(['cancel', 'both']).stderr).toContain('baseline/both, new/both');
    // The server looks at the disk at most four times a second.
    await expect.poll(async () => (await project.json('/v1/runs?q=both')).body).toMatchObject({ total: 2 });
    expect((await post('/v1/runs/both/cancel')).error?.message).toMatch(/^(?:\S+\/both and \S+\/both) are running\./);
    expect(world.proctor(['cancel', 'baseline/both'])).toMatchObject({ code: 0 });
    expect((await newer.ended).code).toBe(130);
    expect(await post('/v1/runs/both/cancel')).toMatchObject(ended('both'));
    expect((await older.ended).code).toBe(130);
  });
});
