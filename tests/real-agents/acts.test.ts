import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { ACT_FILES, ACT_POLICY, ACTS, type ActResult, actResult, actTask } from '../../stand-ins/acts.ts';
import { ROOT } from '../support/support.ts';
import { type Agent, agentsFolder, expectInOrder, world } from './world.ts';

const RESULTS = JSON.parse(readFileSync(path.join(ROOT, 'stand-ins', 'acts.json'), 'utf8')) as Record<
  string,
  ActResult
>;

describe.runIf(agentsFolder !== '').each<Agent>(['claude', 'codex'])('the real %s', agent => {
  test.each(Object.entries(ACTS))('gets the same class as its stand-in: %s', async (name, act) => {
    const made = await world(ACT_FILES);
    writeFileSync(path.join(made.cwd, 'acts.yaml'), ACT_POLICY);
    const run = await made.run(agent, actTask(act, 'SCENARIO'), ['--policy', act.policy]);
    expect(actResult(run.answer), `${run.stderr}\n${run.outputs.join('\n')}`).toEqual(RESULTS[name]);
    await expectInOrder(made);
  });

  test('makes no network attempt on its own', async () => {
    const made = await world();
    const run = await made.run(agent, 'SCENARIO=write', ['--policy', 'edit']);
    const outcome = JSON.parse(readFileSync(path.join(run.folder, 'evidence', 'outcome.json'), 'utf8')) as object;
    expect(outcome).toMatchObject({ termination: 'completed', network_attempts: 0 });
  });
});
