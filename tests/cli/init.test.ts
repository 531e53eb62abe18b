import { spawn } from 'node:child_process';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { shellQuoted } from '../../src/base/shell.ts';
import { proctor, ROOT, temporaryFolder } from '../support/support.ts';

/** No agent is on this PATH. */
const env = { PATH: '/usr/bin:/bin' };

describe('proctor init without a terminal', () => {
  test('asks nothing, and prints what it wrote and the next two commands', () => {
    const cwd = temporaryFolder();
    const { code, stdout, stderr } = proctor(['init', '--kind', 'script'], { cwd, env, input: '2\n' });
    expect([code, stderr]).toEqual([0, '']);
    expect(stdout.split('\n').filter(line => line.length > 80)).toEqual([]);
    expect(stdout).toContain('tests an example script\n');
    for (const file of ['proctor.yaml', 'proctor/cases.yaml', 'script.mjs', '.gitignore'])
      expect(stdout).toContain(file);
    expect(stdout).toMatch(/ {2}next {3}proctor test {2}.*\n +proctor test --accept {2}.*\n$/);
  });

  test('prints one JSON document with --json', () => {
    const cwd = temporaryFolder();
    const { code, stdout } = proctor(['init', '--script', 'a.sh', '--json'], { cwd, env });
    expect([code, JSON.parse(stdout)]).toMatchObject([2, { ok: false, error: { code: 'no_script' } }]);
    writeFileSync(path.join(cwd, 'a.sh'), 'cat\n');
    const again = proctor(['init', '--script', 'a.sh', '--yes', '--json'], { cwd, env });
    expect(JSON.parse(again.stdout)).toEqual({
      name: path
        .basename(cwd)
        .toLowerCase()
        .replace(/[^a-z0-9]+/g, '-')
        .replace(/-$/, ''),
      kind: 'script',
      tests: 'the script a.sh',
      files: [
        { file: 'proctor.yaml', purpose: 'what to test, and when a test fails', action: 'created' },
        { file: 'proctor/cases.yaml', purpose: 'the first suite', action: 'created' },
        { file: '.gitignore', purpose: 'keeps .proctor/ out of git', action: 'created' },
      ],
      notes: [expect.stringContaining('a.sh does not read input/case.json')],
      next: ['proctor test', 'proctor test --accept'],
    });
  });

  test('suggests trying the target first if it guessed the request', () => {
    const cwd = temporaryFolder();
    writeFileSync(path.join(cwd, 'package.json'), '{"scripts":{"start":"node server.mjs"}}');
    const { code, stdout } = proctor(['init', '--yes', '--kind', 'http'], { cwd, env });
    expect(code).toBe(0);
    expect(stdout).toMatch(/ {2}next {3}proctor try agent "Hello" {2}.*\n +proctor test {2}/);
    expect(stdout.split('\n').filter(line => line.length > 80)).toEqual([]);
  });

  test('refuses a folder that is already set up, and names the file in the way', () => {
    const cwd = temporaryFolder();
    writeFileSync(path.join(cwd, 'proctor.yaml'), 'mine');
    const { code, stdout, stderr } = proctor(['init', '--yes'], { cwd, env });
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr).toContain('proctor.yaml already exists');
    expect(readdirSync(cwd)).toEqual(['proctor.yaml']);
  });
});

describe('proctor init in a terminal', () => {
  test('asks three questions, shows what it found, and asks again after an invalid answer', async () => {
    const cwd = temporaryFolder();
    const { code, screen } = await typed(cwd, [
      ['Number [1]: ', '7\r'],
      ['Answer 1, 2 or 3.', ''],
      ['Number [1]: ', '3\r'],
      ['Script file [an example]: ', '\r'],
      ['Name [', 'Totals\r'],
    ]);
    expect([code, screen]).toEqual([0, expect.stringContaining('Totals tests an example script')]);
    expect(screen).toContain('a coding agent: none on the PATH');
    expect(readFileSync(path.join(cwd, 'proctor.yaml'), 'utf8')).toContain('name: Totals\n');
  });

  test('asks again after an unknown agent, and gives up after three missing scripts', async () => {
    const agent = await typed(
      temporaryFolder(),
      [
        ['Agent, claude or codex [claude]: ', 'gpt\r'],
        ['The agent must be claude or codex.', ''],
        ['Agent, claude or codex [claude]: ', 'codex\r'],
        ['Name [', '\r'],
      ],
      ['--kind', 'agent'],
    );
    expect(agent).toEqual({ code: 0, screen: expect.stringContaining('tests the coding agent codex') });
    const script = await typed(
      temporaryFolder(),
      [1, 2, 3].map(() => ['Script file [an example]: ', 'a.py\r'] as const),
      ['--kind', 'script'],
    );
    expect(script).toEqual({ code: 2, screen: expect.stringContaining('error: Cannot read the script "a.py"') });
  });

  test('asks only for values that no flag sets', async () => {
    const cwd = temporaryFolder();
    const { code, screen } = await typed(cwd, [['Name [', '\r']], ['--url', 'http://127.0.0.1:1/ask']);
    expect(code).toBe(0);
    expect(screen).not.toContain('What do you want to test?');
    expect(screen).not.toContain('URL [');
  });

  test.each([
    ['Ctrl-C', '\u0003'],
    ['Ctrl-D', '\u0004'],
  ])('writes nothing after %s', async (_, key) => {
    const cwd = temporaryFolder();
    const { code, screen } = await typed(cwd, [
      ['Number [1]: ', '3\r'],
      ['Script file [an example]: ', key],
    ]);
    expect([code, screen]).toEqual([130, expect.stringContaining('Cancelled. Nothing was written.')]);
    expect(readdirSync(cwd)).toEqual([]);
  });

  test('works in a dumb terminal, without escape sequences', async () => {
    const { code, screen } = await typed(
      temporaryFolder(),
      [
        ['Script file [an example]: ', '\r'],
        ['Name [', '\r'],
      ],
      ['--kind', 'script'],
      'dumb',
    );
    expect([code, screen]).toEqual([0, expect.not.stringContaining('\u001b')]);
  });
});

/** Runs init in a terminal. Types each answer once its question is on the screen. */
async function typed(
  cwd: string,
  answers: readonly (readonly [question: string, keys: string])[],
  flags: readonly string[] = [],
  term = 'xterm',
): Promise<{ readonly code: number | null; readonly screen: string }> {
  const words = [process.execPath, path.join(ROOT, 'dist', 'proctor.js'), 'init', ...flags];
  const log = path.join(temporaryFolder(), 'log');
  const child = spawn('script', ['-qec', words.map(shellQuoted).join(' '), log], {
    cwd,
    env: { ...process.env, ...env, NO_COLOR: '1', TERM: term },
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  const rest = [...answers];
  let screen = '';
  let from = 0;
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    screen += text;
    for (let next = rest[0]; next !== undefined; next = rest[0]) {
      const at = screen.indexOf(next[0], from);
      if (at < 0) return;
      from = at + next[0].length;
      child.stdin.write(next[1]);
      rest.shift();
    }
  });
  const code = await new Promise<number | null>(resolve => child.once('close', resolve));
  expect(rest, screen).toEqual([]);
  return { code, screen };
}
