import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { proctor, temporaryFolder } from '../support/support.ts';

/** A project with two runs, and a name that a shell must never expand. */
function project(shell: string): { readonly cwd: string; readonly script: string } {
  const cwd = temporaryFolder();
  for (const run of ['script_20260101_000000_aaaaaaaaaaaa', 'r1', '$(touch pwned)'])
    mkdirSync(path.join(cwd, '.proctor', 'runs', 'new', run), { recursive: true });
  for (const name of ['run.json', 'seal.json', 'refund-1.json', 'refund-2.json'])
    writeFileSync(path.join(cwd, '.proctor', 'runs', 'new', 'r1', name), '{}');
  const script = path.join(cwd, 'completion');
  writeFileSync(script, proctor(['completion', shell]).stdout);
  return { cwd, script };
}

describe('completion in fish', () => {
  test.each([
    ['proctor comp', ['compare', 'completion']],
    ['proctor run s', ['script', 'suite']],
    ['proctor help run s', ['script', 'suite']],
    ['proctor run suite --as ', ['baseline', 'new']],
    ['proctor run suite --as=n', ['--as=new']],
    ['proctor run suite --onl', ['--only']],
    ['proctor compare --gate p', ['proven']],
    ['proctor show r', ['r1']],
    ['proctor resend r1 ref', ['refund-1', 'refund-2']],
    ['proctor completion ', ['bash', 'fish', 'zsh']],
  ])('for “%s” offers the expected words', (line, expected) => {
    const { cwd, script } = project('fish');
    const output = execFileSync('fish', ['--no-config', '-c', 'source $argv[1]; complete -C $argv[2]', script, line], {
      cwd,
      encoding: 'utf8',
      env: { ...process.env, HOME: cwd },
    });
    const words = output.split('\n').filter(text => text !== '');
    expect(new Set(words.map(text => text.split('\t', 1)[0]))).toEqual(new Set(expected));
    expect(words).toHaveLength(expected.length);
    expect(existsSync(path.join(cwd, 'pwned'))).toBe(false);
  });
});

/** Types a line into an interactive zsh, presses tab twice, and waits until it shows a text. */
const DRIVER = `
zmodload zsh/zpty
zpty shell 'TERM=dumb PS1= zsh -f -i'
zpty -w shell "autoload -Uz compinit && compinit -u -d $PWD/dump; source $1; LISTMAX=1000; echo rea''dy"
zpty -r -m shell out '*ready*'
zpty -w -n shell "$2"$'\\t\\t'
zpty -r -m shell out "*$3*"
print -r -- "$out"
zpty -d shell
`;

describe('completion in zsh', () => {
  test.each([
    ['proctor run s', 'script *suite'],
    ['proctor run suite --as ', 'baseline *new'],
    ['proctor compare --gate ', 'balanced *proven *strict'],
    ['proctor compare --ga', '--gate '],
    ['proctor show ', 'latest *script_20260101_000000_aaaaaaaaaaaa'],
    ['proctor resend r1 ', 'refund-1 *refund-2'],
    ['proctor help run i', 'intent '],
  ])('for “%s” shows “%s”', (line, expected) => {
    const { cwd, script } = project('zsh');
    const driver = path.join(cwd, 'driver');
    writeFileSync(driver, DRIVER);
    // The driver ends only when zsh shows the text. If it never does, the time limit fails the test.
    const shown = execFileSync('zsh', ['-f', driver, script, line, expected], {
      cwd,
      encoding: 'utf8',
      env: { ...process.env, HOME: cwd },
      timeout: 60_000,
    });
    expect(shown).not.toMatch(/error|bad pattern|not found/);
    expect(existsSync(path.join(cwd, 'pwned'))).toBe(false);
  });
});
