import { expect, test } from 'vitest';
import { EDIT, tryReal } from './behaviours.ts';
import { agentsFolder, expectInOrder, world } from './world.ts';

tryReal('codex');

test.runIf(agentsFolder !== '')('without a key, codex says so and ends', async () => {
  const made = await world();
  const run = await made.run('codex', 'SCENARIO=write', EDIT, null);
  expect(run.answer, run.stderr).toMatchObject({ termination: 'error', reason: 'auth_missing' });
  expect(run.answer.message).toContain('Set OPENAI_API_KEY');
  expect(made.api.asked).toEqual([]);
  await expectInOrder(made);
});

test.runIf(agentsFolder !== '')('background commands do not disable the turn limit', async () => {
  const made = await world();
  const run = await made.run('codex', 'SCENARIO=background_loop', [...EDIT, '--max-turns', '3']);
  expect(run.answer, run.stderr).toMatchObject({ termination: 'error', reason: 'limit_turns' });
  expect(made.api.asked.length).toBeLessThanOrEqual(5);
  await expectInOrder(made);
});

test.runIf(agentsFolder !== '')('a command that codex leaves running does not outlive it', async () => {
  const made = await world();
  const run = await made.run('codex', 'SCENARIO=background', EDIT);
  expect(run.answer, run.stderr).toMatchObject({ termination: 'completed', reason: 'ok' });
  expect(run.answer.left_running).not.toBeNull();
  await expectInOrder(made);
});
