import { spawnSync } from 'node:child_process';
import { symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { readReport } from '../../../src/run/checks/test-report.ts';
import { checkVerdictOf } from '../../../src/run/checks/verdict.ts';
import { put } from '../../execute/worktree/clone-world.ts';
import { temporaryFolder } from '../../support/support.ts';

const plain = (text: string): string => text;

function reading(text: string | Uint8Array) {
  const top = temporaryFolder();
  put(top, { 'out/report': text });
  return readReport(top, 'out/report', plain);
}

const ctrf = (tests: readonly object[], summary?: object): string =>
  JSON.stringify({ results: { tool: { name: 'x' }, ...(summary && { summary }), tests } });

const PASSED = { name: 'a', status: 'passed' };
const FAILED = { name: 'b', suite: 'parse', status: 'failed' };

test('counts the tests of a CTRF report, and names failed tests with their suites', () => {
  const tests = [PASSED, FAILED, { name: 'c', status: 'skipped' }, { name: 'd', status: 'pending' }];
  expect(reading(ctrf(tests, { tests: 4, passed: 1, failed: 1, skipped: 1, pending: 1, other: 0 }))).toMatchObject({
    format: 'ctrf',
    tests: { total: 4, passed: 1, failed: 1, skipped: 2, failures: ['parse > b'] },
  });
});

test.each([
  ['a summary that hides a failure', ctrf([PASSED], { tests: 2, passed: 1, failed: 1 })],
  ['a summary that counts another number of tests', ctrf([PASSED], { tests: 14, passed: 1, failed: 0 })],
  ['a summary that is not a set of counts', ctrf([PASSED], { tests: 'many' })],
  ['duplicate keys', '{"results":{"tests":[{"name":"a","status":"failed","status":"passed"}]}}'],
  ['an unknown status', ctrf([{ name: 'a', status: 'PASSED' }])],
  ['a test without a name', ctrf([{ status: 'passed' }])],
  ['a blank name', ctrf([{ name: ' ', status: 'passed' }])],
  ['tests that are not a list', '{"results":{"tests":{"length":1}}}'],
  ['deep nesting', `{"results":${'['.repeat(100_000)}`],
  ['JSON that ends early', '{"results":{"tests":['],
  ['a number', '7'],
  ['nothing', ''],
  ['white space', ' \n'],
  ['bytes that are not UTF-8', Uint8Array.of(0x7b, 0xff, 0x7d)],
  ['a NUL byte', '{"results":\0}'],
  ['UTF-16', Uint8Array.of(0xff, 0xfe, 0x3c, 0)],
  ['an entity', '<!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/passwd">]><testsuite><testcase name="&a;"/></testsuite>'],
  [
    'growing entities',
    '<!DOCTYPE x [<!ENTITY a "aa"><!ENTITY b "&a;&a;">]><testsuite><testcase name="&b;"/></testsuite>',
  ],
  ['deep XML', '<testsuite>'.repeat(100_000)],
  ['an open tag', '<testsuite><testcase name="a">'],
  ['another root', '<html><testcase name="a"/></html>'],
  ['a testcase in another', '<testsuite><testcase name="a"><testcase name="b"/></testcase></testsuite>'],
  ['a testcase without a name', '<testsuite><testcase/></testsuite>'],
])('does not count the tests of a report with %s', (_what, text) => {
  const report = reading(text);
  expect(report?.tests ?? null).toBeNull();
  const verdict = checkVerdictOf({ how: 'exited', code: 0 }, { isDeclared: true, isFound: true, tests: null });
  expect(verdict).toMatchObject({ verdict: 'unknown', reason: 'unreadable_report' });
});

test('reports names without control characters, and limits their number and length', () => {
  const name = 'a&#9;\u202e'.padEnd(5_000, 'x');
  const failed = `<testcase name="${name}"><failure/></testcase>`;
  const report = reading(`<testsuite>${failed.repeat(300)}</testsuite>`);
  expect(report?.tests).toMatchObject({ total: 300, failed: 300 });
  expect(report?.tests?.failures).toHaveLength(100);
  for (const each of report?.tests?.failures ?? []) {
    expect(each.length).toBeLessThanOrEqual(200);
    expect(each).not.toMatch(/[\u0000-\u001f\u202e]/);
  }
});

test('reads a report of 50,000 tests, but none above 16 MiB', () => {
  const many = ctrf(Array.from({ length: 50_000 }, () => PASSED));
  expect(reading(many)?.tests).toMatchObject({ total: 50_000, passed: 50_000 });
  const top = temporaryFolder();
  writeFileSync(path.join(top, 'report'), '<');
  truncateSync(path.join(top, 'report'), 16 * 1024 * 1024 + 1);
  expect(readReport(top, 'report', plain)).toBeUndefined();
});

test('follows no link, and waits for no FIFO', () => {
  const top = temporaryFolder();
  put(top, { real: ctrf([PASSED]), 'folder/real': ctrf([PASSED]) });
  symlinkSync('real', path.join(top, 'link'));
  symlinkSync('folder', path.join(top, 'linked'));
  expect(spawnSync('mkfifo', [path.join(top, 'fifo')]).status).toBe(0);
  for (const at of ['link', 'linked/real', 'fifo', 'folder', 'missing'])
    expect(readReport(top, at, plain), at).toBeUndefined();
});

const some = (passed: number, failed: number, skipped: number) => ({
  isDeclared: true,
  isFound: true,
  tests: { total: passed + failed + skipped, passed, failed, skipped, failures: failed > 0 ? ['t'] : [] },
});

test.each([
  ['exit 0 with failing tests', 0, some(3, 1, 0), 'failed', 'tests_failed'],
  ['exit 1 with passing tests', 1, some(3, 0, 0), 'failed', 'exit_code'],
  ['exit 0 with passing tests', 0, some(3, 0, 1), 'passed', 'ok'],
  ['only skipped tests', 0, some(0, 0, 5), 'did_not_run', 'no_tests'],
  ['no test', 0, some(0, 0, 0), 'did_not_run', 'no_tests'],
  ['a missing report', 0, { isDeclared: true, isFound: false, tests: null }, 'did_not_run', 'no_report'],
  ['a missing report and exit 2', 2, { isDeclared: true, isFound: false, tests: null }, 'failed', 'exit_code'],
  ['a missing command', 127, { isDeclared: false, isFound: false, tests: null }, 'did_not_run', 'command_not_found'],
  ['code 127 after failing tests', 127, some(0, 1, 0), 'did_not_run', 'command_not_found'],
] as const)('judges %s', (_what, code, report, verdict, reason) => {
  expect(checkVerdictOf({ how: 'exited', code }, report)).toMatchObject({ verdict, reason });
});

test('reports spawn_failed if the sandbox cannot start the shell', () => {
  const report = { isDeclared: false, isFound: false, tests: null };
  const { verdict, reason } = checkVerdictOf({ how: 'not_started', code: 127 }, report);
  expect([verdict, reason]).toEqual(['did_not_run', 'spawn_failed']);
});
