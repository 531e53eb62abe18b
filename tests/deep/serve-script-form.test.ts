/** The form of a published script in a browser. */
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { stateFolder } from '../../src/base/state-folder.ts';
import { closeLauncher } from '../../src/verbs/launcher.ts';
import { publishScript } from '../../src/verbs/publish/publish.ts';
import { PublishWorld } from '../publish/world.ts';
import { findings, launch } from '../reports/browser.ts';
import { servedUntilStopped } from '../support/serve.ts';

let browser: Browser;
beforeAll(async () => {
  browser = await launch();
});
afterAll(async () => {
  await browser.close();
  await closeLauncher();
});

/** The page of a published script with these inputs. */
async function formOf(inputs: readonly object[]) {
  const world = new PublishWorld();
  world.script({ inputs });
  await publishScript('tool', { cwd: world.cwd });
  const project = await servedUntilStopped(world.cwd);
  onTestFinished(() => project.stop());
  const context = await browser.newContext();
  onTestFinished(() => context.close());
  const page = await context.newPage();
  await page.goto(`${project.origin}/scripts/echo#secret=${project.secret}`);
  const run = page.getByRole('button', { name: 'Run', exact: true });
  await run.waitFor();
  return { page, run, world, project };
}

test('a user can clear an optional input that has a default', async () => {
  const { page, run, world } = await formOf([
    { kind: 'text', name: 'word', label: 'Word', default: 'hello' },
    { kind: 'number', name: 'least', label: 'Least', default: 1 },
    { kind: 'date', name: 'since', label: 'Since', default: '2026-01-31' },
    { kind: 'choice', name: 'size', label: 'Size', choices: ['S', 'M'], default: 'M' },
    { kind: 'text', name: 'kept', label: 'Kept', default: 'as it is' },
  ]);
  for (const name of ['Word', 'Least', 'Since']) await page.getByLabel(name).fill('');
  await page.getByLabel('Size').selectOption('');
  await run.click();
  await page.getByText('inputs.json').waitFor();
  const id = new URL(page.url()).pathname.split('/').at(-1) ?? '';
  const inputs = path.join(world.home, 'runs/script', id, 'output/inputs.json');
  expect(JSON.parse(readFileSync(inputs, 'utf8'))).toEqual({
    word: null,
    least: null,
    since: null,
    size: null,
    kept: 'as it is',
  });
});

test('says that the scan rejected a file', async () => {
  const scan = path.join(stateFolder(), 'scan.json');
  mkdirSync(stateFolder(), { recursive: true, mode: 0o700 });
  writeFileSync(scan, JSON.stringify({ command: ['false', '{file}'] }), { mode: 0o600 });
  onTestFinished(() => rmSync(scan, { force: true }));
  const { page, run } = await formOf([]);
  await run.click();
  await page.getByText('withheld: the scan of the operator rejected it').waitFor();
  expect(await page.getByRole('link', { name: 'inputs.json' }).count()).toBe(0);
});

test('shows why the server refuses a value at its field, and goes there', async () => {
  const { page, run } = await formOf([
    { kind: 'text', name: 'word', label: 'Word', default: 'hello' },
    { kind: 'text', name: 'code', label: 'Code', pattern: '[0-9]+', help: 'From the letter.' },
  ]);
  const [word, code] = [page.getByLabel('Word'), page.getByLabel('Code')];
  const described = (field: typeof code): Promise<string> =>
    field.evaluate(one => {
      const ids = one.getAttribute('aria-describedby')?.split(' ') ?? [];
      return ids.map(id => document.getElementById(id)?.textContent ?? '').join('|');
    });
  await code.fill('x');
  await run.click();
  await page.getByRole('alert').filter({ hasText: 'The inputs do not fit the script.' }).waitFor();
  expect(await described(code)).toBe('From the letter.|This text does not have the expected form.');
  expect(await code.getAttribute('aria-invalid')).toBe('true');
  expect([await described(word), await word.getAttribute('aria-invalid')]).toEqual(['|', 'false']);
  await expect.poll(() => code.evaluate(one => one === document.activeElement)).toBe(true);
  expect(await findings(page)).toEqual([]);
  await code.fill('42');
  await run.click();
  await page.getByText('inputs.json').waitFor();
});
