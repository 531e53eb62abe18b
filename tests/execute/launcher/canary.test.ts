import { readdirSync } from 'node:fs';
import { afterAll, expect, test } from 'vitest';
import { observe } from '../../../src/execute/launcher/canary.ts';
import type { Job } from '../../../src/execute/job/job.ts';
import { type Launcher, openLauncher } from '../../../src/execute/launcher/launch.ts';
import { LIMITS, unique } from '../../conformance/jobs.ts';
import { temporaryFolder } from '../../support/support.ts';

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

test.runIf(missing.length === 0)('tests and caches each kind of write restriction separately', async () => {
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
  // Other paths do not make a different sandbox.
  expect(await noteOf(['other'])).toBe(bound);
  expect(readdirSync(memory)).toHaveLength(3);
  // A sandbox without write roots is built differently.
  expect(await noteOf([])).toBe(bound);
  expect(readdirSync(memory)).toHaveLength(4);
});

test.runIf(missing.length === 0)('passes under the strictest limits of a job', async () => {
  const memory = temporaryFolder();
  for (const limits of [
    { ...LIMITS, pids: 1 },
    { ...LIMITS, openFiles: 1, workEntries: 1, graceMs: 0 },
  ]) {
    const observations = await observe(launcher, job(undefined, { limits }), temporaryFolder());
    expect(observations.map(({ held }) => held)).toEqual([true, true, true, true]);
    await observe(launcher, job(undefined, { limits }), memory);
  }
  expect(readdirSync(memory)).toHaveLength(1);
});

test.runIf(missing.length === 0)('detects a sandbox that allows writes elsewhere', async () => {
  for (const leak of [{ writeRoots: ['.'] }, { writeRoots: ['roots'] }]) {
    const leaky: Launcher = { ...launcher, open: asked => launcher.open({ ...asked, ...leak }) };
    await expect(observe(leaky, job(['out']))).rejects.toThrow(expect.objectContaining({ code: 'sandbox_leaks' }));
  }
});

test.runIf(missing.length === 0)('detects an uncovered file in /proc that describes the machine', async () => {
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

test.runIf(missing.length === 0)("tests and caches an agent's sandbox separately", async () => {
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
  // Only the presence of mounts matters, not which ones.
  await observe(launcher, job(['.'], { mounts: [{ source: '/elsewhere', target: '/agent/x' }] }), memory);
  expect(readdirSync(memory)).toHaveLength(sandboxes.length);
});

test.runIf(missing.length === 0)('requires a blocked network even with a model proxy', async () => {
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
