import { describe, expect, test } from 'vitest';
import { proctor, temporaryFolder } from '../support/support.ts';

/** `run intent` prints its own document instead. */
const COMMANDS = [
  'init',
  'run script',
  'run suite',
  'reproduce',
  'keys new',
  'keys show',
  'pack',
  'unpack',
  'merge',
  'apply',
  'compare',
  'gate',
  'report',
  'baseline accept',
  'resend',
  'try',
  'test',
  'config',
  'view',
  'history',
  'serve',
  'token new --role viewer --name ci',
  'token list',
  'token revoke tok_0000000000000000',
  'publish',
  'queue migrate',
  'queue show',
  'worker',
  'watch',
  'cancel',
  'show',
  'list',
  'prune --older-than 1d',
  'recover',
  'doctor',
  'verify',
  'runner-verify',
  'explain',
  'schema',
  'example',
  'completion bash',
];

/** The error document for a wrong command line. */
function refused(...args: string[]): { readonly message: string; readonly code: string } {
  const { code, stdout, stderr } = proctor(args, { cwd: temporaryFolder() });
  expect(code, stderr).toBe(2);
  expect(stderr).not.toBe('');
  const answer = JSON.parse(stdout) as { ok: boolean; error: { code: string; message: string } };
  expect(answer.ok).toBe(false);
  return answer.error;
}

describe('a wrong command line', () => {
  test.each(COMMANDS)('prints one JSON document with --json: %s', command => {
    expect(refused(...command.split(' '), '--no-such-flag', '--json')).toEqual({
      code: 'usage',
      message: expect.stringContaining("unknown option '--no-such-flag'") as string,
    });
  });

  test('is tested for every command', () => {
    const { stdout } = proctor(['--help']);
    const listed = [...stdout.matchAll(/^ {2}([a-z-]+)(?= .* {2}|$)/gm)].map(([, name]) => name);
    const firsts = new Set(COMMANDS.map(command => command.split(' ')[0]));
    expect(new Set(listed.filter(name => name !== 'help' && name !== 'proctor'))).toEqual(firsts);
  });

  test.each([
    ['a missing argument', ['verify', '--json'], "missing required argument 'path'"],
    ['a missing flag', ['prune', '--json'], '--older-than'],
    ['a missing value', ['run', 'suite', 'cases.yaml', '--json', '--base-url'], 'argument missing'],
    ['an invalid choice', ['run', 'suite', '--as', 'old', '--json'], 'Allowed choices'],
    ['an invalid number', ['list', '--limit', 'many', '--json'], 'an integer'],
    ['too many arguments', ['list', 'what', '--json'], 'too many arguments'],
    ['a misspelled command', ['compar', '--json'], 'Did you mean compare?'],
    ['an incomplete command', ['baseline', '--json'], ''],
  ] as const)('reports what is wrong: %s', (_, args, words) => {
    const { code, message } = refused(...args);
    expect(code).toBe('usage');
    expect(message).toContain(words);
    expect(message).not.toMatch(/\n|^error|outputHelp/);
  });

  test('prints no JSON without --json, or if --json is an argument of the script', () => {
    for (const args of [
      ['list', '--frob'],
      ['run', 'script', '--frob', 'x.py', '--', '--json'],
    ]) {
      const { code, stdout } = proctor(args, { cwd: temporaryFolder() });
      expect([code, stdout]).toEqual([2, '']);
    }
  });
});
