import { readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { AgentWorld, placePrograms } from '../run/agent/world.ts';
import { checked, doing, FIX, PROJECT, storedCheck } from './check-world.ts';

placePrograms();

test('runs each check in the tree that the agent left, and keeps its evidence as a step of its own', () => {
  const world = new AgentWorld(PROJECT);
  const flags = ['--check', 'npm test', '--check', 'tree=ls -a; pwd; echo home=$HOME; env | cut -d= -f1 | sort'];
  const { code, checks, folder, answer, stderr } = checked(world, FIX, flags);
  expect(
    checks.map(({ name, verdict, message }) => [name, verdict, message]),
    stderr,
  ).toEqual([
    ['check-1', 'passed', 'The check exited with code 0. No report is declared.'],
    ['tree', 'passed', 'The check exited with code 0. No report is declared.'],
  ]);
  expect(code).toBe(0);
  expect(storedCheck(folder, 'tree')).toEqual(checks[1]);
  const said = readFileSync(path.join(folder, 'evidence/steps/check-tree/stdout.txt'), 'utf8');
  expect(said).not.toMatch(/^\.git$/m);
  expect(said).toContain('\n/work\n');
  expect(said).not.toMatch(/ANTHROPIC|OPENAI|PROCTOR/);
  expect(world.tried(['verify', answer.folder]).code).toBe(0);
});

test('exits with 1 if a check fails, and names the tests that fail', () => {
  const world = new AgentWorld(PROJECT);
  world.place.file('checks.yaml', 'checks:\n  - name: unit\n    command: npm test\n    report: reports/junit.xml\n');
  const { code, checks, answer } = checked(world, 'true', ['--checks', 'checks.yaml']);
  expect(code).toBe(1);
  expect(answer.termination).toBe('completed');
  expect(checks[0]).toMatchObject({
    verdict: 'failed',
    reason: 'tests_failed',
    message: expect.stringMatching(/^1 of 2 tests fails: adds two numbers$/),
    decided_by: 'report',
    exit_code: 1,
    tests: { total: 2, passed: 1, failed: 1, skipped: 0 },
    report: { path: 'reports/junit.xml', format: 'junit' },
  });
});

test('a check sees neither the network nor the processes of the agent', () => {
  const world = new AgentWorld(PROJECT);
  const command =
    'lost=no; grep -q " eth\\| wl" /proc/net/dev && lost=yes; ls /agent; echo network=$lost; ps -e 2>/dev/null | wc -l';
  const { checks, folder } = checked(world, `${FIX}; sleep 300 >/dev/null 2>&1 &`, ['--check', `look=${command}`]);
  expect(checks[0]?.verdict).toBe('passed');
  const said = readFileSync(path.join(folder, 'evidence/steps/check-look/stdout.txt'), 'utf8');
  expect(said).toContain('network=no');
  expect(said.split('\n')).toContain('home');
  expect(said.split('\n')).not.toContain('bin');
});

test('an agent that runs npm test does not violate a policy without a network', () => {
  const { answer, stderr } = checked(new AgentWorld(PROJECT), `${FIX}; npm test`, ['--check', 'npm test']);
  expect([answer.termination, answer.violations], stderr).toEqual(['completed', []]);
});

test.each([
  ['exit 3', 'failed', 'exit_code'],
  ['no-such-program-anywhere', 'did_not_run', 'command_not_found'],
])('a check that runs %s counts as %s, because of %s', (command, verdict, reason) => {
  const { code, checks } = checked(new AgentWorld(PROJECT), 'true', ['--check', command]);
  expect([code, checks[0]?.verdict, checks[0]?.reason]).toEqual([1, verdict, reason]);
});

test('removes a planted report first, so a check that writes none does not pass', () => {
  const world = new AgentWorld(PROJECT);
  world.place.file('checks.yaml', 'checks:\n  - command: "true"\n    report: reports/junit.xml\n');
  const plant = 'mkdir reports; echo "<testsuite><testcase name=\'a\'/></testsuite>" > reports/junit.xml';
  const { code, checks, raised } = checked(world, plant, ['--checks', 'checks.yaml']);
  expect([code, checks[0]?.verdict, checks[0]?.reason]).toEqual([1, 'did_not_run', 'no_report']);
  expect(checks[0]?.restored.listed).toEqual([{ path: 'reports/junit.xml', change: 'added', because: 'report' }]);
  expect(raised).toContain('check_file_changed');
});

test('refuses checks that it cannot run, before the agent starts', () => {
  const world = new AgentWorld(PROJECT);
  const refusal = (flags: readonly string[]) => world.tried(world.args('claude', doing('true'), flags));
  for (const [flags, says] of [
    [['--check', ' '], /has no command/],
    [['--check', 'a=true', '--check', 'a=false'], /Two checks are named a/],
    [['--checks', 'missing.yaml'], /checks file cannot be read/],
  ] as const) {
    const { code, stderr, stdout } = refusal(flags);
    expect(code, stdout).toBe(2);
    expect(stderr + stdout).toMatch(says);
  }
});
