import { request } from 'node:http';
import path from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { type Browser, chromium } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { Tokens } from '../../src/serve/access/tokens.ts';
import { ROUTES } from '../../src/serve/routes/index.ts';
import { serverFolder } from '../../src/serve/state/server-folder.ts';
import { launch } from '../reports/browser.ts';
import { Place } from '../support/runs.ts';
import { type ServedProject, servedUntilStopped } from '../support/serve.ts';
import { CONTROLS, Counting, expectCalm, showed, signedIn, TEXT, watched } from './hostile-pages.ts';

const world = new Place();
let browser: Browser;
let project: ServedProject;
/** A server that must not get a request. */
let trap: Counting;
/** A run of a script. */
let id: string;
/** What the helpers of hostile pages need. */
const here = () => ({ browser, project, trap });

beforeAll(async () => {
  browser = await launch();
  trap = await Counting.start();
  publish();
  const ran = world.proctor(['run', 'script', world.file('a.py', PRINTS)]);
  id = path.basename(world.runFolders()[0] ?? '');
  expect(id, ran.stderr).not.toBe('');
  project = await servedUntilStopped(world.cwd);
});
afterEach(() => Promise.all(browser.contexts().map(context => context.close())));
afterAll(async () => {
  await browser.close();
  await project.stop();
  trap.close();
  world.remove();
});

const PRINTS = `import proctor_tool
text = ${JSON.stringify(TEXT)}
print(text)
print(text + 'x' * 1_000_000)
proctor_tool.succeed()
`;

/** Everything that HTML can do to run, load, navigate, send or cover. */
const tricks = (at: string): string =>
  [
    `<p>the start of the page</p>`,
    `<body onload="top.hit=1" background="${at}/body">`,
    `<script>top.hit=1;fetch('${at}/script')</script>`,
    `<img src="${at}/img" srcset="${at}/srcset 2x" onerror="top.hit=1">`,
    `<meta http-equiv="refresh" content="0;url=${at}/refresh">`,
    `<form action="${at}/form"><input autofocus onfocus="this.form.submit()"><button>Send</button></form>`,
    `<a href="${at}/link" ping="${at}/ping" target="_top">link</a><a href="javascript:top.hit=1">js</a>`,
    `<a href="${at}/download" download>download</a><area href="${at}/area">`,
    `<iframe src="${at}/iframe"></iframe><iframe srcdoc="<script>top.hit=1</script>"></iframe>`,
    `<base href="${at}/base/" target="_top">`,
    `<link rel="stylesheet" href="${at}/css"><link rel="preconnect" href="${at}"><link rel="prefetch" href="${at}/pre">`,
    `<style>@import url(${at}/import);@font-face{font-family:x;src:url(${at}/font)}`,
    `body{background:url(${at}/background);font-family:x}*{position:fixed!important;inset:0;z-index:9999}</style>`,
    `<div style="background:url(${at}/style);position:fixed;inset:0;z-index:2147483647">cover</div>`,
    `<svg onload="top.hit=1"><script>top.hit=1</script><image href="${at}/svg"/><use href="${at}/use#x"/>`,
    `<foreignObject><img src="${at}/foreign"></foreignObject><animate onbegin="top.hit=1" attributeName="x"/></svg>`,
    `<math><mtext><table><mglyph><style><img src="${at}/mxss" onerror="top.hit=1"></style></mglyph></table></mtext></math>`,
    `<noscript><p title="</noscript><img src=${at}/noscript onerror=top.hit=1>"></noscript>`,
    `<video src="${at}/video" poster="${at}/poster" autoplay></video><audio src="${at}/audio" autoplay></audio>`,
    `<object data="${at}/object"></object><embed src="${at}/embed"><input type="image" src="${at}/image">`,
    `<details open ontoggle="top.hit=1"><summary>x</summary></details><marquee onstart="top.hit=1">m</marquee>`,
  ].join('\n');

