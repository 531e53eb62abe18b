import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { runAgent } from '../../../src/verbs/run-agent.ts';
import { type Act, ACT_FILES, ACT_POLICY, type ActResult, ACTS, actResult, actTask } from '../../../stand-ins/acts.ts';
import { startModelApi } from '../../../stand-ins/model-api.ts';
import { ROOT } from '../../support/support.ts';
import { type Agent, AgentWorld, placePrograms } from './world.ts';

placePrograms();

/** `npm run docs` generates the table in docs/agents.md from these. */
const RESULTS = path.join(ROOT, 'stand-ins', 'acts.json');

test('every act has the same class for both agents, as in the table of docs/agents.md', async () => {
  const world = new AgentWorld(ACT_FILES);
  const api = await startModelApi();
  onTestFinished(() => api.close());
  world.place.file('acts.yaml', ACT_POLICY);
  const environment = {
    PATH: world.environment['PATH'],
    ANTHROPIC_API_KEY: 'the-key-of-the-model',
    ANTHROPIC_BASE_URL: api.url,
    OPENAI_API_KEY: 'the-key-of-the-model',
    OPENAI_BASE_URL: `${api.url}/v1`,
  };
  const resultsOf = async (agent: Agent): Promise<Record<string, ActResult>> => {
    const results: Record<string, ActResult> = {};
    for (const [name, act] of Object.entries(ACTS)) {
      const { policy } = act;
      const task = actTask(act, 'DO');
      const { cwd } = world.place;
      results[name] = actResult(await runAgent({ agent, task, policy, dir: world.repository, cwd, environment }));
    }
    return results;
  };
  const [claude, codex] = await Promise.all([resultsOf('claude'), resultsOf('codex')]);
  expect(codex).toEqual(claude);
  if (process.env['PROCTOR_WRITE_ACTS'] === '1') writeFileSync(RESULTS, `${JSON.stringify(claude, null, 2)}\n`);
  expect(claude).toEqual(JSON.parse(readFileSync(RESULTS, 'utf8')));
});

test('under fail_on_prompt, an agent that tries the network does not complete, whatever it claims', async () => {
  const world = new AgentWorld(ACT_FILES);
  world.place.file('strict.yaml', 'name: strict\nextends: edit\napproval_posture: fail_on_prompt\n');
  const { answer } = world.run('claude', actTask(ACTS['lookup'] as Act, 'DO'), ['--policy', 'strict.yaml']);
  expect(answer).toMatchObject({
    termination: 'killed_policy',
    reason: 'denied_tool',
    violations: [{ class: 'network_violation', source: 'sandbox', hard: true }],
  });
});

test('the policy summary lists what is read-only in the sandbox, and what is checked after the run', () => {
  const world = new AgentWorld(ACT_FILES);
  world.place.file('acts.yaml', ACT_POLICY);
  const { folder } = world.run('codex', 'DO=say', ['--policy', 'acts.yaml']);
  const summary = readFileSync(path.join(folder, 'evidence/steps/agent/policy_summary.json'), 'utf8');
  expect((JSON.parse(summary) as { capability_notes: string[] }).capability_notes).toEqual(
    expect.arrayContaining([
      'forbidden_paths: read-only in the sandbox: docs/legal',
      'forbidden_paths: checked after the run, because they do not exist yet or are symlinks: secrets.txt',
      'forbidden_operations: read-only in the sandbox: .git/HEAD, .git/packed-refs, .git/refs, .git/config, .git/hooks',
      expect.stringMatching(/^forbidden_operations: delete is checked after the run: /),
      expect.stringMatching(/^forbidden_operations: push is checked after the run: /),
    ]),
  );
});
