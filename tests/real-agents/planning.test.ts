import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import type { CaseArtifact } from '../../src/contracts/artifacts/index.ts';
import type { Evaluation } from '../../src/contracts/evaluation/index.ts';
import type { RunResult } from '../../src/contracts/run-result/index.ts';
import { FINAL_TEXT } from '../../stand-ins/scenarios.ts';
import { type Agent, agentsFolder, expectInOrder, KEY, world } from './world.ts';

const AGENTS: readonly Agent[] = ['claude', 'codex'];

describe.runIf(agentsFolder !== '').each(AGENTS)('the real %s', agent => {
  test('plans a goal, and the plan runs the same without the agent', async () => {
    const made = await world();
    writeFileSync(path.join(made.cwd, 'goal.json'), JSON.stringify({ goal: 'Say hello, by SCENARIO=plan' }));
    const planned = async (mode: string): Promise<RunResult> => {
      const flags = ['--policy', 'dev', '--mode', 'execute-sandbox', '--model-mode', mode, '--recording', 'plan.json'];
      const run = await made.with(agent, 'run', 'intent', 'goal.json', '--planner', agent, ...flags);
      expect(run.code, run.stderr).toBe(0);
      expect(run.stderr).toContain('planned by a model');
      return JSON.parse(run.stdout) as RunResult;
    };
    const recorded = await planned('record');
    expect(made.api.asked.map(({ scenario }) => scenario)).toEqual(['plan']);
    expect(readFileSync(path.join(made.cwd, 'plan.json'), 'utf8')).not.toContain(KEY);
    await made.api.close();
    const replayed = await planned('replay');
    expect(replayed).toEqual({
      ...recorded,
      model_mode: 'replay',
      run_id: replayed.run_id,
      started_at: replayed.started_at,
      completed_at: replayed.completed_at,
    });
    await expectInOrder(made);
  });

  test('answers the cases of a suite', async () => {
    const made = await world();
    const cases = [
      { id: 'says', input: { user: 'SCENARIO=say' }, expected: { equals: FINAL_TEXT, max_steps: 0 } },
      { id: 'runs', input: { user: 'SCENARIO=fail' }, expected: { contains: FINAL_TEXT, max_steps: 1 } },
      { id: 'fails', input: { user: 'SCENARIO=e401' } },
    ];
    writeFileSync(path.join(made.cwd, 'cases.json'), JSON.stringify(cases));
    const flags = ['--policy', 'edit', '--dir', made.repository, '--as', 'new', '--retries', '0', '--json'];
    const run = await made.with(agent, 'run', 'suite', 'cases.json', '--agent', agent, ...flags);
    const answer = JSON.parse(run.stdout) as { folder: string; runs: readonly object[] };
    expect(answer.runs, run.stderr).toMatchObject([{ cases_completed: 2, cases_failed: 1, not_passed: ['fails'] }]);
    const artifact = (id: string): CaseArtifact =>
      JSON.parse(readFileSync(path.join(made.cwd, answer.folder, `${id}.json`), 'utf8')) as CaseArtifact;
    expect(artifact('runs').events?.map(({ type }) => type)).toEqual(['tool_call', 'tool_result']);
    expect(artifact('fails').runner_failure).toMatchObject({ class: 'http_error', status: 401 });
    const { code, stdout } = await made.proctor('verify', answer.folder);
    expect(code, stdout).toBe(0);
  });

  test('is judged by its changes and denials, even in a replay', async () => {
    const made = await world();
    const user = 'SCENARIO=write';
    const cases = [
      {
        id: 'writes',
        input: { user },
        expected: { changed_only: ['hello.txt'], max_diff_lines: 1, no_violations: true },
      },
      { id: 'elsewhere', input: { user }, expected: { changed_only: ['docs'], not_changed: ['hello.*'] } },
    ];
    writeFileSync(path.join(made.cwd, 'cases.json'), JSON.stringify(cases));
    const judged = async (policy: string, ...more: string[]): Promise<Evaluation['cases']> => {
      const flags = ['--agent', agent, '--policy', policy, '--dir', made.repository, '--as', 'new', '--json', ...more];
      const run = await made.with(agent, 'run', 'suite', 'cases.json', ...flags);
      expect(run.stdout, run.stderr).toContain('"finished":true');
      const { folder } = JSON.parse(run.stdout) as { folder: string };
      const { code, stdout } = await made.proctor('verify', folder);
      expect(code, stdout).toBe(0);
      return (JSON.parse(readFileSync(path.join(made.cwd, folder, 'evaluation.json'), 'utf8')) as Evaluation).cases;
    };
    const failing = (all: Evaluation['cases']): unknown =>
      all.map(({ verdict, assertions }) => [
        verdict,
        ...assertions.filter(({ status }) => status === 'fail').map(({ name }) => name),
      ]);
    const expected = [['pass'], ['fail', 'changed_only', 'not_changed']];
    expect(failing(await judged('edit', '--model-mode', 'record', '--recordings', 'recorded'))).toEqual(expected);
    const [denied] = await judged('read-only');
    expect(denied).toMatchObject({ verdict: 'fail' });
    await made.api.close();
    expect(failing(await judged('edit', '--model-mode', 'replay', '--recordings', 'recorded'))).toEqual(expected);
  });
});
