import { afterAll, describe, expect, test } from 'vitest';
import { openLauncher } from '../../src/execute/launcher/launch.ts';
import { effectiveLimits } from '../../src/policy/effective-limits.ts';
import { offersOf } from '../../src/run/pipeline/runner-plan.ts';
import { type Behaviour, backendsOf, type Promised, World } from './backends.ts';
import { doors } from './behaviours/doors.ts';
import { endings } from './behaviours/endings.ts';
import { inputs } from './behaviours/inputs.ts';
import { limits } from './behaviours/limits.ts';
import { mounts } from './behaviours/mounts.ts';
import { sequences } from './behaviours/sequences.ts';
import { streams } from './behaviours/streams.ts';
import { surroundings } from './behaviours/surroundings.ts';
import { writeRoots } from './behaviours/write-roots.ts';

const launcher = openLauncher();
afterAll(() => launcher.close());
const machine = await launcher.machine();
const backends = backendsOf(machine);
const behaviours: readonly Behaviour[] = [
  ...endings,
  ...sequences,
  ...streams,
  ...surroundings,
  ...writeRoots,
  ...inputs,
  ...mounts,
  ...doors,
  ...limits,
];

describe.concurrent.each(backends)('the sandbox $name:', backend => {
  const world = new World(backend, launcher);
  for (const { name, needs, holds, lacking } of behaviours) {
    if (needs === 'always' || world.promises(needs)) test(name, () => holds(world));
    else if (lacking) test(`neither promises nor provides this: ${name}`, () => lacking(world));
    else test(`neither promises nor claims this: ${name}`, () => expectNoClaim(backend.name, needs));
  }
});

describe('the list of behaviours', () => {
  test('runs on every sandbox that this machine supports', () => {
    expect(backends.map(({ name }) => name)).toEqual(
      offersOf(machine)
        .filter(({ unusable }) => unusable === undefined)
        .map(({ sandbox }) => sandbox),
    );
  });

  test('has unique names, and a test for every promise', () => {
    const names = behaviours.map(({ name }) => name);
    expect(new Set(names).size).toBe(names.length);
    const tried = new Set(behaviours.map(({ needs }) => needs));
    expect(backends.flatMap(({ promises }) => promises).filter(promised => !tried.has(promised))).toEqual([]);
  });
});

/** Expects that Proctor does not claim this for a run in the sandbox. */
function expectNoClaim(sandbox: 'none' | 'process', promised: Promised): void {
  const offers = offersOf(machine);
  const asked: Partial<Record<Promised, object>> = {
    memory: { memoryBytes: 64 * 1024 ** 2 },
    pids: { pids: 10 },
    cpu: { cpuSeconds: 1 },
  };
  const request = { sandbox, ...asked[promised] };
  if (promised in asked && sandbox === 'none') {
    expect(() => effectiveLimits(request, offers)).toThrow(expect.objectContaining({ code: 'not_enforceable' }));
    return;
  }
  expect(effectiveLimits(request, offers).isolation).not.toBe('strict');
}
