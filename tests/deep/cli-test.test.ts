import { spawn } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test, vi } from 'vitest';
import { proctor, ROOT, temporaryFolder } from '../support/support.ts';
import { PROJECT, projectFolder, WORSE } from '../verbs/test/world.ts';

describe('proctor test', () => {
  test('says that only limits decided, accepts a baseline, and then names the case that broke and why', () => {
    const cwd = projectFolder();
    const first = proctor(['test'], { cwd });
    expect(first).toMatchObject({ code: 0, stderr: '' });
    expect(first.stdout).toContain('There is no baseline yet, so only limits decided.');
    expect(first.stdout).toContain('proctor test --accept');
    const accepted = proctor(['test', '--accept'], { cwd });
    expect(accepted).toMatchObject({ code: 0 });
    expect(accepted.stdout).toContain('proctor/baselines/desk.json');
    writeFileSync(path.join(cwd, 'agent.mjs'), WORSE);
    const worse = proctor(['test'], { cwd });
    expect(worse.code).toBe(1);
    expect(worse.stdout).toContain('returns');
    expect(worse.stdout).toContain('The answer does not contain "30 days".');
    expect(existsSync(path.join(cwd, '.proctor/reports/test/desk/report.html'))).toBe(true);
  });

  test('says that a failing case has no effect without a baseline and a limit', () => {
    const cwd = projectFolder(PROJECT.replace('gate: { limits: { max_failing: 0 } }', ''));
    writeFileSync(path.join(cwd, 'agent.mjs'), WORSE);
    const { code, stdout } = proctor(['test'], { cwd });
    expect(code).toBe(0);
    expect(stdout).toContain('There is neither a baseline nor a limit, so a failing case does not fail the test.');
  });

  test('names the command that accepts weaker cases', () => {
    const cwd = projectFolder();
    expect(proctor(['test', '--accept'], { cwd }).code).toBe(0);
    const cases = path.join(cwd, 'proctor/cases.yaml');
    writeFileSync(cases, readFileSync(cases, 'utf8').replace('["30 days"]', '["days"]'));
    const weaker = proctor(['test'], { cwd });
    expect(weaker.code).toBe(3);
    expect(weaker.stdout).toContain('If the change is intended:  proctor test --accept');
    expect(proctor(['test', '--accept'], { cwd }).code).toBe(0);
  });

  test('names the command that shows the reply if a target gives no answer', () => {
    const cwd = projectFolder();
    const missing = 'response.statusCode = 404; response.setHeader(';
    writeFileSync(path.join(cwd, 'agent.mjs'), WORSE.replace('response.setHeader(', missing));
    const { code, stdout } = proctor(['test', '--retries', '0'], { cwd });
    expect(code).toBe(1);
    expect(stdout).toContain('See what the target replies:  proctor try desk "Hello"');
  });

  test('works in a subfolder of the project, and prints one JSON document with --json', () => {
    const cwd = projectFolder();
    const below = path.join(cwd, 'proctor');
    const { code, stdout } = proctor(['test', '--json', '--only', 'opening'], { cwd: below });
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({
      kind: 'test',
      exit_code: 0,
      suites: [{ name: 'desk', decided_by: 'limits', judged: [{ total: 1, passed: 1 }], error: null }],
    });
  });

  test('adds every suite to the step summary of GitHub', () => {
    const cwd = projectFolder();
    const summary = path.join(temporaryFolder(), 'summary.md');
    expect(proctor(['test'], { cwd, env: { GITHUB_STEP_SUMMARY: summary } }).code).toBe(0);
    expect(readFileSync(summary, 'utf8')).toContain('2 of 2 cases');
  });

  test('exits with 2 without a project file, says what to do, and creates no folder', () => {
    const cwd = temporaryFolder();
    mkdirSync(path.join(cwd, '.git'));
    expect(proctor(['test'], { cwd })).toEqual({
      code: 2,
      stdout: '',
      stderr: expect.stringContaining('There is no proctor.yaml here or above. Create one with proctor init.'),
    });
    expect(existsSync(path.join(cwd, '.proctor'))).toBe(false);
  });
});

describe('an interrupted test', () => {
  test('exits with the code of the signal, so that no pipeline takes it for a verdict', async () => {
    const cwd = projectFolder();
    writeFileSync(
      path.join(cwd, 'agent.mjs'),
      `import { writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
createServer((request, response) => {
  if (request.url === '/health') return response.end('ok');
  writeFileSync('asked', '');
}).listen(Number(process.env.PORT), '127.0.0.1');
`,
    );
    const child = spawn(process.execPath, [path.join(ROOT, 'dist/proctor.js'), 'test'], { cwd, stdio: 'ignore' });
    const over = new Promise(resolve => void child.once('close', resolve));
    await vi.waitUntil(() => existsSync(path.join(cwd, 'asked')), { timeout: 60_000 });
    child.kill('SIGINT');
    expect(await over).toBe(130);
  });
});

describe('proctor config', () => {
  test('says where each value comes from', () => {
    const cwd = projectFolder(`${PROJECT}repeat: 3\n`);
    const { code, stdout } = proctor(['config', '--concurrency', '8', '--max-failing', '2'], { cwd });
    expect(code).toBe(0);
    expect(stdout).toMatch(/^ {2}repeat +3 +proctor\.yaml:20$/m);
    expect(stdout).toMatch(/^ {2}concurrency +8 +--concurrency$/m);
    expect(stdout).toMatch(/^ {2}retries +2 +default$/m);
    expect(stdout).toMatch(/^ {2}gate\.limits\.max_failing +2 +--max-failing$/m);
  });
});

describe('a target name', () => {
  test('can be used wherever a target file can', () => {
    const cwd = projectFolder();
    const suite = proctor(['run', 'suite', 'proctor/cases.yaml', '--target', 'desk', '--as', 'new'], { cwd });
    expect(suite.code).toBe(0);
    const tried = proctor(['try', 'desk', 'When do you open?'], { cwd });
    expect(tried.code).toBe(0);
    expect(tried.stdout).toContain('We open at 9.');
    const unknown = proctor(['try', 'dexk', 'When do you open?'], { cwd });
    expect(unknown.code).toBe(2);
    expect(unknown.stderr).toContain('Did you mean "desk"?');
  });
});

describe('proctor view', () => {
  test('opens the report of the newest test in the browser', async () => {
    const cwd = projectFolder();
    proctor(['test'], { cwd });
    const browser = path.join(cwd, 'browser.sh');
    writeFileSync(browser, '#!/bin/sh\necho "$1" > opened.tmp && mv opened.tmp opened\n');
    chmodSync(browser, 0o755);
    const { code, stdout } = proctor(['view'], { cwd, env: { BROWSER: browser } });
    expect(code).toBe(0);
    await expect.poll(() => existsSync(path.join(cwd, 'opened')), { timeout: 60_000 }).toBe(true);
    const opened = readFileSync(path.join(cwd, 'opened'), 'utf8').trim();
    expect(opened.startsWith('file:///')).toBe(true);
    expect(opened.endsWith(stdout.trim())).toBe(true);
  });

  test('prints the path and opens nothing without a desktop', () => {
    const cwd = projectFolder();
    proctor(['test'], { cwd });
    const env = { BROWSER: '', DISPLAY: '', WAYLAND_DISPLAY: '' };
    const { code, stdout, stderr } = proctor(['view'], { cwd, env });
    expect([code, existsSync(path.join(cwd, stdout.trim()))]).toEqual([0, true]);
    expect(stderr).toContain('Open the file in a browser, or set BROWSER.');
  });
});
