import { spawnSync } from 'node:child_process';
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { makeHome } from '../../src/evidence/run-folder/runs.ts';
import { settingsIn } from '../../src/verbs/settings.ts';
import { temporaryFolder } from '../support/support.ts';

function homeWith(text: string): string {
  const home = temporaryFolder();
  writeFileSync(path.join(home, 'settings.json'), text);
  return home;
}

describe('settings', () => {
  test('are the only file in .proctor that git does not ignore', () => {
    const cwd = temporaryFolder();
    const git = (...args: string[]): string => spawnSync('git', args, { cwd, encoding: 'utf8' }).stdout;
    git('init', '--quiet');
    const home = path.join(cwd, '.proctor');
    makeHome(home);
    mkdirSync(path.join(home, 'keys'));
    for (const name of ['settings.json', 'ledger.ndjson', 'keys/settings.json', 'runs/settings.json'])
      writeFileSync(path.join(home, name), '{}');
    expect(git('status', '--porcelain', '--untracked-files=all')).toBe('?? .proctor/settings.json\n');
  });

  test('are read from settings.json', () => {
    const text = '{"kept_stdout_bytes":1000,"kept_stderr_bytes":2000,"kept_html_bytes":3,"kept_summary_bytes":400}';
    expect(settingsIn(homeWith(text))).toEqual({
      stdoutBytes: 1000,
      stderrBytes: 2000,
      htmlBytes: 3,
      summaryBytes: 400,
    });
  });

  test('are empty without a regular file', () => {
    const home = temporaryFolder();
    expect(settingsIn(home)).toEqual({});
    symlinkSync(path.join(homeWith('{"x":1}'), 'settings.json'), path.join(home, 'settings.json'));
    expect(settingsIn(home)).toEqual({});
    const other = temporaryFolder();
    mkdirSync(path.join(other, 'settings.json'));
    expect(settingsIn(other)).toEqual({});
  });

  test.each([
    ['{"kept_stdout_bytes":1', /^settings\.json is not a valid JSON document: /],
    ['{"kept_stdout_bytes":1,"kept_stdout_bytes":2}', /^settings\.json is not a valid JSON document: /],
    ['[]', /^settings\.json must contain an object\.$/],
    ['{"stdout":1}', /^settings\.json has an unknown key: "stdout"\. Use kept_stdout_bytes, /],
    ['{"__proto__":1}', /^settings\.json has an unknown key: "__proto__"\./],
  ])('reject %s', (text, sentence) => {
    expect(() => settingsIn(homeWith(text))).toThrow(sentence);
  });
});
