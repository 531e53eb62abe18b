import { chmodSync, existsSync, mkdirSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { reachable } from '../../src/execute/mounts.ts';
import { uidFor } from '../../src/execute/sandboxes/users.ts';
import { temporaryFolder } from '../support.ts';
import { stageFor } from './clone-world.ts';

// Only root's runs are another user, to whom something can be closed.
const isAnother = uidFor(0) !== undefined;

test('packages are copied for a sandbox where one of them is closed, and not for a hidden cache among them', async () => {
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
