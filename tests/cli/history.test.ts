import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { proctor, temporaryFolder } from '../support/support.ts';
import { HistoryWorld } from '../verbs/history/world.ts';

const QUIET = { BROWSER: '', DISPLAY: '', WAYLAND_DISPLAY: '' };
const clean = { repo_commit: 'c0ffee0123'.repeat(4), dirty: false };

const cwd = mkdtempSync(path.join(tmpdir(), 'proctor-history-'));
afterAll(() => rmSync(cwd, { recursive: true, force: true }));

/** A suite that breaks at its third run, and one that passes. */
beforeAll(async () => {
  const made = new HistoryWorld(cwd);
  for (const letters of ['pp', 'pp', 'ff', 'ff'])
    await made.add({ cases: { bad: letters, good: 'pp' }, suite: 'refunds', run: clean, costUsd: 0.001 });
  await made.add({ cases: { other: 'p' }, run: { cases_path: 'other.yaml' } });
});

test('prints one line per suite, the one with the newest run first', () => {
  const { code, stdout } = proctor(['history'], { cwd });
  expect(code).toBe(0);
  const [first, second] = stdout.split('\n');
  expect(first).toMatch(/^✓ {2}other\.yaml +█ +100 % \(21 to 100 %\) +none of 1 case fails +1 run, newest 2026-01-06/);
  expect(second).toMatch(
    /^✗ {2}refunds +██▄▄ +50 % \(9 to 91 %\) +1 of 2 cases fails +4 runs, newest 2026-01-06 12:03$/,
  );
});

test('prints the runs of a suite, and when a case started to fail', () => {
  const { stdout } = proctor(['history', 'refunds'], { cwd });
  expect(stdout).toContain('✗ refunds  1 of 2 cases fails. Flakiness 0 %.');
  expect(stdout).toMatch(/when \(UTC\) +side +commit +pass rate +failing +p50 \/ p95 +cost +flakiness +run/);
  expect(stdout).toMatch(
    /2026-01-06 12:02 +candidate +c0ffee012 +50 % \(9 to 91 %\) +1 +12 ms \/ 12 ms +\$0\.004 +0 %/,
  );
  expect(stdout).toContain('✗ fails   bad  since 2026-01-06 12:02, commit c0ffee012, run suite_20260106_120200_');
  expect(stdout).toContain('The answer does not contain "yes".');
});

test('prints every trial of a case', () => {
  const { stdout } = proctor(['history', 'bad'], { cwd });
  const rows = stdout.split('\n').filter(line => line.startsWith('2026-'));
  expect(rows.map(line => /[✓✗]+/.exec(line)?.[0])).toEqual(['✓✓', '✓✓', '✗✗', '✗✗']);
  expect(stdout).toContain('suite refunds');
});

test('prints one JSON document, in which unknown values are null', () => {
  const history = JSON.parse(proctor(['history', 'bad', '--limit', '2', '--json'], { cwd }).stdout) as object;
  expect(history).toMatchObject({
    suite: 'refunds',
    case_id: 'bad',
    suites: [
      {
        older_runs: 2,
        runs: [{ model: null, report: null }, {}],
        cases: [{ case_id: 'bad', state: 'fails', since: { or_before: true }, trials: ['ff', 'ff'] }],
      },
    ],
  });
});

test('writes the page, and says so if there is no browser', () => {
  const { code, stdout, stderr } = proctor(['history', 'refunds', '--open'], { cwd, env: QUIET });
  expect(code).toBe(0);
  expect(stdout).toBe('.proctor/reports/history/report.html\n');
  expect(stderr).toBe('Proctor found no browser here. Open the file in a browser, or set BROWSER.\n');
  expect(existsSync(path.join(cwd, '.proctor/reports/history/report.html'))).toBe(true);
});

test('refuses to write the page into a sealed run', async () => {
  const made = new HistoryWorld();
  const id = await made.add({ cases: { one: 'p' } });
  const { code, stderr } = proctor(['history', '--html', `.proctor/runs/new/${id}/x.html`], { cwd: made.cwd });
  expect(code).toBe(2);
  expect(stderr).toContain('belongs to a sealed run or comparison');
});

test('names a run that was changed, and prints no bidirectional character of a name', async () => {
  const made = new HistoryWorld();
  const id = await made.add({ cases: { one: 'p' }, run: { cases_path: 'evil\u202e.yaml' } });
  const changed = await made.add({ cases: { one: 'f' } });
  writeFileSync(path.join(made.home, 'runs', 'new', changed, 'run.json'), '{}');
  const { stdout } = proctor(['history'], { cwd: made.cwd });
  expect(stdout).toContain(`1 run not used:\n  ${changed}: ${changed} does not match its seal`);
  expect(stdout).not.toContain(id);
  expect(stdout).not.toContain('\u202e');
});

test('says what to do in a project without runs, and refuses an unknown name', () => {
  const empty = proctor(['history'], { cwd: temporaryFolder() });
  expect(empty).toMatchObject({
    code: 0,
    stdout: 'No suite has been run here yet. Run proctor test, or proctor run suite CASES.\n',
  });
  const { code, stderr } = proctor(['history', 'refund'], { cwd });
  expect(code).toBe(2);
  expect(stderr).toContain('No judged run has a suite or a case "refund". Did you mean "refunds"?');
});
