import path from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import type { ScriptRunView } from '../../src/publish/views.ts';
import type { ServerRole } from '../../src/serve/access/roles.ts';
import { Tokens } from '../../src/serve/access/tokens.ts';
import { ROUTES } from '../../src/serve/routes/index.ts';
import { serverFolder } from '../../src/serve/state/server-folder.ts';
import type { RunLogView } from '../../src/verbs/evidence/file-view.ts';
import { tendScriptRuns } from '../../src/verbs/publish/expire-runs.ts';
import { launch } from '../reports/browser.ts';
import { Place } from '../support/runs.ts';
import { type ServedProject, servedUntilStopped } from '../support/serve.ts';

const MIB = 1024 ** 2;
const DAY_MS = 86_400_000;
/** Words that only operators may read. */
const [PRINTED, WARNED] = ['printed-9c1f', 'warned-44d0'];
const PRINTED_BYTES = 20 * MIB;

let place: Place;
let project: ServedProject;
/** A text that Proctor masks in everything it stores. */
let secret: string;
const tokens = new Map<string, string>();
let run: ScriptRunView;
beforeAll(async () => {
  place = new Place();
  place.file('.proctor/settings.json', JSON.stringify({ kept_stdout_bytes: 25 * MIB, keep_logs: '90d' }));
  const kept = new Tokens(serverFolder(path.join(place.cwd, '.proctor')), systemClock);
  const create = async (name: string, role: ServerRole): Promise<string> =>
    tokens.set(name, (await kept.create({ name, role })).text).get(name) ?? '';
  await create('user', 'user');
  await create('other', 'user');
  await create('viewer', 'viewer');
  secret = await create('admin', 'admin');
  publish();
  project = await servedUntilStopped(place.cwd);
  run = await ran('user');
});
afterAll(async () => {
  await project.stop();
  place.remove();
});

/** A script that prints more than the page of a log shows, with a secret in the middle, and then fails. */
function publish(): void {
  const declared = { schema_version: 'published-script.v1', name: 'loud', version: '1.0.0', title: 'Loud' };
  const inputs = [{ kind: 'text', name: 'word', label: 'Word' }];
  place.file('loud/script.yaml', JSON.stringify({ ...declared, script: 'run.py', inputs, limits: { memory: '256m' } }));
  place.file(
    'loud/run.py',
    `import json, sys
word = json.load(open('input/inputs.json'))['word']
sys.stdout.write('${PRINTED}\\n' + 'ä' * (${PRINTED_BYTES} // 4) + '\\n' + word + '\\n' + 'ä' * (${PRINTED_BYTES} // 4))
raise RuntimeError('${WARNED} ' + __file__)
`,
  );
  expect(place.proctor(['publish', 'loud'])).toMatchObject({ code: 0 });
}

const as = (name: string) => ({ headers: { authorization: `Bearer ${tokens.get(name)}` } });

async function ran(name: string): Promise<ScriptRunView> {
  const form = new FormData();
  form.set('word', secret);
  const ordered = await project.json('/v1/scripts/loud/runs', { method: 'POST', body: form, ...as(name) });
  const { run_id: id } = ordered.body as { run_id: string };
  const view = async () => (await project.json(`/v1/script-runs/${id}`, as(name))).body as ScriptRunView;
  const events = await project.ask(`/v1/script-runs/${id}/events`, as(name));
  await events.text();
  return view();
}

describe('the printed output of a published script', () => {
  test('is not in what its user sees, who gets a reference instead', () => {
    expect(run).toMatchObject({ state: 'failed', correlation_id: expect.stringMatching(/^\w+$/) as string });
    expect(JSON.stringify(run)).not.toMatch(new RegExp(`${PRINTED}|${WARNED}|Traceback`));
  });

  test('is kept up to the setting, masked, and leads from the reference of its user to an admin', async () => {
    const { body } = await project.json(`/v1/logs/${run.correlation_id}`, as('admin'));
    const log = body as RunLogView;
    expect(log).toMatchObject({ run_id: run.run_id, correlation_id: run.correlation_id, is_expired: false });
    const [stdout, stderr] = log.streams;
    expect(stdout?.text).toMatch(new RegExp(`^${PRINTED}\\nä+$`));
    expect(stdout?.is_cut).toBe(true);
    expect(stdout?.bytes).toBeGreaterThan(PRINTED_BYTES);
    expect(stderr?.text).toContain(WARNED);
    const file = `/v1/runs/${run.run_id}/files/${encodeURIComponent(stdout?.path ?? '')}`;
    const whole = await (await project.ask(file, as('admin'))).text();
    expect(Buffer.byteLength(whole)).toBe(stdout?.bytes);
    expect(whole).not.toContain(secret);
    expect(whole.replaceAll('ä', '')).toMatch(new RegExp(`^${PRINTED}\\n\\n\\[[^\\n]+\\]\\n$`));
    expect(JSON.stringify(log)).not.toContain(secret);
  });

  test('has a page that shows its beginning and downloads all of it', async () => {
    await withBrowser('admin', async page => {
      await page.goto(`${project.origin}/logs/${run.correlation_id}`);
      const download = page.waitForEvent('download');
      await page.getByRole('link', { name: 'Download all of it (20 MiB)' }).click();
      expect((await download).suggestedFilename()).toBe('stdout.txt');
    });
  });

  test('is not for people below the role admin', async () => {
    for (const name of ['user', 'other', 'viewer'])
      for (const at of [`/v1/logs/${run.correlation_id}`, `/v1/runs/${run.run_id}/log`])
        expect([name, at, (await project.ask(at, as(name))).status]).toEqual([name, at, 403]);
  });
});

