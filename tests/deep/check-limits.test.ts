import { readFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, expect, test } from 'vitest';
import type { CheckResult } from '../../src/contracts/check-result/index.ts';
import type { CheckOrder } from '../../src/contracts/checks/check-order.ts';
import { openLauncher } from '../../src/execute/launcher/launch.ts';
import { readyChecks } from '../../src/run/checks/order.ts';
import { runChecks } from '../../src/run/checks/run-checks.ts';
import { offersOf } from '../../src/run/pipeline/runner-plan.ts';
import { given, repository, RUN } from '../execute/worktree/clone-world.ts';
import { temporaryFolder } from '../support/support.ts';

const launcher = openLauncher();
afterAll(() => launcher.close());
const machine = await launcher.machine();

/** Runs a check in a tree without an agent. */
async function checkedTree(order: Partial<CheckOrder> & { readonly command: string }, mounts: string[] = []) {
  const { clone, tree } = await given(repository());
  const folder = temporaryFolder();
  const [note] = await runChecks(readyChecks([{ name: 'unit', ...order }], '/', offersOf(machine)), {
    runId: RUN,
    folder,
    launcher,
    clone,
    workTree: tree,
    mounts: mounts.map(source => ({ source, target: '/work/deps' })),
    mountNotes: [],
    secrets: [],
    mask: text => text,
    signal: undefined,
    note: () => undefined,
    obstacle: undefined,
  });
  const { result } = note as { result: CheckResult };
  return { result, at: (name: string) => path.join(folder, 'evidence/steps/check-unit', name) };
}

const hasGroups = machine.cgroups !== 'none';

test.each<readonly [string, Partial<CheckOrder> & { readonly command: string }, object]>([
  ['reaches its time limit', { command: 'sleep 60', timeoutMs: 1_000 }, { verdict: 'failed', reason: 'timeout' }],
  [
    'ignores SIGTERM at its time limit',
    { command: "trap '' TERM; while :; do sleep 1; done", timeoutMs: 1_000 },
    { verdict: 'failed', reason: 'timeout' },
  ],
  ['kills itself with a signal', { command: 'kill -9 $$' }, { verdict: 'failed' }],
  ['leaves a daemon', { command: 'setsid sleep 300 >/dev/null 2>&1 & true' }, { verdict: 'passed', reason: 'ok' }],
  [
    'leaves a daemon that holds its output',
    { command: 'setsid sh -c "sleep 300" & true' },
    { verdict: 'passed', reason: 'ok' },
  ],
  [
    'fills the disk',
    { command: 'head -c 400000000 /dev/zero > big', memoryBytes: 256 * 1024 * 1024 },
    { verdict: 'failed' },
  ],
  [
    'names a program that does not exist',
    { command: 'exec ./no-such' },
    { verdict: 'did_not_run', reason: 'command_not_found' },
  ],
  ['is not valid shell code', { command: 'if then' }, { verdict: 'failed', reason: 'exit_code' }],
])('judges a check that %s', async (_what, order, expected) => {
  expect((await checkedTree(order)).result).toMatchObject(expected);
});

test.runIf(hasGroups)('reports out of memory even if the command hides that a child reached the limit', async () => {
  const eat = 'node -e "const all = []; for (;;) all.push(Buffer.alloc(1 << 20, 1))"';
  const { result } = await checkedTree({ command: `${eat} 2>/dev/null; true`, memoryBytes: 128 * 1024 * 1024 });
  expect(result).toMatchObject({ verdict: 'failed', reason: 'out_of_memory' });
});

test.runIf(hasGroups)('survives a fork bomb, and judges the next check', async () => {
  const bomb = 'b() { b | b & b; }; b';
  const { result } = await checkedTree({ command: bomb, timeoutMs: 3_000, pids: 64 });
  expect(['failed', 'passed']).toContain(result.verdict);
  expect((await checkedTree({ command: 'true' })).result.verdict).toBe('passed');
});

test('limits 100 MB of output, keeps its tail, and counts all of it', async () => {
  const { result, at } = await checkedTree({ command: 'head -c 100000000 /dev/zero | tr "\\0" x; echo end' });
  expect(result).toMatchObject({ verdict: 'passed' });
  const stdout = result.streams.find(({ name }) => name === 'stdout');
  expect(stdout).toMatchObject({ bytes_total: 100_000_004, truncated: true });
  const kept = readFileSync(at('stdout.txt'));
  expect(kept.length).toBeLessThan(600 * 1024);
  expect(kept.subarray(-4).toString()).toBe('end\n');
});

test.each([
  ['a link', 'ln -s /etc/passwd out.xml', 'did_not_run', 'no_report'],
  ['a FIFO', 'mkfifo out.xml', 'did_not_run', 'no_report'],
  ['a folder', 'mkdir out.xml', 'did_not_run', 'no_report'],
  ['an empty file', ': > out.xml', 'unknown', 'unreadable_report'],
  ['a file of more than 16 MiB', 'head -c 17000000 /dev/zero > out.xml', 'did_not_run', 'no_report'],
  ['tests that all passed', 'echo "<testsuite><testcase name=\'a\'/></testsuite>" > out.xml', 'passed', 'ok'],
])('judges a check whose report is %s', async (_what, command, verdict, reason) => {
  expect((await checkedTree({ command, report: 'out.xml' })).result).toMatchObject({ verdict, reason });
});

test('mounts a folder read-only for the check', async () => {
  const deps = temporaryFolder();
  const { result, at } = await checkedTree({ command: 'ls -d deps; touch deps/x' }, [deps]);
  expect(result).toMatchObject({ verdict: 'failed', reason: 'exit_code' });
  expect(readFileSync(at('stderr.txt'), 'utf8')).toMatch(/Read-only file system/);
});
