import { readdirSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { closeLauncher } from '../../../src/verbs/launcher.ts';
import { testProject, type TestResult } from '../../../src/verbs/test/test-project.ts';
import { projectFolder, WORSE } from './world.ts';

afterAll(closeLauncher);

const environment = { PATH: process.env['PATH'] };

const decision = ({ exitCode, suites }: TestResult) => ({
  exitCode,
  suites: suites.map(({ name, comparison, run }) => ({
    name,
    verdict: comparison?.verdict,
    cases: comparison?.cases.map(({ case_id, change }) => [case_id, change]),
    checks: run?.checks,
    failing: run?.runs.map(({ notPassed }) => notPassed),
  })),
});

test('parts decide as one process does, with and without a regression', async () => {
  const cwd = projectFolder();
  await testProject({ cwd, environment, accept: true });
  for (const isWorse of [false, true]) {
    if (isWorse) writeFileSync(path.join(cwd, 'agent.mjs'), WORSE);
    const alone = await testProject({ cwd, environment });
    for (const index of [1, 2]) {
      const part = await testProject({ cwd, environment, shard: { index, total: 2 }, out: 'parts' });
      expect(part).toMatchObject({
        exitCode: 0,
        suites: [{ comparison: null, reports: {}, run: { shard: { index } } }],
      });
    }
    expect(readdirSync(path.join(cwd, 'parts/desk'))).toEqual(
      [1, 2].map(index => `desk.new.${index}-of-2.proctor.tar`),
    );
    const merged = await testProject({ cwd, environment, parts: ['parts'] });
    expect(decision(merged)).toEqual(decision(alone));
    expect(merged.exitCode).toBe(isWorse ? 1 : 0);
    expect(Object.keys(merged.suites[0]?.reports ?? {})).toEqual(['html']);
  }
});

test('a missing part leaves the test undecided, and a merged result can be accepted', async () => {
  const cwd = projectFolder();
  for (const index of [1, 2, 3]) await testProject({ cwd, environment, shard: { index, total: 3 } });
  const parts = path.join(cwd, '.proctor/parts');
  const accepted = await testProject({ cwd, environment, parts: [parts], accept: true });
  expect(accepted).toMatchObject({ exitCode: 0, suites: [{ accepted: { cases: 2, passed: 2 } }] });
  rmSync(path.join(parts, 'desk/desk.new.2-of-3.proctor.tar'));
  expect(await testProject({ cwd, environment, parts: [parts] })).toMatchObject({
    exitCode: 3,
    suites: [{ fault: { code: 'parts_missing', message: expect.stringContaining('shard 2/3 (1 case)') as string } }],
  });
});

test.each([
  [{ shard: { index: 1, total: 2 }, accept: true }, 'Use --shard without --accept'],
  [{ parts: ['.'], only: ['opening'] }, 'The parts have run already, so only has no effect.'],
])('refuses options that would have no effect: %j', async (options, message) => {
  await expect(testProject({ cwd: projectFolder(), environment, ...options })).rejects.toThrow(message);
});
