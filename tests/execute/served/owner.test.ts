import { type ChildProcess, spawn } from 'node:child_process';
import { chmodSync, copyFileSync } from 'node:fs';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { build } from 'esbuild';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { findCgroups } from '../../../src/execute/cgroups/cgroups.ts';
import { isAlive } from '../../../src/execute/host/processes.ts';
import { removeAbandoned } from '../../../src/execute/launcher/abandoned.ts';
import { allGone, processesWith } from '../../conformance/support.ts';
import { ROOT, temporaryFolder } from '../../support/support.ts';
import type { ServedOrder } from './driver.ts';
import { agentOf, sleepersOf, type TestAgent } from './served-world.ts';

const { version } = await findCgroups();
const isRoot = process.geteuid?.() === 0;
const USERS: readonly (readonly [string, number | undefined])[] = [
  ['this user', undefined],
  ...(isRoot ? [['an ordinary user', 65_534] as const] : []),
];

describe.each(USERS)('for %s', (_, uid) => {
  test('stop ends the agent and everything it started, and the log is masked', async () => {
    const agent = agentOf(FAMILY);
    const { owner, said } = await owned(agent, 'stop', uid);
    await expect.poll(() => sleepersOf(agent)).toHaveLength(3);
    owner.stdin?.end('\n');
    expect(await said()).toEqual({
      exit: { code: null, signal: 'SIGTERM' },
      log: 'the key is [masked]\n',
      version: '[masked] 1.2.3',
    });
    expect(processesWith(agent.word)).toEqual([]);
  });

  test('the agent and everything it started end if Proctor is killed', async () => {
    const agent = agentOf(FAMILY);
    const { owner, keeper } = await owned(agent, 'hold', uid);
    await expect.poll(() => sleepersOf(agent)).toHaveLength(3);
    owner.kill('SIGKILL');
    await allGone(agent.word);
    await expect.poll(() => isAlive(keeper)).toBe(false);
  });

  test('the agent ends if Proctor and the keeper are killed at once', async () => {
    const agent = agentOf(`serve({ '/': () => [200] });`);
    await killBoth(await owned(agent, 'hold', uid));
    await allGone(agent.word);
  });

  test('an agent that Proctor forgets does not keep Proctor alive, and ends with it', async () => {
    const agent = agentOf(FAMILY);
    const { owner } = await owned(agent, 'forget', uid);
    await expect.poll(() => owner.exitCode).toBe(0);
    await allGone(agent.word);
  });
});

test.runIf(version !== 'none')('a cleanup ends what is left if Proctor and the keeper are killed at once', async () => {
  vi.stubEnv('TMPDIR', temporaryFolder());
  onTestFinished(() => void vi.unstubAllEnvs());
  const agent = agentOf(FAMILY);
  const running = await owned(agent, 'hold', undefined);
  await expect.poll(() => sleepersOf(agent)).toHaveLength(3);
  await killBoth(running);
  await expect.poll(() => processesWith(agent.word)).toEqual(sleepersOf(agent));
  await expect.poll(() => isAlive(running.keeper)).toBe(false);
  await removeAbandoned();
  expect(processesWith(agent.word)).toEqual([]);
});

/** The stopped keeper cannot see that Proctor died. */
async function killBoth({ owner, keeper }: Owned): Promise<void> {
  process.kill(keeper, 'SIGSTOP');
  owner.kill('SIGKILL');
  await expect.poll(() => owner.signalCode).toBe('SIGKILL');
  process.kill(keeper, 'SIGKILL');
}

/** Children in separate sessions: with a parent, without one, and without their environment. */
const FAMILY = `
console.log('the key is hunter2-hunter2');
spawn('/usr/bin/setsid', asleep, { stdio: 'ignore' });
spawn('/bin/sh', ['-c', 'setsid "$@" & exit 0', 'sh', ...asleep], { stdio: 'ignore' });
spawn('/usr/bin/setsid', asleep, { stdio: 'ignore', env: {} });
serve({ '/': () => [200] });`;

interface Owned {
  readonly owner: ChildProcess;
  readonly keeper: number;
  /** The next line that the owner prints. */
  readonly said: () => Promise<unknown>;
}

/** Starts an agent through a process that plays Proctor. Resolves when the agent is ready. */
async function owned({ run, cwd }: TestAgent, then: ServedOrder['then'], uid: number | undefined): Promise<Owned> {
  const folder = temporaryFolder();
  chmodSync(folder, 0o755);
  const outfile = path.join(folder, 'driver.mjs');
  await build({
    entryPoints: [path.join(import.meta.dirname, 'driver.ts')],
    outfile,
    bundle: true,
    format: 'esm',
    platform: 'node',
  });
  copyFileSync(path.join(ROOT, 'dist', 'served-keeper.js'), path.join(folder, 'served-keeper.js'));
  const order: ServedOrder = { run, cwd, then };
  const owner = spawn(process.execPath, [outfile, JSON.stringify(order).replace('"agent-', '"\\u0061gent-')], {
    cwd: '/',
    env: { PATH: '/usr/bin:/bin' },
    stdio: ['pipe', 'pipe', 'inherit'],
    ...(uid !== undefined && { uid, gid: uid }),
  });
  onTestFinished(() => void owner.kill('SIGKILL'));
  const lines = createInterface({ input: owner.stdout as NodeJS.ReadableStream })[Symbol.asyncIterator]();
  const said = async (): Promise<unknown> => JSON.parse(((await lines.next()) as { value: string }).value);
  const { keeper } = (await said()) as { keeper: number };
  return { owner, keeper, said };
}
