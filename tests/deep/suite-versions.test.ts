import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import type { Matrix } from '../../src/contracts/matrix.ts';
import { AgentWorld, placePrograms, WITH_KEYS } from '../run/agent/world.ts';
import { doing } from './check-world.ts';

placePrograms();

const CASES = [
  { id: 'said', input: { user: 'DO=tested' }, expected: { contains: 'Done.' } },
  { id: 'tool', input: { user: 'DO=tested' }, expected: { tool_sequence: ['Bash'] } },
];

function suite(world: AgentWorld, cases: readonly object[], flags: readonly string[]): string[] {
  world.place.file('cases.jsonl', cases.map(one => `${JSON.stringify(one)}\n`).join(''));
  return ['run', 'suite', 'cases.jsonl', '--dir', world.repository, ...flags];
}

const TWO_BY_TWO = ['--agent', 'claude', '--agent', 'codex', '--model', 'm1', '--model', 'm2'];

test('runs two agents with two models, and judges the four versions as a matrix', () => {
  const world = new AgentWorld();
  const { code, stdout, stderr } = world.tried(
    suite(world, CASES, [...TWO_BY_TWO, '--gate', 'strict', '--concurrency', '2', '--json']),
    WITH_KEYS,
  );
  const matrix = JSON.parse(stdout) as Matrix & { reports: Record<string, string>; suites: { name: string }[] };
  expect([code, matrix.exit_code], stderr).toEqual([1, 1]);
  const names = ['claude m1', 'claude m2', 'codex m1', 'codex m2'];
  expect(matrix.versions.map(({ name }) => name)).toEqual(names);
  expect(matrix.suites.map(({ name }) => name)).toEqual(names);
  expect(matrix.versions.map(({ solved }) => solved)).toEqual([2, 2, 1, 1]);
  expect(matrix.pairs).toHaveLength(12);
  expect(Object.keys(matrix.reports)).toEqual(['html', 'md', 'json']);
  for (const file of Object.values(matrix.reports)) expect(existsSync(path.join(world.place.cwd, file))).toBe(true);
  expect(readFileSync(path.join(world.place.cwd, matrix.reports['md'] ?? ''), 'utf8')).toContain('codex m2');
  // `view` finds the matrix as the latest page, and by its id.
  for (const word of ['latest', matrix.matrix_id])
    expect(JSON.parse(world.tried(['view', word, '--no-open', '--json']).stdout).report).toBe(matrix.reports['html']);
});

test('after an interrupt, the message says what to resume, what to run next and how to compare', async () => {
  const world = new AgentWorld();
  const [hangs] = [{ id: 'hangs', input: { user: doing('sleep 300') }, expected: {} }];
  const args = suite(world, [hangs], ['--agent', 'claude', '--agent', 'codex']);
  const started = world.place.start(args, { ...world.environment, ...WITH_KEYS });
  await expect.poll(() => world.tried(['list']).stdout, { timeout: 60_000 }).toContain('running');
  started.kill('SIGINT');
  const { code, stderr } = await started.ended;
  expect(code).toBe(130);
  const [, id] = /resume {4}proctor run suite --resume (suite_\w+)/.exec(stderr) ?? [];
  expect(stderr).toContain('  then run  codex\n');
  expect(stderr).toContain(`proctor compare ${id} RUN`);
});

test.each([
  ['several versions as a baseline', [...TWO_BY_TWO, '--as', 'baseline'], 'run as candidates'],
  [
    'models whose recordings would share a folder',
    ['--agent', 'claude', '--model', 'a/b', '--model', 'a-b', '--model-mode', 'replay', '--recordings', 'tapes'],
    '"claude a/b" and "claude a-b" would share one folder of recordings',
  ],
  ['one run id for several versions', [...TWO_BY_TWO, '--run-id', 'x'], '--run-id names one run'],
  ['several models without an agent', ['--model', 'a', '--model', 'b'], 'Several models need an agent.'],
  ['an unknown agent', ['--agent', 'claude', '--agent', 'clade'], 'clade'],
])('refuses %s', (_, flags, says) => {
  const world = new AgentWorld();
  const { code, stderr } = world.tried(suite(world, CASES, flags), WITH_KEYS);
  expect([code, stderr]).toEqual([2, expect.stringContaining(says)]);
  expect(existsSync(path.join(world.place.cwd, '.proctor/runs/new'))).toBe(false);
});
