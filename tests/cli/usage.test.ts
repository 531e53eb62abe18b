import { describe, expect, test } from 'vitest';
import { proctor, temporaryFolder } from '../support.ts';

/** `run intent` has a document of its own for this. */
const COMMANDS = [
  'run script',
  'run suite',
  'reproduce',
  'keys new',
  'keys show',
  'pack',
  'unpack',
  'apply',
  'compare',
  'gate',
  'report',
  'baseline accept',
  'resend',
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
];

/** What a command line with a slip in it is answered with. */
function refused(...args: string[]): { readonly message: string; readonly code: string } {
  const { code, stdout, stderr } = proctor(args, { cwd: temporaryFolder() });
  expect(code, stderr).toBe(2);
  expect(stderr).not.toBe('');
  const answer = JSON.parse(stdout) as { ok: boolean; error: { code: string; message: string } };
  expect(answer.ok).toBe(false);
  return answer.error;
}

describe('a command line that cannot be understood', () => {
  test.each(COMMANDS)('is one JSON document where JSON is asked for: %s', command => {
    expect(refused(...command.split(' '), '--no-such-flag', '--json')).toEqual({
      code: 'usage',
      message: expect.stringContaining("unknown option '--no-such-flag'") as string,
    });
  });

  test('is the same for every command that there is', () => {
    const { stdout } = proctor(['--help']);
    const listed = [...stdout.matchAll(/^ {2}([a-z-]+)(?= .* {2}|$)/gm)].map(([, name]) => name);
    const firsts = new Set(COMMANDS.map(command => command.split(' ')[0]));
    expect(new Set(listed.filter(name => name !== 'help' && name !== 'proctor'))).toEqual(firsts);
  });

  test.each([
    ['an argument that is missing', ['verify', '--json'], "missing required argument 'path'"],
    ['a flag that is missing', ['prune', '--json'], '--older-than'],
    ['a value that is missing', ['run', 'suite', 'cases.yaml', '--json', '--base-url'], 'argument missing'],
    ['a word that is not one of its choices', ['run', 'suite', '--as', 'old', '--json'], 'Allowed choices'],
    ['a number that is none', ['list', '--limit', 'many', '--json'], 'whole number'],
    ['too many words', ['list', 'what', '--json'], 'too many arguments'],
    ['a command that is misspelt', ['compar', '--json'], 'Did you mean compare?'],
    ['half a command', ['baseline', '--json'], ''],
  ] as const)('says what is wrong: %s', (_, args, words) => {
    const { code, message } = refused(...args);
    expect(code).toBe('usage');
    expect(message).toContain(words);
    expect(message).not.toMatch(/\n|^error|outputHelp/);
  });

  test('is no JSON where nobody asked for it, and where --json is a word of the script', () => {
    for (const args of [
      ['list', '--frob'],
      ['run', 'script', '--frob', 'x.py', '--', '--json'],
    ]) {
      const { code, stdout } = proctor(args, { cwd: temporaryFolder() });
      expect([code, stdout]).toEqual([2, '']);
    }
  });
});
