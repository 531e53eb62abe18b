import { existsSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { afterAll, describe, expect, test, vi } from 'vitest';
import { removeAfter } from '../../src/execute/abandoned.ts';
import type { Leftovers } from '../../src/execute/job.ts';
import { openLauncher } from '../../src/execute/launch.ts';
import { isAlive } from '../../src/execute/processes.ts';
import { sweep } from '../../src/execute/sweep.ts';
import { backendsOf } from './backends.ts';
import { drive, held } from './drive.ts';
import { opened, ran, shell, unique } from './jobs.ts';
import { allGone, PATIENT, processesWith } from './support.ts';

const launcher = openLauncher();
afterAll(() => launcher.close());
const backends = backendsOf(await launcher.machine()).map(({ name }) => name);

/** Deaf to all but the last word, with a child in a session of its own. */
const STUBBORN = 'trap "" TERM HUP INT; setsid sh -c "trap \\"\\" TERM HUP INT; sleep 60" "$1" & echo up; sleep 60';

describe.each(backends)('in the sandbox %s', backend => {
  test('a program whose owner is killed dies, and so does everything that was made for it', async () => {
    const marker = unique('owned');
    const { owner, launcher, leftovers } = await held({ backend, asked: { argv: shell(STUBBORN, marker) } });
    expect(processesWith(marker)).not.toEqual([]);
    owner.kill('SIGKILL');
    await allGone(marker);
    await vi.waitFor(() => expect(isAlive(launcher)).toBe(false), PATIENT);
    expectNothingLeft(leftovers);
    expect(groupsOf(launcher, leftovers)).toEqual([]);
  });

  test('a program whose launcher is killed dies or is swept, and nothing is left', async () => {
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
    // Whatever does not die with its launcher is known.
    if (backend !== 'none') await allGone(marker);
    await sweep(prepared.leftovers);
    await removeAfter(lost.pid);
    expect(groupsOf(lost.pid, prepared.leftovers)).toEqual([]);
    expect(processesWith(marker)).toEqual([]);
    expectNothingLeft(prepared.leftovers);
    await expect(opened(lost, backend, { argv: shell('exit 0') })).rejects.toMatchObject({ code: 'launcher_lost' });
  });

  test('what is swept twice, or was never left, does no harm', async () => {
    const { leftovers } = await ran(launcher, backend, { argv: shell('exit 0') });
    const prepared = await opened(launcher, backend, { argv: shell('sleep 0.3; exit 9') });
    const captured = prepared.start();
    await sweep(leftovers);
    await sweep(leftovers);
    expect((await captured).ending).toEqual({ how: 'exited', code: 9 });
    await prepared.close();
  });

  test('an owner that is done leaves nothing behind', async () => {
    const marker = unique('done');
    const run = { backend, asked: { argv: shell('exit 7', marker) } };
    const said = await drive([run, run, run]);
    expect(said.map(({ ending }) => ending)).toEqual(said.map(() => ({ how: 'exited', code: 7 })));
    expect(said).toHaveLength(3);
    for (const { leftovers } of said) await vi.waitFor(() => expectNothingLeft(leftovers), PATIENT);
  });

  test('a launcher that refused a run ends as cleanly as any other', async () => {
    const other = openLauncher();
    await ran(other, backend, { argv: shell('exit 0') });
    const { leftovers } = await ran(other, backend, { argv: shell('exit 0') });
    await expect(ran(other, backend, { argv: ['/bin/echo', '\0'] })).rejects.toMatchObject({ code: 'zero_byte' });
    await other.close();
    expectNothingLeft(leftovers);
    expect(groupsOf(other.pid, leftovers)).toEqual([]);
  });

  test('two launchers work side by side, and the end of one is not that of the other', async () => {
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
    // While a launcher lives, the kernel may still be clearing behind it.
    await vi.waitFor(() => expectNothingLeft(mine.leftovers), PATIENT);
  });

  test('programs that are asked for at once, of a launcher that has just begun, get a sandbox each', async () => {
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

/** Control groups of a launcher that are still there, beside those that it made for a run. */
function groupsOf(launcher: number, { cgroups }: Leftovers): string[] {
  return cgroups
    .map(folder => path.dirname(folder))
    .flatMap(parent => readdirSync(parent).map(name => path.join(parent, name)))
    .filter(folder => OWNER.exec(path.basename(folder))?.[1] === String(launcher));
}

/** Whose a group is. There are other numbers in its name. */
const OWNER = /^proctor-(?:probe-)?\d+\.(\d+)\.\d+-/;
