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

const job = (writeRoots?: readonly string[]): Job => ({
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
    expect(await noteOf([])).toBe(bound);
    expect(readdirSync(memory)).toHaveLength(3);
  },
);

test.runIf(missing.length === 0)('a sandbox that lets a program write elsewhere is found out', async () => {
  for (const leak of [{ writeRoots: ['.'] }, { writeRoots: ['roots'] }]) {
    const leaky: Launcher = { ...launcher, open: asked => launcher.open({ ...asked, ...leak }) };
    await expect(observe(leaky, job(['out']))).rejects.toThrow(expect.objectContaining({ code: 'sandbox_leaks' }));
  }
});
