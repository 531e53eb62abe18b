import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import type { Browser } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { launch, opened } from '../reports/browser.ts';
import { looksWell, RunPages } from '../reports/run-page-world.ts';
import { ROOT } from '../support/support.ts';

const BROKEN = {
  goal: 'Fail & "on" \u202epurpose',
  constraints: ['be nice', '<img src=x onerror=hit=1>'],
  commands: [
    { argv: ['node', '-e', "console.log('\u001b[32mone\u001b[0m')"] },
    { argv: ['node', '-e', "console.error('boom'); process.exit(4)"] },
    { argv: ['node', '-e', '1'] },
  ],
  outputs: ['out/a.txt'],
  accept: [
    { check: 'exit_code', equals: 0 },
    { check: 'content_matches', path: 'out/a.txt', pattern: '^done' },
  ],
};

const world = new RunPages();
const pages: Record<string, string> = {};
let browser: Browser;
beforeAll(async () => {
  browser = await launch();
  world.file('broken.json', JSON.stringify(BROKEN));
  for (const name of ['build-config', 'vague', 'forbidden'])
    world.file(`${name}.json`, readFileSync(path.join(ROOT, 'examples', 'intent', `${name}.json`)));
  const execute = ['--mode', 'execute-sandbox'];
  pages['planned'] = world.page(['intent', 'build-config.json', '--policy', 'strict']);
  pages['accepted'] = world.page(['intent', 'build-config.json', '--policy', 'strict', ...execute]);
  pages['clarify'] = world.page(['intent', 'vague.json', ...execute]);
  pages['refused'] = world.page(['intent', 'forbidden.json', ...execute]);
  pages['broken'] = world.page(['intent', 'broken.json', ...execute]);
});
afterEach(() => Promise.all(browser.contexts().map(context => context.close())));
afterAll(async () => {
  await browser.close();
  world.remove();
});

const shown = (name: string) => opened(browser, pages[name] ?? '');

looksWell(
  'an accepted intent',
  () => browser,
  () => pages['accepted'] ?? '',
);
looksWell(
  'an intent with questions',
  () => browser,
  () => pages['clarify'] ?? '',
  ['light', 'phone-dark'],
);
looksWell(
  'a failed intent',
  () => browser,
  () => pages['broken'] ?? '',
  ['dark', 'phone'],
);

describe('the page of an intent', () => {
  test('shows BUNDLE, the checks, the plan and the outputs', async () => {
    const { page } = await shown('accepted');
    expect(await page.title()).toBe('BUNDLE, accepted · Intent run · Proctor');
    expect(await page.getByRole('region', { name: 'Checks' }).innerText()).toMatch(/all passed[\s\S]*exit_code/);
    const plan = await page.getByRole('region', { name: 'Plan', exact: true }).innerText();
    expect(plan).toMatch(/complete[\s\S]*node build\.mjs\s+ended with 0[\s\S]*defaults\.json[\s\S]*out\/config\.json/);
    const bounds = await page.getByRole('region', { name: 'Limits and constraints' }).innerText();
    expect(bounds).toMatch(/Time\s+20 s\s+30 s\s+20 s[\s\S]*Network\s+default\s+no\s+no[\s\S]*within 20 seconds/);
    expect(await page.getByRole('region', { name: 'Outputs', exact: true }).innerText()).toMatch(
      /out\/config\.json[\s\S]*56 B/,
    );
    expect(await page.locator('.copyable code').allInnerTexts()).toContainEqual(
      expect.stringMatching(/^proctor reproduce intent_/),
    );
  });

  test('says that a plan was not executed', async () => {
    const { page } = await shown('planned');
    expect(await page.locator('h1').innerText()).toContain('Nothing ran');
    expect(await page.getByRole('region', { name: 'Checks' }).innerText()).toContain('not made, because nothing ran');
    expect(await page.getByRole('region', { name: 'Printed output' }).count()).toBe(0);
  });

  test('shows CLARIFY with its questions and a command that accepts the answers', async () => {
    const { page } = await shown('clarify');
    expect(await page.locator('.word').innerText()).toBe('CLARIFY');
    const questions = page.getByRole('region', { name: 'Questions' });
    expect(await questions.locator('.questions li').count()).toBe(3);
    const [template = '', command = ''] = await questions.locator('.copyable code').allInnerTexts();
    const answers = {
      version: '2.4.0',
      'constraints[0] or limits.timeout_ms': 'constraints[0]',
      'outputs[1].command': false,
    };
    expect(Object.keys(JSON.parse(template))).toEqual(Object.keys(answers));
    writeFileSync(path.join(world.cwd, 'answers.json'), JSON.stringify(answers));
    const ran = world.proctor(command.split(' ').slice(1));
    expect(ran.code, ran.stderr).toBe(0);
    expect(JSON.parse(ran.stdout)).toMatchObject({ kernel_result_kind: 'BUNDLE', decision: { accepted: true } });
  });

  test('shows REFUSE with the rule behind each reason', async () => {
    const { page } = await shown('refused');
    expect(await page.locator('.word').innerText()).toBe('REFUSE');
    const reasons = await page.locator('.reasons li').allInnerTexts();
    expect(reasons).toHaveLength(3);
    expect(reasons[0]).toMatch(/^PL6\s+commands\[0\]\.argv\[0\] runs "curl"/);
    expect(await page.getByRole('region', { name: 'Plan', exact: true }).count()).toBe(0);
  });

  test('shows which command failed, failed checks first, and hostile text as text', async () => {
    const { page } = await shown('broken');
    expect(await page.locator('.word').innerText()).toBe('BUNDLE, not accepted');
    const states = await page.locator('.steps-list li p').allInnerTexts();
    expect(states).toEqual(['ended with 0', 'failed', 'not run']);
    expect(await page.locator('.checks li').first().innerText()).toMatch(/^Failed/);
    expect(await page.getByRole('region', { name: 'Outputs', exact: true }).innerText()).toContain(
      'Missing: out/a.txt',
    );
    const text = await page.locator('body').innerText();
    expect(text).toContain('Fail & "on" U+202Epurpose');
    expect(text).toContain('<img src=x onerror=hit=1>');
    expect(await page.evaluate('window.hit')).toBeUndefined();
    expect(await page.locator('.stream').first().innerText()).toContain('boom');
  });

  test('shows everything on paper', async () => {
    const { page } = await shown('accepted');
    await page.emulateMedia({ media: 'print' });
    await expect.poll(() => page.locator('details:not([open])').count()).toBe(0);
    expect(await page.locator('.copyable button').first().isVisible()).toBe(false);
  });
});
