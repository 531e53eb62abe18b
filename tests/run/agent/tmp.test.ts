import { expect, test } from 'vitest';
import { AgentWorld, completed, placePrograms } from './world.ts';

placePrograms();

test('an agent may store more in /tmp than a script, within its memory limit', () => {
  const world = new AgentWorld();
  world.place.file('small.yaml', 'name: small\nextends: edit\nlimits:\n  memory_bytes: 536870912\n');
  const { answer, stderr } = world.run('claude', 'DO=fill_tmp:200000000');
  expect(answer, stderr).toMatchObject({ ...completed, final_response: '200000000 bytes in /tmp' });
  // More than half of its memory limit. The write fails, and the agent continues.
  const small = world.run('claude', 'DO=fill_tmp:300000000', ['--policy', 'small.yaml']);
  expect(small.answer, small.stderr).toMatchObject({ ...completed, final_response: 'ENOSPC' });
});