const ODD_NAMES = ['n'.repeat(200), `a'b`, '..%2f..%2fetc', '-rf', '%00.html', 'a&b;c.svg'];
/** Each of these makes a run fail, because it is unsafe on some system. */
const UNSAFE_NAMES = ['gnp\u202eexe.txt', 'a\u0007b', 'CON', 'nul.txt', '<b>x'];
const namesScript = (names: readonly string[]): string =>
  `import proctor_tool\nfor name in ${JSON.stringify(names)}: open('output/' + name, 'w').write('x')\nproctor_tool.succeed()\n`;

function publish(): void {
  const script = (name: string, text: string, limits: object = {}): void => {
    const declared = { schema_version: 'published-script.v1', name, version: '1.0.0', title: `${name} <b>` };
    world.file(`${name}/script.yaml`, JSON.stringify({ ...declared, script: 'run.py', inputs: [], limits }));
    world.file(`${name}/run.py`, text);
    const published = world.proctor(['publish', path.join(world.cwd, name)]);
    expect(published.code, published.stderr).toBe(0);
  };
  const html = tricks(trap.origin) + tricks('/hit');
  script('tricks', `${PRINTS.replace('proctor_tool.succeed()', `proctor_tool.succeed(${JSON.stringify(html)})`)}`);
  script('names', namesScript(ODD_NAMES));
  for (const [index, name] of UNSAFE_NAMES.entries()) script(`unsafe-${index}`, namesScript([name]));
  const files = "for n in range(10_000): open(f'output/{n}', 'w').close()\n";
  script('files', `import proctor_tool\n${files}proctor_tool.succeed('<p>done</p>')\n`, { max_files: 10_000 });
  const prints = "import os, proctor_tool\nos.system('head -c 1000000000 /dev/zero')\n";
  script('prints', `${prints}proctor_tool.succeed('<p>done</p>')\n`, { timeout: '120s' });
}

/** Runs a published script through the API, and returns the id of its run. */
async function ranScript(name: string): Promise<{ readonly id: string; readonly view: Record<string, unknown> }> {
  const { body } = await project.json(`/v1/scripts/${name}/runs?version=1.0.0`, {
    method: 'POST',
    body: new FormData(),
  });
  const { run_id: id } = body as { run_id: string };
  const look = async () => (await project.json(`/v1/script-runs/${id}`)).body as Record<string, unknown>;
  await expect.poll(async () => (await look())['state'], { timeout: 120_000 }).not.toMatch(/waiting|running/);
  return { id, view: await look() };
}

