import { readdirSync } from 'node:fs';
import { afterAll, expect, test } from 'vitest';
import { observe } from '../../src/execute/canary.ts';
import type { Job } from '../../src/execute/job.ts';
import { type Launcher, openLauncher } from '../../src/execute/launch.ts';
import { LIMITS, unique } from '../conformance/jobs.ts';
import { temporaryFolder } from '../support.ts';

const launcher = openLauncher();
afterAll(() => launcher.close());
const { missing } = await launcher.machine();

const job = (writeRoots?: readonly string[], more: Partial<Job> = {}): Job => ({
  id: unique('canary'),
  backend: 'process',
  argv: ['node', '--version'],
  then: [['node', '--version']],
  programs: ['node'],
  env: {},
  stage: '/nowhere',
  staged: ['src', 'package.json'],
  network: 'blocked',
  limits: LIMITS,
  secrets: [],
  live: false,
  ...(writeRoots && { writeRoots }),
  ...more,
});

test.runIf(missing.length === 0)(
  'bounds of where a program may write are tried and remembered by themselves',
  async () => {
    const memory = temporaryFolder();
    const noteOf = async (writeRoots?: readonly string[]): Promise<string | undefined> => {
      const observations = await observe(launcher, job(writeRoots), memory);
      expect(observations.map(({ held }) => held)).toEqual([true, true, true, true]);
      return observations.find(({ what }) => what === 'file_system')?.note;
    };
    const free = await noteOf();
    expect(await noteOf(['.', 'out'])).toBe(free);
    expect(readdirSync(memory)).toHaveLength(2);
    const bound = await noteOf(['out', 'src/generated']);
    expect(bound).not.toBe(free);
    expect(readdirSync(memory)).toHaveLength(3);
    // Which places they are makes no other sandbox.
    expect(await noteOf(['other'])).toBe(bound);
    expect(readdirSync(memory)).toHaveLength(3);
    // One without any is made in another way.
    expect(await noteOf([])).toBe(bound);
    expect(readdirSync(memory)).toHaveLength(4);
  },
);

test.runIf(missing.length === 0)('a sandbox that lets a program write elsewhere is found out', async () => {
  for (const leak of [{ writeRoots: ['.'] }, { writeRoots: ['roots'] }]) {
    const leaky: Launcher = { ...launcher, open: asked => launcher.open({ ...asked, ...leak }) };
    await expect(observe(leaky, job(['out']))).rejects.toThrow(expect.objectContaining({ code: 'sandbox_leaks' }));
  }
});

test.runIf(missing.length === 0)('notices a file of /proc that describes the machine and is not covered', async () => {
  for (const place of ['/proc/cmdline', '/proc/1/mem']) {
    const leaky: Launcher = {
      ...launcher,
      open: asked => launcher.open({ ...asked, argv: asked.argv.map(word => word.replace(place, '/proc/version')) }),
    };
    await expect(observe(leaky, job(['.']))).rejects.toMatchObject({
      code: 'sandbox_leaks',
      message: expect.stringContaining('file system'),
    });
  }
});

test.runIf(missing.length === 0)('what an agent has around it is tried and remembered by itself', async () => {
  const memory = temporaryFolder();
  const sandboxes: Partial<Job>[] = [
    { home: true },
    { mounts: [{ source: '/nowhere', target: '/agent/bin/one' }] },
    { door: true },
    { home: true, mounts: [{ source: '/nowhere', target: '/agent/bin/two' }], door: true },
  ];
  for (const [index, more] of sandboxes.entries()) {
    const observations = await observe(launcher, job(['.'], { ...more, stdin: 'stdin' }), memory);
    expect(observations.map(({ what, held }) => [what, held])).toEqual([
      ['network', true],
      ['file_system', true],
      ['environment', true],
      ['privileges', true],
    ]);
    expect(readdirSync(memory)).toHaveLength(index + 1);
  }
  // What is shown makes no other sandbox; that something is does.
  await observe(launcher, job(['.'], { mounts: [{ source: '/elsewhere', target: '/agent/x' }] }), memory);
  expect(readdirSync(memory)).toHaveLength(sandboxes.length);
});

test.runIf(missing.length === 0)('a door is no excuse for an open network', async () => {
  const leaky: Launcher = {
    ...launcher,
    open: asked => {
      const { door: _, ...rest } = asked;
      return launcher.open({ ...rest, network: 'open' });
    },
  };
  await expect(observe(leaky, job(['.'], { door: true }))).rejects.toMatchObject({
    code: 'sandbox_leaks',
    message: expect.stringContaining('network'),
  });
});
