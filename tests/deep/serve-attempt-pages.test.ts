import { existsSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { findings, launch, overflow, pictured } from '../reports/browser.ts';
import { place, until } from '../support/runs.ts';
import { servedUntilStopped } from '../support/serve.ts';

const ANSWER = `#!/bin/sh
echo thinking >&2
while [ ! -e GO ]; do sleep 0.05; done
echo '{"final_output":{"content_type":"text","content":"yes"}}'
`;

test('a suite names the run that answers a case when it starts, and its page is live, and stays when the case ends', async () => {
  const here = place();
  const go = path.join(here.cwd, 'go');
  here.file('answer.sh', ANSWER.replace('GO', go), 0o755);
  here.file('cases.json', '[{"id":"one","input":{"user":"one"}}]');
  const suite = ['run', 'suite', 'cases.json', '--script', 'answer.sh', '--as', 'new', '--run-id', 's1'];
  const running = here.start([...suite, '--sandbox', 'none', '--retries', '0']);
  onTestFinished(async () => {
    running.kill('SIGINT');
    await running.ended;
  });
  const attempts = path.join(here.cwd, '.proctor', 'attempts', 'runs', 'script');
  await until('the script runs', () => existsSync(attempts) && readdirSync(attempts).length === 1);
  const project = await servedUntilStopped(here.cwd);
  onTestFinished(() => project.stop());
  const browser = await launch();
  onTestFinished(() => browser.close());
  const page = await (await browser.newContext()).newPage();
  const refused: string[] = [];
  page.on('response', response => void (response.status() >= 400 && refused.push(response.url())));
  await page.goto(`${project.origin}/runs/s1#secret=${project.secret}`);
  const latest = page.getByRole('region', { name: 'Latest' });
  await latest.getByText('The run for one has started.').waitFor();
  await latest.getByRole('link', { name: 'its run' }).click();
  const verdict = page.getByRole('region', { name: 'Verdict' });
  await page.getByLabel('Newest output').getByText('thinking').waitFor();
  expect(await verdict.getByRole('button', { name: 'Cancel' }).count()).toBe(0);
  await pictured(page, 'live-attempt');
  expect(await findings(page)).toEqual([]);
  expect(await overflow(page)).toBeLessThanOrEqual(0);
  here.file('go', '');
  await verdict.getByRole('link', { name: 'Evidence' }).click();
  await page.getByText('Seal and signature').waitFor();
  expect(new URL(page.url()).pathname).toBe(`/runs/${readdirSync(attempts)[0]}/evidence`);
  await page.getByRole('link', { name: 'Files' }).click();
  await page.locator('table [data-row]').first().waitFor();
  expect(refused).toEqual([]);
  expect((await running.ended).code).toBe(0);
});