describe('hostile content in the viewer', () => {
  test('HTML of a published script runs, loads, sends, opens and covers nothing', async () => {
    const { id: tricked } = await ranScript('tricks');
    const seen = await watched(here());
    const { page } = seen;
    for (const at of [`/script-runs/${tricked}`, `/runs/${tricked}`]) {
      await showed(here(), at, seen);
      if (at.startsWith('/runs/')) await page.getByRole('button', { name: 'Show as a page, without scripts' }).click();
      expect(await page.locator('iframe').first().getAttribute('sandbox')).toBe('');
      const frame = page.frameLocator('iframe').first();
      await frame.getByText('the start of the page').first().waitFor({ state: 'attached' });
      for (const text of ['link', 'js', 'download'])
        await frame
          .getByText(text, { exact: true })
          .first()
          .click({ force: true, timeout: 500 })
          .catch(() => undefined);
      for (const width of [1280, 390]) {
        await page.setViewportSize({ width, height: 800 });
        await expectCalm(here(), seen, at);
        const out = page.getByRole('button', { name: 'Sign out' });
        await out.scrollIntoViewIfNeeded();
        const isOnTop = await out.evaluate(element => {
          const { left, top, width, height } = element.getBoundingClientRect();
          return element.contains(document.elementFromPoint(left + width / 2, top + height / 2));
        });
        expect(isOnTop).toBe(true);
      }
    }
  });

  test('names of files cannot leave their folder, hide, or set headers', async () => {
    const { id, view } = await ranScript('names');
    const files = view['files'] as { readonly path: string; readonly name: string }[];
    expect(files.length).toBe(ODD_NAMES.length);
    for (const index of UNSAFE_NAMES.keys())
      expect((await ranScript(`unsafe-${index}`)).view).toMatchObject({ state: 'failed', files: [] });
    for (const { path: file } of files) {
      const response = await project.ask(`/v1/script-runs/${id}/files/${encodeURIComponent(file)}`);
      const said = response.headers.get('content-disposition') ?? '';
      expect([file, response.status]).toEqual([file, 200]);
      expect(said).toMatch(/^attachment; filename="[^"\\/]+"; filename\*=UTF-8''[\w.%!~*'()-]+$/);
      expect(decodeURIComponent(said)).not.toMatch(CONTROLS);
      expect(response.headers.get('x-content-type-options')).toBe('nosniff');
      expect(response.headers.get('content-type')).not.toMatch(/html|svg|xml|javascript/);
      await response.arrayBuffer();
    }
    const seen = await showed(here(), `/script-runs/${id}`);
    await expectCalm(here(), seen, `/script-runs/${id}`);
    const names: string[] = [];
    for (const link of await seen.page.locator('a[download]').all()) {
      const download = seen.page.waitForEvent('download');
      await link.click();
      names.push((await download).suggestedFilename());
    }
    expect(names).toHaveLength(ODD_NAMES.length + 1);
    for (const name of names) expect(name).toMatch(/^[^\p{C}\\/:*?"<>|]+$/u);
  });

  test('10,000 files and 1 GB of output keep the server and the page small', async () => {
    const before = process.memoryUsage().rss;
    const [many, long] = [await ranScript('files'), await ranScript('prints')];
    expect(many.view).toMatchObject({ state: 'succeeded', files_omitted: 9_000 });
    const seen = await watched(here());
    for (const { id } of [many, long]) {
      for (const at of [`/script-runs/${id}`, `/runs/${id}`]) {
        await showed(here(), at, seen);
        await expectCalm(here(), seen, at);
        expect(await seen.page.locator('*').count()).toBeLessThan(20_000);
      }
      const page = await (await project.ask(`/v1/runs/${id}/page`)).text();
      expect(page.length).toBeLessThan(8 * 1024 ** 2);
    }
    expect(process.memoryUsage().rss - before).toBeLessThan(500 * 1024 ** 2);
  });
});

/** Asks with the path exactly as given. */
function rawAsk(at: string, headers: Record<string, string> = {}, method = 'GET') {
  const { port } = new URL(project.origin);
  return new Promise<{ readonly status: number; readonly body: string }>((resolve, reject) => {
    const asked = request({ host: '127.0.0.1', port, path: at, method, headers }, answer => {
      let body = '';
      answer.setEncoding('utf8').on('data', (text: string) => {
        body += text;
        if (body.length > 1e6) answer.destroy();
      });
      answer.on('close', () => resolve({ status: answer.statusCode ?? 0, body }));
    });
    asked.on('error', reject).end();
  });
}

describe('hostile requests', () => {
  const CANARY = 'canary-4f1c9a7be210';
  const UP = '../'.repeat(8);
  const paths = [
    '..',
    '.',
    '%2e%2e',
    '%252e%252e',
    '..%2f..%2fcanary.txt',
    '..%252f..%252fcanary.txt',
    `${UP}etc/passwd`,
    encodeURIComponent(`${UP}etc/passwd`),
    '%2fetc%2fpasswd',
    '//etc/passwd',
    '..\\..\\canary.txt',
    '..%5c..%5ccanary.txt',
    '%00',
    'canary.txt%00.png',
    '%c0%ae%c0%ae%2fcanary.txt',
    '%u002e%u002e',
    '%',
    'a'.repeat(10_000),
    '__proto__',
    'constructor',
  ];

  test('no path leads out of a GET route', async () => {
    world.file('canary.txt', CANARY);
    world.file('.proctor/canary.txt', CANARY);
    const authorization = `Bearer ${project.secret}`;
    const wrong: string[] = [];
    for (const { method, path: route, name } of ROUTES) {
      const params = [...route.matchAll(/\{(\w+)\}/g)].map(([whole]) => whole);
      if (method !== 'GET') continue;
      for (const param of params.length > 0 ? params : ['']) {
        for (const trick of paths) {
          const filled = param === '' ? `${route}/${trick}` : route.replace(param, trick);
          const at = filled.replaceAll('{run_id}', id).replace(/\{\w+\}/g, 'x');
          const { status, body } = await rawAsk(at, { authorization, host: new URL(project.origin).host });
          if (status >= 500 || body.includes(CANARY) || body.includes('root:x:') || body.includes(world.cwd))
            wrong.push(`${name} ${at.slice(0, 80)}: ${status} ${body.slice(0, 80)}`);
        }
      }
    }
    expect(wrong).toEqual([]);
  });

  test('wrong, foreign and expired tokens open nothing', async () => {
    const tokens = new Tokens(serverFolder(path.join(world.cwd, '.proctor')), systemClock);
    const { text: expired } = await tokens.create({ name: 'expired', role: 'admin', expiresInMs: 1_000 });
    await wait(1_100);
    const good = project.secret;
    for (const token of [expired, `${expired}x`, '', 'x', good.slice(0, -1), `${good}x`, good.toUpperCase()]) {
      const { status } = await rawAsk('/v1/runs', { authorization: `Bearer ${token}` });
      expect([token, status]).toEqual([token, 401]);
    }
  });

  test('a page of another origin can neither act nor read with the cookie of a signed-in person', async () => {
    const body = '{"name":"stolen","role":"admin"}';
    const attacker = await Counting.start(`<!doctype html><title>0</title>
<iframe src="${project.origin}/runs" onload="document.title += ' frame'"></iframe>
<form id="f" method="post" enctype="text/plain" target="n" action="${project.origin}/v1/tokens">
<input name='${body.slice(0, -1)},"a":"' value='"}'></form><iframe name="n"></iframe>
<script>
document.getElementById('f').submit();
const send = (path, init) => fetch('${project.origin}' + path, { credentials: 'include', ...init })
  .then(answer => answer.text()).then(text => text && (document.title = 'read ' + text), () => {});
Promise.all([
  send('/v1/tokens', { method: 'POST', mode: 'no-cors', body: '${body}', headers: { 'content-type': 'text/plain' } }),
  send('/v1/tokens', { method: 'POST', body: '${body}', headers: { 'content-type': 'application/json' } }),
  send('/v1/runs/${id}/cancel', { method: 'POST', mode: 'no-cors' }),
  send('/v1/runs'), send('/v1/tokens'), send('/v1/runs', { mode: 'no-cors' }),
]).then(() => setTimeout(() => { document.body.dataset.done = '1'; }, 500));
</script>`);
    try {
      const listed = async () => JSON.stringify((await project.json('/v1/tokens')).body);
      const before = await listed();
      const context = await signedIn(here());
      const page = await context.newPage();
      await page.goto(attacker.origin);
      await page.locator('body[data-done]').waitFor();
      expect(await page.title()).not.toContain('read');
      const framed = page.frames().map(frame => frame.url());
      expect(framed.filter(url => url.startsWith(project.origin) && !url.includes('/v1/tokens'))).toEqual([]);
      expect(await listed()).toBe(before);
    } finally {
      attacker.close();
    }
  });

  test('a name that points at this machine opens nothing', async () => {
    const rules = '--host-resolver-rules=MAP evil.test 127.0.0.1';
    const rebound = await chromium.launch({ executablePath: '/usr/bin/chromium', args: ['--no-sandbox', rules] });
    try {
      const page = await rebound.newPage();
      const { port } = new URL(project.origin);
      for (const at of ['/', '/runs', '/v1/runs', '/v1/session']) {
        const response = await page.goto(`http://evil.test:${port}${at}#secret=${project.secret}`);
        expect([at, response?.status()]).toEqual([at, 400]);
        expect(await response?.text()).toContain('wrong_host');
      }
    } finally {
      await rebound.close();
    }
  });
});
