import { existsSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { afterAll, describe, expect, test, vi } from 'vitest';
import { removeAfter } from '../../src/execute/launcher/abandoned.ts';
import type { Leftovers } from '../../src/execute/job/job.ts';
import { openLauncher } from '../../src/execute/launcher/launch.ts';
import { isAlive } from '../../src/execute/host/processes.ts';
import { sweep } from '../../src/execute/launcher/sweep.ts';
import { backendsOf } from './backends.ts';
import { drive, held } from './drive.ts';
import { opened, ran, shell, unique } from './jobs.ts';
import { allGone, PATIENT, processesWith } from './support.ts';

const launcher = openLauncher();
afterAll(() => launcher.close());
const backends = backendsOf(await launcher.machine()).map(({ name }) => name);

/** Ignores every signal except SIGKILL, and has a child in another session. */
const STUBBORN = 'trap "" TERM HUP INT; setsid sh -c "trap \\"\\" TERM HUP INT; sleep 60" "$1" & echo up; sleep 60';

describe.each(backends)('the sandbox %s', backend => {
  test('kills the program and removes everything if its owner is killed', async () => {
    const marker = unique('owned');
    const { owner, launcher, leftovers } = await held({ backend, asked: { argv: shell(STUBBORN, marker) } });
    expect(processesWith(marker)).not.toEqual([]);
    owner.kill('SIGKILL');
    await allGone(marker);
    await vi.waitFor(() => expect(isAlive(launcher)).toBe(false), PATIENT);
    expectNothingLeft(leftovers);
    expect(groupsOf(launcher, leftovers)).toEqual([]);
  });

  test('leaves nothing behind after a sweep if its launcher is killed', async () => {
    const marker = unique('launched');
    const lost = openLauncher();
    await lost.machine();
    const prepared = await opened(lost, backend, { argv: shell(STUBBORN, marker) }, true);
    let isUp = () => {};
    const up = new Promise<void>(resolve => (isUp = resolve));
    const captured = prepared.start(() => isUp());
    const failed = expect(captured).rejects.toMatchObject({ code: 'launcher_lost' });
    await up;
    process.kill(lost.pid, 'SIGKILL');
    await failed;
    // Programs that outlive their launcher are listed in the leftovers.
    if (backend !== 'none') await allGone(marker);
    await sweep(prepared.leftovers);
    await removeAfter(lost.pid);
    expect(groupsOf(lost.pid, prepared.leftovers)).toEqual([]);
    expect(processesWith(marker)).toEqual([]);
    expectNothingLeft(prepared.leftovers);
    await expect(opened(lost, backend, { argv: shell('exit 0') })).rejects.toMatchObject({ code: 'launcher_lost' });
  });

  test('ignores leftovers that are already gone', async () => {
    const { leftovers } = await ran(launcher, backend, { argv: shell('exit 0') });
    const prepared = await opened(launcher, backend, { argv: shell('sleep 0.3; exit 9') });
    const captured = prepared.start();
    await sweep(leftovers);
    await sweep(leftovers);
    expect((await captured).ending).toEqual({ how: 'exited', code: 9 });
    await prepared.close();
  });

  test('leaves nothing behind when its owner exits', async () => {
    const marker = unique('done');
    const run = { backend, asked: { argv: shell('exit 7', marker) } };
    const said = await drive([run, run, run]);
    expect(said.map(({ ending }) => ending)).toEqual(said.map(() => ({ how: 'exited', code: 7 })));
    expect(said).toHaveLength(3);
    for (const { leftovers } of said) await vi.waitFor(() => expectNothingLeft(leftovers), PATIENT);
  });

  test('ends cleanly after refusing a run', async () => {
    const other = openLauncher();
    await ran(other, backend, { argv: shell('exit 0') });
    const { leftovers } = await ran(other, backend, { argv: shell('exit 0') });
    await expect(ran(other, backend, { argv: ['/bin/echo', '\0'] })).rejects.toMatchObject({ code: 'zero_byte' });
    await other.close();
    expectNothingLeft(leftovers);
    expect(groupsOf(other.pid, leftovers)).toEqual([]);
  });

  test('supports two independent launchers', async () => {
    const other = openLauncher();
    const marker = unique('other');
    const [mine, theirs] = await Promise.all([
      opened(launcher, backend, { argv: shell('sleep 1; echo mine') }),
      opened(other, backend, { argv: shell('sleep 60', marker) }),
    ]);
    const captured = mine.start();
    const lost = theirs.start().catch(() => undefined);
    await vi.waitFor(() => expect(processesWith(marker)).not.toEqual([]), PATIENT);
    await other.close();
    await lost;
    await allGone(marker);
    expect((await captured).ending).toEqual({ how: 'exited', code: 0 });
    await mine.close();
    expectNothingLeft(theirs.leftovers);
    // This launcher is still open, so the kernel may still be removing its groups.
    await vi.waitFor(() => expectNothingLeft(mine.leftovers), PATIENT);
  });

  test('is separate for each concurrent program of a new launcher', async () => {
    const fresh = openLauncher();
    try {
      const runs = await Promise.all(
        [1, 2, 3, 4].map(number =>
          ran(fresh, backend, { argv: shell('echo $1 >> output/mine; cat output/mine', String(number)) }),
        ),
      );
      expect(runs.map(({ out }) => out)).toEqual(['1\n', '2\n', '3\n', '4\n']);
      await fresh.close();
      for (const { leftovers } of runs) expect(groupsOf(fresh.pid, leftovers)).toEqual([]);
    } finally {
      await fresh.close();
    }
  });
});

function expectNothingLeft({ stage, cgroups, processes }: Leftovers): void {
  expect([stage, ...cgroups].filter(existsSync)).toEqual([]);
  expect(processes.filter(({ pid }) => isAlive(pid))).toEqual([]);
}

/** The control groups of a launcher that still exist next to those of a run. */
function groupsOf(launcher: number, { cgroups }: Leftovers): string[] {
  return cgroups
    .map(folder => path.dirname(folder))
    .flatMap(parent => readdirSync(parent).map(name => path.join(parent, name)))
    .filter(folder => OWNER.exec(path.basename(folder))?.[1] === String(launcher));
}

/** The launcher's pid. The name also contains other numbers. */
const OWNER = /^proctor-(?:probe-)?\d+\.(\d+)\.\d+-/;
