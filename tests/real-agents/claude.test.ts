import { expect, test } from 'vitest';
import { FINAL_TEXT } from '../../stand-ins/scenarios.ts';
import { EDIT, tryReal } from './behaviours.ts';
import { agentsFolder, expectInOrder, world } from './world.ts';

tryReal('claude');

test.runIf(agentsFolder !== '')('without a key, claude says so and ends', async () => {
  const made = await world();
  const run = await made.run('claude', 'SCENARIO=write', EDIT, null);
  expect(run.answer, run.stderr).toMatchObject({ termination: 'error', reason: 'auth_missing' });
  expect(made.api.asked).toEqual([]);
  await expectInOrder(made);
});

test.runIf(agentsFolder !== '')('claude completes although a background task outlives its last line', async () => {
  const made = await world();
  const run = await made.run('claude', 'SCENARIO=background', EDIT);
  expect(run.answer, run.stderr).toMatchObject({ termination: 'completed', reason: 'ok', final_response: FINAL_TEXT });
  expect(run.answer.left_running?.programs).toContain('sleep');
  await expectInOrder(made);
});
