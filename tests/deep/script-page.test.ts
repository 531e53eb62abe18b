import { cpSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import type { Browser } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { launch, opened, pictured } from '../reports/browser.ts';
import { looksWell, RunPages } from '../reports/run-page-world.ts';
import { endProcess, processesWith, until } from '../support/runs.ts';
import { ROOT } from '../support/support.ts';

const HOSTILE = `import os, sys, proctor_tool
def run_tool(i, o):
    print('\\x1b[1;32mPASS\\x1b[0m first')
    print('\\x1b[30;40mhidden?\\x1b[0m \\x1b[8mconcealed?\\x1b[0m')
    print('\\x1b]0;title\\x07\\x1b[2J\\x1b[9999999999C \\u202egnp.exe <script>window.hit = 1</script>')
    print('\\x1b[31ma\\x1b[32mb' * 5_000)
    for n in range(400): print(f'line {n}')
    print('Traceback: \\x1b[31mno rows\\x1b[0m', file=sys.stderr)
    for name in ['a.csv', 'page.htm', 'name with spaces.PNG']:
        open(os.path.join(o, name), 'w').write('x' * 2_000)
    return '''<h1 onclick="top.hit=1">Report</h1><style>h1 { color: rgb(1, 2, 3) }</style>
<script>top.hit = 1; document.title = 'hit'</script><img src="http://127.0.0.1:9/x.png">
<form action="http://127.0.0.1:9/"><input name="q"></form><p>3 rows</p>'''
proctor_tool.run(run_tool)
`;

const FLOOD = `#!/bin/sh
yes 'a line of the flood' | head -c 100000000
echo 'the last line' >&2
exit 3
`;

const SECRET = `import os, proctor_tool
print('The token is', os.environ['TOKEN'])
open('output/leak.txt', 'w').write(os.environ['TOKEN'])
proctor_tool.succeed()
`;

const world = new RunPages();
const pages: Record<string, string> = {};
let browser: Browser;
beforeAll(async () => {
  browser = await launch();
  world.file('hostile.py', HOSTILE);
  world.file('flood.sh', FLOOD);
  world.file('secret.py', SECRET);
  world.file('slow.sh', 'sleep 60\n');
  const example = (name: string): string => path.join(ROOT, 'examples', name);
  const limits = ['--timeout', '20s', '--memory', '512m'];
  pages['report'] = world.page(['script', example('report.py'), '--input', example('orders.csv'), ...limits]);
  pages['refused'] = world.page(['script', example('hostile.py')]);
  pages['hostile'] = world.page(['script', 'hostile.py', '--', '--name', '\u202egnp.exe', "it's"]);
  pages['flood'] = world.page(['script', 'flood.sh']);
  pages['timeout'] = world.page(['script', 'slow.sh', '--timeout', '1s']);
  pages['secret'] = world.page(['script', 'secret.py', '--secret', 'TOKEN'], { TOKEN: 'hunter2-hunter2-hunter2' });
});
afterEach(() => Promise.all(browser.contexts().map(context => context.close())));
afterAll(async () => {
  await browser.close();
  world.remove();
});

const shown = (name: string, hash = '') => opened(browser, pages[name] ?? '', hash);

looksWell(
  'a script',
  () => browser,
  () => pages['report'] ?? '',
);
looksWell(
  'a hostile script',
  () => browser,
  () => pages['hostile'] ?? '',
  ['dark', 'phone'],
);

describe('the page of a script', () => {
  test('shows the verdict first, then the result, the limits and the evidence', async () => {
    const { page } = await shown('report');
    expect(await page.title()).toBe('Succeeded · Script run · Proctor');
    expect(await page.locator('h1').innerText()).toBe('report.py exited with code 0.');
    const limits = page.getByRole('region', { name: 'Limits and usage' });
    expect(await limits.innerText()).toMatch(/Time\s+[\d.]+ m?s of 20 s[\s\S]*Memory\s+[\s\S]* of 512 MiB/);
    expect(await limits.innerText()).toContain('as requested');
    expect(await page.getByRole('region', { name: 'Sandbox', exact: true }).innerText()).toMatch(
      /Network[\s\S]*Passed:/,
    );
    expect(await page.getByRole('region', { name: 'Request' }).innerText()).toMatch(
      /orders\.csv\s+\d+ B, [a-f0-9]{12}/,
    );
    expect(await page.getByRole('region', { name: 'Evidence' }).innerText()).toContain('verifies: every file matches');
  });

  test('puts the claim of the script beside what Proctor saw', async () => {
    const { page } = await shown('refused');
    expect(await page.locator('h1').innerText()).toContain('It claims success, but the run failed.');
    const result = await page.getByRole('region', { name: 'Result' }).innerText();
    expect(result).toMatch(/not allowed[\s\S]*Proctor says\s+failed\s+Script says\s+succeeded/);
    expect(result).toContain('artifact_type_forbidden');
  });

  test('shows a limit that the run reached', async () => {
    const { page } = await shown('timeout');
    expect(await page.locator('h1').innerText()).toBe('Proctor stopped slow.sh at its time limit of 1 s.');
    expect(await page.getByRole('region', { name: 'Limits and usage' }).innerText()).toContain('at the limit');
  });

  test('shows colours, and every other character that a program could hide', async () => {
    const { page } = await shown('hostile');
    const lines = page.getByRole('region', { name: 'Lines of stdout' });
    expect(await lines.locator('.ansi-green').first().innerText()).toBe('PASS');
    const texts = await lines.locator('.line-text').allInnerTexts();
    expect(texts[1]).toBe('hidden? concealed?');
    expect(texts[2]).toContain('U+001B]0;titleU+0007U+001B[2J');
    expect(texts[2]).toContain('U+202E');
    expect(texts[2]).toContain('<script>');
    expect(await page.evaluate('window.hit')).toBeUndefined();
  });

  test('shows the terminal sequences on request', async () => {
    const { page } = await shown('hostile');
    await page.getByRole('button', { name: 'Show terminal sequences' }).click();
    expect(page.url()).toContain('raw=sequences');
    const first = page.getByRole('region', { name: 'Lines of stdout' }).locator('.line-text').first();
    expect(await first.innerText()).toBe('U+001B[1;32mPASSU+001B[0m first');
  });

  test('says how much of a flood it shows, numbers the lines of the file, and stays small', async () => {
    const { page } = await shown('flood');
    const stdout = page.locator('.stream').filter({ hasText: 'stdout' });
    expect(await stdout.innerText()).toContain('Proctor kept the first and last part: 195.3 KiB of 95.4 MiB.');
    expect(await stdout.locator('.gap').textContent()).toMatch(/^[\d,]+ lines left out$/);
    expect(await stdout.locator('ol > li:not(.gap)').count()).toBe(2_000);
    const folder = world
      .runFolders()
      .find(one => readFileSync(path.join(one, 'evidence/request.json'), 'utf8').includes('flood.sh'));
    const stored = readFileSync(path.join(folder ?? '', 'evidence/steps/script/stdout.txt'), 'utf8')
      .trimEnd()
      .split('\n');
    expect(await stdout.locator('.line-number').last().textContent()).toBe(`${stored.length}`);
    expect(statSync(pages['flood'] ?? '').size).toBeLessThan(1_000_000);
    // A failed run shows stderr first.
    expect(await page.locator('.stream').first().innerText()).toContain('the last line');
  });

  test('finds lines, keeps the search in the address, and says if there is no match', async () => {
    const { page } = await shown('hostile');
    const search = page.getByRole('searchbox', { name: 'Find in the printed output' });
    await search.fill('LINE 399');
    const lines = page.getByRole('region', { name: 'Lines of stdout' }).locator('li');
    await expect.poll(() => lines.count()).toBe(1);
    expect(await lines.locator('mark').innerText()).toBe('line 399');
    await page.reload();
    expect(await search.inputValue()).toBe('LINE 399');
    await search.fill('no such words');
    await expect.poll(() => page.locator('.stream').filter({ hasText: 'stdout' }).innerText()).toContain('No line of');
  });

  test('links to a line', async () => {
    const { page } = await shown('hostile', '#at=stdout-300');
    const line = page.locator('#stdout-300');
    await expect.poll(() => line.isVisible()).toBe(true);
    expect(await line.getAttribute('aria-current')).toBe('true');
    const box = await line.boundingBox();
    expect(box && box.y > 0 && box.y < 900).toBe(true);
  });

  test('shows HTML as text until the reader asks, then in a frame without rights', async () => {
    const { page, asked } = await shown('hostile');
    expect(await page.locator('.html-text').innerText()).toContain('<h1 onclick="top.hit=1">Report</h1>');
    expect(await page.locator('iframe').count()).toBe(0);
    await page.getByRole('button', { name: 'Show as a page, without scripts' }).click();
    const frame = page.frameLocator('iframe');
    expect(await frame.locator('h1').innerText()).toBe('Report');
    expect(await frame.locator('h1').evaluate(node => getComputedStyle(node).color)).toBe('rgb(1, 2, 3)');
    expect(await page.locator('iframe').getAttribute('sandbox')).toBe('');
    expect(await frame.locator('script, form, input, [onclick], img[src]').count()).toBe(0);
    expect(await page.evaluate('window.hit')).toBeUndefined();
    expect(await page.title()).not.toBe('hit');
    expect(asked).toEqual([]);
    await pictured(page, 'run-script-html');
  });

  test('lists output files with types and digests, and without links to them', async () => {
    const { page } = await shown('hostile');
    const files = page.getByRole('region', { name: 'Output files', exact: true });
    expect(await files.innerText()).toMatch(/page\.htm\s+page, HTML\s+2 KiB\s+[a-f0-9]{12}/);
    expect(await files.innerText()).toContain('image, PNG');
    expect(await files.locator('table a, img').count()).toBe(0);
  });

  test('masks secrets, and marks files that contain one', async () => {
    const { page } = await shown('secret');
    const text = await page.locator('body').innerText();
    expect(text).toContain('The token is [masked]');
    expect(text).toContain('Proctor masked 1 secret.');
    expect(text).toMatch(/leak\.txt\s+Needs review: contains a declared secret/);
    expect(readFileSync(pages['secret'] ?? '', 'utf8')).not.toContain('hunter2');
  });

  test('offers commands that work, and none with characters that a reader cannot see', async () => {
    const { page } = await shown('report');
    const commands = await page.locator('.copyable code').allInnerTexts();
    expect(commands.at(-1)).toBe('proctor run script report.py --input orders.csv --timeout 20s --memory 536870912');
    for (const command of commands.slice(0, 3)) {
      const ran = world.proctor(command.split(' ').slice(1));
      expect(ran.code, command + ran.stderr).toBe(0);
    }
    const { page: other } = await shown('hostile');
    expect(await other.locator('.copyable code').allInnerTexts()).toHaveLength(3);
  });

  test('works with the keyboard alone', async () => {
    const { page } = await shown('hostile');
    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    expect(await page.evaluate('document.activeElement.id')).toBe('main');
    const search = page.getByRole('searchbox');
    for (let presses = 0; presses < 10 && !(await search.evaluate(node => node === document.activeElement)); presses++)
      await page.keyboard.press('Tab');
    await page.keyboard.type('concealed');
    const lines = page.getByRole('region', { name: 'Lines of stdout' }).locator('li');
    await expect.poll(() => lines.count()).toBe(1);
    const button = page.getByRole('button', { name: 'Show as a page, without scripts' });
    await button.focus();
    await page.keyboard.press('Enter');
    await page.locator('iframe').waitFor();
  });

  test('shows everything on paper', async () => {
    const { page } = await shown('report');
    await page.emulateMedia({ media: 'print' });
    await expect.poll(() => page.locator('details:not([open])').count()).toBe(0);
    expect(await page.locator('.copyable button').first().isVisible()).toBe(false);
    expect(await page.locator('.digest-rest').first().isVisible()).toBe(true);
    expect((await page.pdf()).length).toBeGreaterThan(10_000);
  });
});

describe('the page of a run folder that does not verify', () => {
  test('warns before anything else', async () => {
    const folder =
      world.runFolders().find(one => readFileSync(path.join(one, 'result.json'), 'utf8').includes('rows')) ?? '';
    const copy = path.join(world.cwd, 'copy');
    cpSync(folder, copy, { recursive: true });
    writeFileSync(path.join(copy, 'evidence/steps/script/stdout.txt'), 'all is well\n');
    const { page } = await opened(browser, world.pageOf('./copy'));
    expect(await page.locator('.word').innerText()).toBe('Does not verify');
    expect(await page.locator('h1').innerText()).toMatch(/^The evidence was changed or is incomplete/);
    expect(await page.getByRole('region', { name: 'Evidence' }).innerText()).toContain('does not verify');
  });
});

describe('the page of an unfinished script', () => {
  test('shows what is known while it runs, after a kill, and after recovery', async () => {
    const place = new RunPages();
    place.file('nap.sh', 'echo begun\nsleep 61.25\n');
    const started = place.start(['run', 'script', 'nap.sh', '--timeout', '2m', '--', 'one']);
    await until('the script runs', () => processesWith('61.25').length > 0);
    const running = await opened(browser, place.pageOf('latest'));
    expect(await running.page.locator('.word').innerText()).toBe('Running');
    expect(await running.page.getByRole('region', { name: 'Request' }).innerText()).toMatch(/nap\.sh[\s\S]*one/);
    const launcher = started.launcher();
    started.kill('SIGKILL');
    await started.ended;
    if (launcher !== undefined) endProcess(launcher);
    await until('the script has ended', () => processesWith('61.25').length === 0);
    const dead = await opened(browser, place.pageOf('latest'));
    expect(await dead.page.locator('.word').innerText()).toBe('Interrupted');
    expect(await dead.page.locator('.copyable code').first().innerText()).toBe('proctor recover');
    expect(dead.complaints).toEqual([]);
    place.proctor(['recover']);
    const recovered = await opened(browser, place.pageOf('latest'));
    expect(await recovered.page.locator('h1').innerText()).toContain('did not see how nap.sh ended');
    const result = await recovered.page.getByRole('region', { name: 'Result' }).innerText();
    expect(result).toMatch(/proctor recover completed it on [\s\S]*Unknown: how it ended/);
    expect(await recovered.page.getByRole('region', { name: 'Output files', exact: true }).innerText()).toContain(
      'unknown',
    );
    place.remove();
  });
});
