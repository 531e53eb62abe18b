import { readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { AgentWorld, completed, linesIn, placePrograms, WITH_KEYS } from '../run/agent/world.ts';

placePrograms();

const STAYS = { processes: 1, programs: ['daemon'] };
const LEAVES = 'DO=detach_as:daemon';

test.each([
  ['with the model proxy', WITH_KEYS],
  ['without the model proxy', {}],
])('kills a daemon that an agent leaves running, and reports its name, %s', (_, env) => {
  const world = new AgentWorld();
  const { answer, folder, stderr } = world.run('claude', LEAVES, [], env);
  expect(answer, stderr).toMatchObject({ ...completed, ending: { how: 'exited', code: 0 }, left_running: STAYS });
  const outcome = JSON.parse(readFileSync(path.join(folder, 'evidence/outcome.json'), 'utf8')) as object;
  expect(outcome).toMatchObject({ left_running: STAYS, survivors: 0 });
  expect(world.tried(['show', 'latest']).stdout).toMatch(/running {3}1 process left when the agent ended: daemon\n/);
});

test('an agent that reports success and keeps running counts as completed, and its leftover processes are reported', () => {
  const world = new AgentWorld();
  const { answer, code, folder, stderr } = world.run('codex', `${LEAVES} DO=linger`);
  expect(answer, stderr).toMatchObject({ ...completed, ending: { how: 'killed', by: 'idle' }, left_running: STAYS });
  expect(code).toBe(0);
  expect(linesIn(folder).at(-1)).toMatchObject({ kind: 'final', ok: true });
  const { code: verified, stdout } = world.tried(['verify', 'latest']);
  expect(verified, stdout).toBe(0);
});

test('masks a program name that is a secret', () => {
  const world = new AgentWorld();
  const { answer } = world.run('claude', 'DO=detach_as:hunter2222', ['--secret', 'TOKEN'], {
    TOKEN: 'hunter2222',
  });
  expect(answer).toMatchObject({ ...completed, left_running: { processes: 1, programs: ['[masked]'] } });
});
