import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { hasColours } from '../../src/cli/text/paint.ts';
import { proctor, ROOT, temporaryFolder } from '../support/support.ts';

const ESCAPE = '\u001b[';

describe('colours', () => {
  test.each([
    ['are used in a terminal', {}, true, true],
    ['are not used in a pipe', {}, false, false],
    ['are not used in CI without a terminal', { CI: '1', TERM: 'xterm' }, false, false],
    ['are not used in a dumb terminal', { TERM: 'dumb' }, true, false],
    ['are not used with NO_COLOR', { NO_COLOR: '1' }, true, false],
    ['are used with an empty NO_COLOR', { NO_COLOR: '' }, true, true],
    ['are used with FORCE_COLOR in a pipe', { FORCE_COLOR: '1' }, false, true],
    ['are used with FORCE_COLOR in a dumb terminal', { FORCE_COLOR: '1', TERM: 'dumb' }, true, true],
    ['are not used with FORCE_COLOR=0', { FORCE_COLOR: '0' }, true, false],
    ['are not used with FORCE_COLOR=false', { FORCE_COLOR: 'false' }, true, false],
    ['are not used with both NO_COLOR and FORCE_COLOR', { FORCE_COLOR: '1', NO_COLOR: '1' }, true, false],
  ] as const)('%s', (_, env, isTerminal, expected) => {
    expect(hasColours(env, isTerminal)).toBe(expected);
  });

  /** The output of a command in a pseudo terminal. */
  const inTerminal = (env: Record<string, string>): string => {
    const { CI: _, NO_COLOR: __, FORCE_COLOR: ___, ...rest } = process.env;
    const command = `"${process.execPath}" "${path.join(ROOT, 'dist', 'proctor.js')}" explain RN7`;
    const { stdout } = spawnSync('script', ['-qec', command, '/dev/null'], {
      encoding: 'utf8',
      env: { ...rest, ...env },
      input: '',
    });
    expect(stdout).toContain('RN7');
    return stdout;
  };

  test('are printed in a real terminal, but not in a dumb one or with NO_COLOR', () => {
    expect(inTerminal({ TERM: 'xterm' })).toContain(ESCAPE);
    expect(inTerminal({ TERM: 'dumb' })).not.toContain(ESCAPE);
    expect(inTerminal({ TERM: 'xterm', NO_COLOR: '1' })).not.toContain(ESCAPE);
  });
});

test.each([80, 40])('help fits %d columns, except for words and examples that are longer', columns => {
  const command = `stty cols ${columns}; "${process.execPath}" "${path.join(ROOT, 'dist', 'proctor.js')}" list --help`;
  const { stdout } = spawnSync('script', ['-qec', command, '/dev/null'], {
    encoding: 'utf8',
    env: { ...process.env, TERM: 'xterm' },
    input: '',
  });
  expect(stdout).toContain('--limit');
  const lines = stdout.split(/\r?\n/);
  expect(lines.filter(line => line.length > columns)).toEqual([]);
});

test('a pipe that its reader closes early causes no message, and the exit code stays 0', async () => {
  const child = spawn(process.execPath, [path.join(ROOT, 'dist', 'proctor.js'), 'schema', 'runner'], {
    cwd: temporaryFolder(),
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  child.stdout.destroy();
  let told = '';
  child.stderr.on('data', chunk => {
    told += String(chunk);
  });
  const [code] = (await once(child, 'close')) as [number];
  expect([code, told]).toEqual([0, '']);
});

describe('an unknown name', () => {
  test.each([
    [['compar'], "unknown command 'compar'\n(Did you mean compare?)"],
    [['run', 'scrip'], "unknown command 'scrip'\n(Did you mean script?)"],
    [['keys', 'nw'], "unknown command 'nw'\n(Did you mean new?)"],
    [['baseline', 'acept'], "unknown command 'acept'\n(Did you mean accept?)"],
    [['help', 'foo'], "unknown command 'foo'"],
    [['help', 'compar'], "unknown command 'compar'\n(Did you mean compare?)"],
    [['help', 'run', 'scrip'], "unknown command 'scrip'\n(Did you mean script?)"],
    [['run', 'help', 'suit'], "unknown command 'suit'\n(Did you mean suite?)"],
    [['list', '--jso'], "unknown option '--jso'\n(Did you mean --json?)"],
    [['run', 'suite', '--repea', '3'], "unknown option '--repea'\n(Did you mean --repeat?)"],
    [['schema', 'runer'], 'Did you mean "runner"?'],
    [['example', 'runer'], 'Did you mean "runner"?'],
    [['explain', 'RN77'], 'Did you mean "RN7"?'],
    [['verify', 'x', '--as', 'runer'], 'Did you mean "runner"?'],
  ])('is refused, with a suggestion if one is close: %j', (args, told) => {
    const { code, stdout, stderr } = proctor(args, { cwd: temporaryFolder() });
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr).toContain(told);
  });
});

test.each([
  [['help'], 'Usage: proctor [options]'],
  [['help', 'run'], 'Usage: proctor run [options]'],
  [['help', 'run', 'suite'], 'Usage: proctor run suite [options]'],
  [['run', 'help', 'suite'], 'Usage: proctor run suite [options]'],
])('prints help: %j', (args, usage) => {
  const { code, stdout } = proctor(args);
  expect(code).toBe(0);
  expect(stdout).toContain(usage);
});

test.each(['-v', '-V', '--version'])('%s prints the version', flag => {
  expect(proctor([flag])).toMatchObject({ code: 0, stdout: expect.stringMatching(/^\d+\.\d+\.\d+\n$/) as string });
});
