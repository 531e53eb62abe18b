import { readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import type { AgentOutcome } from '../../src/contracts/agent-step/index.ts';
import { EDIT } from './behaviours.ts';
import { type Agent, agentsFolder, expectInOrder, world } from './world.ts';

const AGENTS: readonly Agent[] = ['claude', 'codex'];

const outcomeIn = (folder: string): AgentOutcome =>
  JSON.parse(readFileSync(path.join(folder, 'evidence/outcome.json'), 'utf8')) as AgentOutcome;

describe.runIf(agentsFolder !== '').each(AGENTS)('the model proxy of the real %s', agent => {
  test('passes its requests unchanged, and both token counts agree', async () => {
    const made = await world();
    const run = await made.run(agent, 'SCENARIO=write', EDIT);
    const { termination, reported, model_access } = outcomeIn(run.folder);
    expect(termination, run.stderr).toBe('completed');
    expect(model_access).toMatchObject({
      requests: 2,
      failures: 0,
      last_status: 200,
      counted: { requests: 2, input_tokens: 200, output_tokens: 40, cost_usd: null, estimated: 0 },
      refused: { total: 0, listed: [] },
      stripped: { total: 0, listed: [] },
    });
    expect(reported).toMatchObject({ input_tokens: 200, output_tokens: 40 });
    await expectInOrder(made);
  });

  test('rejects an upload by a command that found the token', async () => {
    const made = await world();
    const run = await made.run(agent, 'SCENARIO=upload', EDIT);
    expect(run.outputs.join('\n'), run.stderr).toContain('an endpoint that is not allowed: POST /v1/files');
    expect(run.answer).toMatchObject({ termination: 'completed', violations: [{ class: 'network_violation' }] });
    expect(made.api.asked.map(({ path }) => path)).not.toContain('/v1/files');
    expect(outcomeIn(run.folder).model_access.refused).toEqual({
      total: 1,
      listed: [{ what: 'endpoint', where: 'POST /v1/files', count: 1 }],
    });
    await expectInOrder(made);
  });

  test('ends the agent at its request limit', async () => {
    const made = await world();
    const run = await made.run(agent, 'SCENARIO=loop', [...EDIT, '--max-requests', '3']);
    expect(run.answer, run.stderr).toMatchObject({ termination: 'error', reason: 'limit_budget' });
    expect(made.api.asked).toHaveLength(3);
    expect(outcomeIn(run.folder).model_access.counted).toMatchObject({ requests: 3, input_tokens: 300 });
    await expectInOrder(made);
  });

  test.each([
    ['e400', 400],
    ['e429', 429],
    ['e500', 500],
  ])('reports the status of the model API: %s', async (scenario, status) => {
    const made = await world();
    const run = await made.run(agent, `SCENARIO=${scenario}`, [...EDIT, '--idle-timeout', '60s']);
    const { termination, reason, api_status, model_access } = outcomeIn(run.folder);
    expect({ termination, reason, api_status }, run.stderr).toEqual({
      termination: 'error',
      reason: 'api_error',
      api_status: status,
    });
    expect(model_access.failures).toBe(model_access.requests);
    expect(model_access.last_status).toBe(status);
    await expectInOrder(made);
  });

  test('reports an unreachable model as such, and not as a status', async () => {
    const made = await world();
    await made.api.close();
    const run = await made.run(agent, 'SCENARIO=say', EDIT);
    const { reason, detail, api_status, model_access } = outcomeIn(run.folder);
    expect({ reason, detail, api_status }, run.stderr).toEqual({
      reason: 'api_error',
      detail: 'The model API refuses connections.',
      api_status: null,
    });
    expect(model_access.last_status).toBeNull();
    await expectInOrder(made);
  });
});
