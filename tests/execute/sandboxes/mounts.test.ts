import { chmodSync, existsSync, mkdirSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { reachable } from '../../../src/execute/sandboxes/mounts.ts';
import { uidFor } from '../../../src/execute/sandboxes/users.ts';
import { temporaryFolder } from '../../support/support.ts';
import { stageFor } from '../worktree/clone-world.ts';

// A sandbox runs as another user, who may lack access, only when root starts it.
const isAnother = uidFor(0) !== undefined;

test('copies packages for a sandbox if one of them is unreadable, but not because of a hidden cache', async () => {
  const folder = path.join(temporaryFolder(), 'node_modules');
  for (const name of ['agent', '.cache']) mkdirSync(path.join(folder, name), { recursive: true, mode: 0o755 });
  chmodSync(path.dirname(folder), 0o755);
  chmodSync(path.join(folder, '.cache'), 0o700);
  const shown = async (): Promise<string | undefined> => {
    const [mount] = await reachable([{ source: folder, target: '/agent/node_modules' }], stageFor());
    return mount?.source;
  };
  expect(await shown()).toBe(folder);
  chmodSync(path.join(folder, 'agent'), 0o700);
  const closed = (await shown()) as string;
  expect(closed === folder).toBe(!isAnother);
  expect(existsSync(path.join(closed, 'agent'))).toBe(true);
});
