import { statSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { AgentWorld, completed, placePrograms, WITH_KEYS } from '../run/agent/world.ts';

placePrograms();

const MB = 1_000_000;

test.each(['read-only', 'edit', 'open'])(
  'a single write of 4 MB arrives complete under %s, even after a model request',
  policy => {
    const world = new AgentWorld();
    for (const agent of ['claude', 'codex'] as const) {
      const task = `DO=knock DO=at_once:${4 * MB}`;
      const { answer, folder, stderr } = world.run(agent, task, ['--policy', policy], WITH_KEYS);
      expect(answer, `${agent} ${stderr}`).toMatchObject(completed);
      expect(statSync(path.join(folder, 'evidence/native/stdout.log')).size).toBeGreaterThan(4 * MB);
    }
  },
);
