import { expect, test } from 'vitest';
import { EDIT, tryReal } from './behaviours.ts';
import { agentsFolder, expectInOrder, world } from './world.ts';

tryReal('claude');

test.runIf(agentsFolder !== '')('without a key, claude says so, and ends', async () => {
  const made = await world();
  const run = await made.run('claude', 'SCENARIO=write', EDIT, null);
  expect(run.answer, run.stderr).toMatchObject({ termination: 'error', reason: 'auth_missing' });
  expect(made.api.asked).toEqual([]);
  await expectInOrder(made);
});
