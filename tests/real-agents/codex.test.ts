import { expect, test } from 'vitest';
import { EDIT, tryReal } from './behaviours.ts';
import { agentsFolder, expectInOrder, world } from './world.ts';

tryReal('codex');

test.runIf(agentsFolder !== '')('without a key, codex says so, and ends', async () => {
  const made = await world();
  const run = await made.run('codex', 'SCENARIO=write', EDIT, null);
  expect(run.answer, run.stderr).toMatchObject({ termination: 'error', reason: 'auth_missing' });
  expect(run.answer.message).toContain('set OPENAI_API_KEY');
  expect(made.api.asked).toEqual([]);
  await expectInOrder(made);
});
