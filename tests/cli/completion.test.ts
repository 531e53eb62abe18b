import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { proctor, temporaryFolder } from '../support/support.ts';

const SCRIPT = proctor(['completion', 'bash']).stdout;

/** A project with two runs, and names that a shell must never expand. */
function project(): string {
  const cwd = temporaryFolder();
  const runs = path.join(cwd, '.proctor', 'runs');
  for (const run of [
    'script/script_20260101_000000_aaaaaaaaaaaa',
    'new/r1',
    'new/$(touch pwned)',
    'new/a b',
    'new/`id`',
  ])
    mkdirSync(path.join(runs, run), { recursive: true });
  for (const name of ['run.json', 'seal.json', 'refund-1.json', 'refund-2.json', '$(touch pwned).json'])
    writeFileSync(path.join(runs, 'new', 'r1', name), '{}');
  mkdirSync(path.join(cwd, 'sub'));
  writeFileSync(path.join(cwd, 'sub', 'cases.yaml'), '');
  return cwd;
}

/** What bash offers for the last of these words. */
function offered(cwd: string, ...words: string[]): string[] {
  const code = `${SCRIPT}
COMP_WORDS=(proctor "$@")
COMP_CWORD=$#
_proctor
printf '%s\\n' "\${COMPREPLY[@]}"`;
  // No program may run while the user types.
  const output = execFileSync('/bin/bash', ['--norc', '-uc', code, 'bash', ...words], {
    cwd,
    encoding: 'utf8',
    env: { PATH: '/nonexistent' },
  });
  return output.split('\n').filter(line => line !== '');
}

describe('completion in bash', () => {
  test.each([
    [['comp'], ['compare', 'completion']],
    [
      ['run', 's'],
      ['script', 'suite'],
    ],
    [
      ['run', 'suite', '--as', ''],
      ['baseline', 'new'],
    ],
    [['run', 'suite', '--as', '=', 'n'], ['new']],
    [
      ['run', 'suite', '--as', '='],
      ['baseline', 'new'],
    ],
    [['run', 'suite', 'cases.yaml', '--onl'], ['--only']],
    [['run', 'suite', '--repeat', ''], []],
    [['run', 'script', '--timeout', '3s', '--sandb'], ['--sandbox']],
    [['compare', '--gate', 'p'], ['proven']],
    [
      ['schema', 'runner'],
      ['runner', 'runner-metadata'],
    ],
    [
      ['completion', ''],
      ['bash', 'zsh', 'fish'],
    ],
    [['keys', 'n'], ['new']],
    [
      ['help', 'run', 's'],
      ['script', 'suite'],
    ],
    [['--v'], ['--version']],
    [['verify', '--as', 'led'], ['ledger-line']],
    [['run', 'suite', 'ca'], ['cases.yaml']],
    [['run', 'script', 'x.py', '--', 'ca'], ['cases.yaml']],
    [
      ['show', ''],
      ['cases.yaml', 'latest', 'r1', 'script_20260101_000000_aaaaaaaaaaaa'],
    ],
    [['resend', 'r'], ['r1']],
    [
      ['resend', 'r1', ''],
      ['refund-1', 'refund-2'],
    ],
  ])('for %j offers the expected words', (words, expected) => {
    expect(offered(path.join(project(), 'sub'), ...words).sort()).toEqual([...expected].sort());
  });

  test('never runs a command in a folder name, and never offers such a name', () => {
    const cwd = project();
    const found = [
      offered(cwd, 'show', ''),
      offered(cwd, 'resend', 'r1', ''),
      offered(cwd, 'resend', '$(touch pwned)', ''),
    ];
    expect(found.flat().filter(word => !/^[\w.-]+$/.test(word))).toEqual([]);
    expect(existsSync(path.join(cwd, 'pwned'))).toBe(false);
  });

  test('offers at most 500 runs', () => {
    const cwd = temporaryFolder();
    for (let index = 0; index < 600; index++)
      mkdirSync(path.join(cwd, '.proctor', 'runs', 'new', `r${index}`), { recursive: true });
    expect(offered(cwd, 'pack', 'r')).toHaveLength(500);
  });

  test('offers every command and flag that help lists', () => {
    const cwd = temporaryFolder();
    for (const words of [[], ['run'], ['run', 'suite'], ['compare'], ['verify'], ['keys', 'new']]) {
      const help = proctor([...words, '--help'], { cwd }).stdout;
      const flags = [...help.matchAll(/^ {2}(?:-\w, )?(--[a-z-]+)/gm)].map(([, flag]) => flag as string);
      expect(flags.length).toBeGreaterThan(0);
      expect(offered(cwd, ...words, '--')).toEqual(expect.arrayContaining(flags));
      const [, list = ''] = /^Commands:\n((?: .*\n)+)/m.exec(help) ?? [];
      const below = [...list.matchAll(/^ {2}([a-z-]+) /gm)].map(([, name]) => name as string);
      if (below.length > 0) expect(offered(cwd, ...words, '').sort()).toEqual(below.sort());
    }
  });

  test('prints a script and writes nothing', () => {
    const cwd = temporaryFolder();
    for (const shell of ['bash', 'zsh', 'fish'])
      expect(proctor(['completion', shell], { cwd })).toMatchObject({ code: 0, stderr: '' });
    expect(readdirSync(cwd)).toEqual([]);
  });
});