describe('a person with the role user', () => {
  test.each(['user', 'other'])('gets no log, printed output or path from any route: %s', async name => {
    const values: Readonly<Record<string, string>> = {
      run_id: run.run_id,
      correlation_id: run.correlation_id ?? '',
      name: 'loud',
      version: '1.0.0',
      file: encodeURIComponent('evidence/steps/script/stdout.txt'),
    };
    const statuses: number[] = [];
    for (const route of ROUTES.filter(({ method, role }) => method === 'GET' && role !== 'anyone')) {
      const at = route.path.replace(/\{(\w+)\}/g, (_, key: string) => values[key] ?? 'x');
      const response = await project.ask(at, as(name));
      const text = await response.text();
      for (const word of [PRINTED, WARNED, secret, place.cwd, 'Traceback', 'evidence/'])
        expect(text.includes(word), `${at} has ${word}`).toBe(false);
      if (route.role !== 'user') expect([at, response.status]).toEqual([at, 403]);
      if (route.path.startsWith('/v1/script-runs/')) statuses.push(response.status);
    }
    expect(new Set(statuses)).toEqual(new Set(name === 'user' ? [200, 404] : [404]));
  });

  test('gets none from any page', async () => {
    const views = ['', '/evidence', '/files', '/log'].map(view => `/runs/${run.run_id}${view}`);
    const others = ['/', '/history', '/verify', '/comparisons', '/settings', '/scripts', '/scripts/loud'];
    await withBrowser('user', async page => {
      for (const view of [...views, ...others, `/logs/${run.correlation_id}`, `/script-runs/${run.run_id}`]) {
        await page.goto(`${project.origin}${view}`);
        await page.locator('main h1').first().waitFor();
        const html = await page.content();
        for (const word of [PRINTED, WARNED, secret, place.cwd, 'Traceback'])
          expect(html.includes(word), `${view} has ${word}`).toBe(false);
        expect(await page.getByRole('link', { name: 'Log', exact: true }).count()).toBe(0);
      }
      await page.getByText(run.correlation_id ?? '', { exact: true }).waitFor();
    });
  });
});

test('retention removes the printed output, and the log says so', async () => {
  const { expired } = await tendScriptRuns(place.cwd, { nowMs: Date.now() + 91 * DAY_MS });
  expect(expired.map(({ what }) => what)).toEqual(['logs']);
  const log = async () => (await project.json(`/v1/logs/${run.correlation_id}`, as('admin'))).body as RunLogView;
  await expect.poll(async () => (await log()).is_expired).toBe(true);
  expect((await log()).streams.map(({ text, path: file }) => [text, file])).toEqual([
    [null, null],
    [null, null],
  ]);
  const file = encodeURIComponent('evidence/steps/script/stdout.txt');
  expect((await project.ask(`/v1/runs/${run.run_id}/files/${file}`, as('admin'))).status).toBe(410);
});

/** Signs in with a token. */
async function withBrowser(
  name: string,
  look: (page: Awaited<ReturnType<typeof newPage>>) => Promise<void>,
): Promise<void> {
  const browser = await launch();
  try {
    const page = await newPage(browser);
    await page.goto(`${project.origin}/scripts`);
    await page.getByLabel('Access token').fill(tokens.get(name) ?? '');
    await page.getByRole('button', { name: 'Sign in', exact: true }).click();
    await page.getByRole('button', { name: 'Sign out' }).waitFor();
    await look(page);
  } finally {
    await browser.close();
  }
}

const newPage = async (browser: Awaited<ReturnType<typeof launch>>) => (await browser.newContext()).newPage();
