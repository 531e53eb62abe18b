import { cpSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import type { AttemptsReport } from '../../src/contracts/attempts.ts';
import { gitIn } from '../../stand-ins/git.ts';
import { AgentWorld, placePrograms } from '../run/agent/world.ts';
import { doing, FIX, PROJECT } from './check-world.ts';

placePrograms();

type Told = Omit<AttemptsReport, 'attempts'> & {
  readonly attempts: readonly (AttemptsReport['attempts'][number] & { readonly folder: string })[];
};

/** Gives each attempt its own command, because all attempts have one task. The policy `open` lets them fetch it. */
async function commands(...all: readonly string[]): Promise<string> {
  let next = 0;
  const server = createServer((_, response) => response.end(all[next++ % all.length]));
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  return doing(`eval "$(node -e "fetch('${url}').then(reply => reply.text()).then(console.log)")"`);
}

async function attempts(world: AgentWorld, task: string, flags: readonly string[]) {
  const started = world.start('claude', task, ['--policy', 'open', ...flags]);
  const ran = await started.ended;
  expect(ran.stdout, ran.stderr).toMatch(/^\{.*\}\n$/);
  return { ...ran, report: JSON.parse(ran.stdout) as Told };
}

const LARGE = `${FIX}; printf 'one\\ntwo\\nthree\\n' > notes.txt`;
const applied = (world: AgentWorld, ...args: readonly string[]) =>
  world.tried(['apply', ...args, '--dir', world.repository]);

test('ranks five attempts, two of which pass, and applies the passing attempt with the smaller diff', async () => {
  const world = new AgentWorld(PROJECT);
  const task = await commands('true', LARGE, 'echo x > x.txt', FIX, 'exit 1');
  const { code, report, stderr } = await attempts(world, task, ['--attempts', '5', '--check', 'unit=npm test']);
  expect(code, stderr).toBe(0);
  expect(report).toMatchObject({ kind: 'attempts', of: 5, judged_by: 'checks', not_ranked: [], is_evidence: false });
  const [first, second] = report.attempts;
  expect(report.attempts.map(({ checks }) => checks.passed)).toEqual([1, 1, 0, 0, 0]);
  expect([first?.diff, second?.diff]).toEqual([
    { files: 1, added: 1, removed: 1 },
    { files: 2, added: 4, removed: 1 },
  ]);
  expect(report.winner).toEqual({ attempt: first?.attempt, run_id: first?.run_id });
  expect(report.why).toContain('No attempt with equal checks and tests has a smaller diff: 2 lines.');
  for (const { attempt, folder } of report.attempts) {
    const request = JSON.parse(readFileSync(path.join(world.place.cwd, folder, 'evidence/request.json'), 'utf8'));
    expect(request.attempt).toEqual({ group: report.group, number: attempt, of: 5 });
  }
  const shown = world.tried(['show', report.group]).stdout;
  expect(shown).toContain(`attempt ${first?.attempt} wins`);
  expect(shown).toMatch(/^rank {2}attempt {2}run/m);
  expect(world.tried(['list']).stdout).toContain(`attempt 1 of 5 in ${report.group}`);
  const taken = applied(world, 'latest');
  expect([taken.code, taken.stdout], taken.stderr).toEqual([
    0,
    expect.stringContaining(`attempt ${first?.attempt} of 5`),
  ]);
  expect(gitIn(world.repository, 'status', '--porcelain').trim()).toBe('M src/add.js');
  // `apply` still accepts the id of a run, here with a branch.
  const named = applied(world, second?.run_id ?? '', '--branch', 'second');
  expect(named.code, named.stderr).toBe(0);
  expect(applied(world, report.group, '--branch', 'first').code).toBe(0);
  expect(gitIn(world.repository, 'show', '--stat', '--format=', 'first')).not.toContain('notes.txt');
});

test('refuses to apply if no attempt wins, or if one is forged or copied; prune keeps the group whole', async () => {
  const world = new AgentWorld(PROJECT);
  const flags = ['--attempts', '2', '--check', 'grep -q "a + b" src/add.js'];
  const none = await attempts(world, await commands('true'), flags);
  expect([none.code, none.report.winner, none.report.ties]).toEqual([1, null, [[1, 2]]]);
  expect(applied(world, 'latest').stderr).toContain('No attempt completed with all checks passed.');

  const { report } = await attempts(world, await commands(FIX, LARGE), flags);
  const [first, second] = report.attempts.map(({ folder }) => path.join(world.place.cwd, folder)) as [string, string];
  const copy = path.join(path.dirname(first), 'agent_20260101_000000_000000000000');
  cpSync(first, copy, { recursive: true });
  expect(applied(world, report.group).stderr).toContain(
    `(${path.basename(copy)}) cannot be ranked. It does not verify`,
  );
  rmSync(copy, { recursive: true });

  const outcome = path.join(second, 'evidence/outcome.json');
  const before = readFileSync(outcome);
  writeFileSync(outcome, before.toString().replace('"completed"', '"error"'));
  const { code, stderr } = applied(world, report.group);
  expect([code, stderr]).toEqual([1, expect.stringContaining(path.basename(second))]);
  expect(world.tried(['show', report.group]).stdout).toContain('no attempt wins');
  writeFileSync(outcome, before);

  renameSync(second, path.join(world.place.temp, 'away'));
  const rest = applied(world, report.group);
  expect([rest.code, rest.stdout]).toEqual([0, expect.stringContaining('it did not run, or its folder was removed')]);
  renameSync(path.join(world.place.temp, 'away'), second);

  // The date in its name makes this run old, but the other run of its group is new.
  renameSync(first, copy);
  const { removed, kept } = JSON.parse(world.tried(['prune', '--older-than', '30d', '--json']).stdout);
  expect([removed, kept]).toEqual([[], [{ group: report.group, runs: 1 }]]);
  renameSync(copy, first);
});

test('an interrupt stops all attempts, and each leaves its evidence', async () => {
  const world = new AgentWorld(PROJECT);
  const started = world.start('claude', doing('sleep 300'), ['--attempts', '3', '--check', 'true']);
  await expect.poll(() => started.stderr.match(/running {2}agent_/g)?.length, { timeout: 60_000 }).toBe(3);
  started.kill('SIGINT');
  const { code, stdout } = await started.ended;
  const report = JSON.parse(stdout) as Told;
  expect([code, report.winner, report.attempts.length]).toEqual([130, null, 3]);
  expect(report.attempts.every(({ termination }) => termination !== 'completed')).toBe(true);
});

test('after a kill, proctor recover recovers every attempt, and none of them wins', async () => {
  const world = new AgentWorld(PROJECT);
  const started = world.start('claude', doing('sleep 300'), ['--attempts', '2', '--check', 'true']);
  await expect.poll(() => started.stderr.match(/running {2}agent_/g)?.length, { timeout: 60_000 }).toBe(2);
  started.kill('SIGKILL');
  await started.ended;
  const runs = path.join(world.place.cwd, '.proctor/runs/agent');
  expect(applied(world, 'latest').code).not.toBe(0);
  // Recovery leaves a run to a later call if its launcher is still saving the work tree.
  let recovered = 0;
  const recover = (): number => {
    recovered += world.tried(['recover', '--json']).stdout.match(/"recovered"/g)?.length ?? 0;
    return recovered;
  };
  await expect.poll(recover, { timeout: 60_000 }).toBe(2);
  const { attempt } = JSON.parse(
    readFileSync(path.join(runs, readdirSync(runs)[0] ?? '', 'evidence/metadata.json'), 'utf8'),
  );
  const report = JSON.parse(world.tried(['show', attempt.group, '--json']).stdout) as Told;
  expect([report.winner, report.attempts.length, report.not_ranked]).toEqual([null, 2, []]);
});

test.each([
  [['--attempts', '1'], 'must be from 2 to 20'],
  [['--attempts', '21'], 'must be from 2 to 20'],
  [['--attempts', '2', '--model-mode', 'record', '--recording', 'x.json'], 'cannot record to one file'],
])('refuses %s', (flags, says) => {
  const world = new AgentWorld(PROJECT);
  const { code, stdout } = world.tried(world.args('claude', 'DO=tested', flags));
  expect([code, stdout]).toEqual([2, expect.stringContaining(says)]);
});
