import { spawn } from 'node:child_process';
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { launch, opened } from '../reports/browser.ts';
import { ROOT } from '../support/support.ts';
import { projectFolder, WORSE } from '../verbs/test/world.ts';

test('the commands of a real comparison work when pasted', async () => {
  const cwd = projectFolder();
  const bin = path.join(cwd, 'bin');
  mkdirSync(bin);
  symlinkSync(path.join(ROOT, 'dist', 'proctor.js'), path.join(bin, 'proctor'));
  const shell = (command: string) => ran(command, cwd, bin);
  expect((await shell('proctor test --accept')).code).toBe(0);
  writeFileSync(path.join(cwd, 'agent.mjs'), WORSE);
  expect((await shell('proctor test')).code).toBe(1);
  const report = path.join(cwd, '.proctor/reports/test/desk/report.html');
  const browser = await launch();
  onTestFinished(() => browser.close());
  const { page } = await opened(browser, report, '#case=returns');
  const commands = await page.locator('.commands code').allInnerTexts();
  expect(commands.map(text => text.split(' ')[1])).toEqual(['test', 'resend', 'try', 'show']);
  const [again, resent, tried, shown] = await Promise.all(commands.map(shell));
  expect(again).toMatchObject({ code: 1, stdout: expect.stringContaining('returns') });
  expect(resent).toMatchObject({ code: 0 });
  expect(tried).toMatchObject({ code: 0, stdout: expect.stringContaining('14 days') });
  expect(shown).toMatchObject({ code: 0, stdout: expect.stringContaining('returns') });
});

interface Ended {
  readonly code: number | null;
  readonly stdout: string;
}

/** Runs a command as if it were pasted into a terminal. */
function ran(command: string, cwd: string, bin: string): Promise<Ended> {
  const child = spawn('bash', ['-c', command], {
    cwd,
    env: { ...process.env, NO_COLOR: '1', PATH: `${bin}:${process.env['PATH']}` },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let stdout = '';
  child.stdout.setEncoding('utf8').on('data', text => {
    stdout += text;
  });
  return new Promise(resolve => void child.once('close', code => resolve({ code, stdout })));
}
