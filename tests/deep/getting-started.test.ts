import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { ROOT, temporaryFolder } from '../support/support.ts';

test('every command of docs/getting-started.md works as a new user types it, and prints what the page shows', () => {
  const page = readFileSync(path.join(ROOT, 'docs/getting-started.md'), 'utf8');
  const blocks = [...page.matchAll(/^ *```(\w*)\n([\s\S]*?)^ *```$/gm)];
  const textsIn = (language: string): string[] =>
    blocks.filter(([, word]) => word === language).map(([, , text = '']) => text);
  const commands = textsIn('sh').flatMap(text => text.trim().split('\n'));
  expect(commands).toEqual(expect.arrayContaining(['npm pack', 'proctor init --yes', 'proctor test', 'proctor view']));
  const [home, prefix] = [temporaryFolder(), temporaryFolder()];
  mkdirSync(path.join(prefix, 'lib'));
  const env = {
    ...process.env,
    NO_COLOR: '1',
    DISPLAY: '',
    WAYLAND_DISPLAY: '',
    BROWSER: '',
    PATH: `${path.join(prefix, 'bin')}:${process.env['PATH']}`,
    npm_config_prefix: prefix,
    npm_config_pack_destination: home,
    // The checkout is already built, and other tests use its files.
    npm_config_ignore_scripts: 'true',
  };
  let cwd = home;
  let printed = '';
  for (const line of commands) {
    const command = line.trim();
    const [, folder] = /^cd (\S+)$/.exec(command) ?? [];
    if (folder !== undefined) {
      cwd = path.join(cwd, folder);
      continue;
    }
    const [, exit = '0'] = /# exit code (\d+)$/.exec(command) ?? [];
    const { status, stdout } = spawnSync('sh', ['-c', `{ ${command}\n} 2>&1`], {
      cwd: command === 'npm pack' ? ROOT : cwd,
      env,
      encoding: 'utf8',
    });
    expect({ command, status }, stdout).toEqual({ command, status: Number(exit) });
    printed += stdout;
  }
  const shown = textsIn('').flatMap(text => text.trimEnd().split('\n'));
  expect(shown.length).toBeGreaterThan(10);
  expect(shown.map(line => line.replace(/ …$/, '')).filter(line => !printed.includes(line))).toEqual([]);
  const cases = readFileSync(path.join(cwd, 'proctor/cases.yaml'), 'utf8');
  for (const text of textsIn('yaml')) expect(cases).toContain(text);
});
