import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { runner } from '../../src/contracts/runner/index.ts';
import { exampleWith, proctor, ROOT, temporaryFolder } from '../support/support.ts';

const HASH = 'sha256:830861b74667a7c5b9967012e89ada945b3e53c0eb61ea74fbdfc6497edb22bc';
const OK = `{"ok":true,"runner_hash":"${HASH}"}\n`;
const good = JSON.stringify(runner.example);
const bad = JSON.stringify(exampleWith(runner, { write_roots: ['/etc'] }));

describe('proctor runner-verify', () => {
  test('prints exactly what the specification requires, with advice on stderr', () => {
    const cwd = temporaryFolder();
    writeFileSync(path.join(cwd, 'runner.json'), good);
    const { code, stdout, stderr } = proctor(['runner-verify', 'runner.json'], { cwd });
    expect({ code, stdout }).toEqual({ code: 0, stdout: OK });
    expect(stderr).toContain('advice RN12');
  });

  test('prints exactly the violations of an invalid record and exits with 3', () => {
    expect(proctor(['runner-verify', '-'], { input: bad })).toMatchObject({
      code: 3,
      stdout:
        '{"ok":false,"violations":[{"rule_id":"RN7","message":"write_roots[0] is absolute.","path":"write_roots[0]"}]}\n',
    });
  });

  test('exits with 1 and one sentence for a missing file', () => {
    expect(proctor(['runner-verify', 'nowhere.json'])).toEqual({
      code: 1,
      stdout: '{"ok":false,"violations":[]}\n',
      stderr: 'nowhere.json: The file or folder does not exist.\n',
    });
  });

  test('exits with 2 for bytes that are not JSON', () => {
    expect(proctor(['runner-verify', '-'], { input: '{' })).toMatchObject({
      code: 2,
      stdout: '{"ok":false,"violations":[]}\n',
    });
    expect(proctor(['runner-verify', '-'], { input: '' })).toMatchObject({ code: 2 });
  });

  test.each(['[]', 'null', '3'])('exits with 3 for the JSON value %s', input => {
    expect(proctor(['runner-verify', '-'], { input })).toMatchObject({ code: 3 });
  });

  test('prints one line per file and exits with the highest code', () => {
    const cwd = temporaryFolder();
    writeFileSync(path.join(cwd, 'a.json'), good);
    writeFileSync(path.join(cwd, 'b.json'), bad);
    const { code, stdout } = proctor(['runner-verify', 'a.json', 'nowhere', 'b.json', '-', '-'], { cwd, input: good });
    const lines = stdout
      .trim()
      .split('\n')
      .map(line => JSON.parse(line) as { file: string; ok: boolean });
    expect(lines.map(({ file, ok }) => `${file} ${ok}`)).toEqual([
      'a.json true',
      'nowhere false',
      'b.json false',
      '- true',
      '- false',
    ]);
    expect(code).toBe(3);
  });

  test('--strict turns advice into violations', () => {
    expect(proctor(['runner-verify', '--strict', '-'], { input: good })).toMatchObject({ code: 3 });
  });

  test('--max-bytes changes the limit and rejects invalid sizes', () => {
    expect(proctor(['runner-verify', '--max-bytes', '1k', '-'], { input: good + ' '.repeat(2000) })).toMatchObject({
      code: 2,
    });
    expect(proctor(['runner-verify', '--max-bytes', '2m', '-'], { input: good + ' '.repeat(1_500_000) })).toMatchObject(
      { code: 0 },
    );
    expect(proctor(['runner-verify', '-'], { input: good + ' '.repeat(1_500_000) })).toMatchObject({ code: 2 });
    for (const size of ['0', '-1', 'many', '1e3', '999g'])
      expect(proctor(['runner-verify', '--max-bytes', size, '-'], { input: good }).code, size).toBe(2);
  });

  test('rejects a missing argument and an unknown flag', () => {
    expect(proctor(['runner-verify']).code).toBe(2);
    expect(proctor(['runner-verify', '--loose', '-'], { input: good }).code).toBe(2);
  });
});

describe('npm run runner-verify', () => {
  test("resolves paths from the caller's folder", () => {
    const folder = path.join(ROOT, 'node_modules', '.cache', `runner-verify-${process.pid}`);
    mkdirSync(folder, { recursive: true });
    writeFileSync(path.join(folder, 'mine.json'), good);
    expect(npmRun(['mine.json'], folder)).toEqual(OK);
  });

  test('reads standard input and prints the result on the last line', () => {
    expect(npmRun(['-'], ROOT, good)).toEqual(OK);
    const loud = execFileSync('npm', ['run', 'runner-verify', '--', '-'], {
      cwd: ROOT,
      input: good,
      encoding: 'utf8',
      stdio: ['pipe', 'pipe', 'ignore'],
    });
    expect(loud.trimEnd().split('\n').at(-1)).toBe(OK.trimEnd());
  });

  function npmRun(args: string[], cwd: string, input = ''): string {
    return spawnSync('npm', ['run', '-s', 'runner-verify', '--', ...args], { cwd, input, encoding: 'utf8' }).stdout;
  }
});
