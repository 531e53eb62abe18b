import { setTimeout as wait } from 'node:timers/promises';
import { expect, vi } from 'vitest';
import type { Behaviour } from '../backends.ts';
import { python, shell, unique } from '../jobs.ts';
import { allGone, PATIENT, processesWith } from '../support.ts';

/** How a program ends, and what ends with it. */
export const endings: Behaviour[] = [
  ...[0, 1, 3, 126, 127, 137, 255].map(
    (code): Behaviour => ({
      name: `reports exit code ${code}`,
      needs: 'always',
      holds: async world => {
        const { ending } = await world.run({ argv: shell(`exit ${code}`) });
        expect(ending).toEqual({ how: 'exited', code });
      },
    }),
  ),
  {
    name: 'attributes a signal that the program sent itself to the program',
    needs: 'always',
    holds: async world => {
      const { ending } = await world.run({ argv: shell('kill -SEGV $$') });
      expect(ending).toEqual(
        world.backend.seesSignals ? { how: 'signalled', signal: 'SIGSEGV' } : { how: 'exited', code: 139 },
      );
    },
  },
  ...(['INT', 'QUIT', 'TERM'] as const).map(
    (name): Behaviour => ({
      name: `a program dies of a SIG${name} sent inside the sandbox, unless it ignores the signal`,
      needs: 'always',
      holds: async world => {
        const number = { INT: 2, QUIT: 3, TERM: 15 }[name];
        const { ending, out } = await world.run({ argv: shell(`echo before; kill -${name} $$; echo after`) });
        expect({ ending, out }).toEqual({
          ending: world.backend.seesSignals
            ? { how: 'signalled', signal: `SIG${name}` }
            : { how: 'exited', code: 128 + number },
          out: 'before\n',
        });
        const asked = await world.run({ argv: shell(`trap '' ${name}; kill -${name} $$; echo after`) });
        expect(asked).toMatchObject({ ending: { how: 'exited', code: 0 }, out: 'after\n' });
      },
    }),
  ),
  {
    name: 'a program inherits no ignored or blocked signals',
    needs: 'always',
    holds: async world => {
      const { out } = await world.run({ argv: ['/bin/grep', '-E', '^Sig(Blk|Ign)', '/proc/self/status'] });
      expect(out).toBe(`SigBlk:\t${'0'.repeat(16)}\nSigIgn:\t${'0'.repeat(16)}\n`);
    },
  },
  ...(
    [
      ['that does not exist is not started', ['/usr/bin/no-such-program'], 127],
      ['that is in no folder of PATH is not started', ['no-such-program'], 127],
      ['whose parent is a file is not started', ['/usr/bin/env/program'], 127],
      ['whose interpreter does not exist is not started', ['./input/orphan.sh'], 127],
      ['that is not executable is not started', ['./input/text'], 126],
      ['that is a folder is not started', ['./input'], 126],
      ['whose argument is too long for the kernel is not started', ['/bin/echo', 'x'.repeat(140_000)], 126],
    ] as const
  ).map(
    ([name, argv, code]): Behaviour => ({
      name: `a program ${name}`,
      needs: 'always',
      holds: async world => {
        const files = { text: 'just text\n', 'orphan.sh': '#!/usr/bin/no-such-interpreter\n' };
        const { ending, stdout, stderr } = await world.run({ argv, files });
        expect(ending).toEqual({ how: 'not_started', code });
        expect([stdout.bytesTotal, stderr.bytesTotal]).toEqual([0, 0]);
      },
    }),
  ),
  {
    name: 'finds a program by a path relative to its work folder',
    needs: 'always',
    holds: async world => {
      const files = { 'tool.sh': '#!/bin/sh\necho "$1"\n' };
      const { ending, out } = await world.run({ argv: ['./input/tool.sh', 'found'], files });
      expect({ ending, out }).toEqual({ ending: { how: 'exited', code: 0 }, out: 'found\n' });
    },
  },
  {
    name: 'refuses a NUL byte in an argument or variable',
    needs: 'always',
    holds: async world => {
      await expect(world.run({ argv: ['/bin/echo', 'a\0b'] })).rejects.toMatchObject({ code: 'zero_byte' });
      await expect(world.run({ argv: ['/bin/echo'], env: { A: 'a\0b' } })).rejects.toMatchObject({ code: 'zero_byte' });
    },
  },
  {
    name: 'gives a program its grace period at the timeout',
    needs: 'always',
    holds: async world => {
      const code = `
import signal, sys, time
def bye(*_): print('bye', flush=True); sys.exit(0)
signal.signal(signal.SIGTERM, bye)
print('ready', flush=True)
time.sleep(60)`;
      const { ending, out } = await world.run({ argv: python(code), limits: { timeoutMs: 5_000, graceMs: 10_000 } });
      expect(ending).toEqual({ how: 'killed', by: 'timeout', signal: 'SIGTERM' });
      expect(out).toBe('ready\nbye\n');
    },
  },
  {
    name: 'kills a program that ignores SIGTERM after the grace period',
    needs: 'always',
    holds: async world => {
      const { ending, out } = await world.stopped(
        { argv: shell('trap "" TERM INT HUP; echo deaf; while :; do sleep 1; done'), limits: { graceMs: 200 } },
        'timeout',
      );
      expect(ending).toEqual({ how: 'killed', by: 'timeout', signal: 'SIGKILL' });
      expect(out).toBe('deaf\n');
    },
  },
  {
    name: 'kills a program that has stopped itself at its timeout',
    needs: 'always',
    holds: async world => {
      const marker = unique('stopped');
      const { ending } = await world.run({
        argv: shell('kill -STOP $$; sleep 60', marker),
        limits: { timeoutMs: 300, graceMs: 100 },
      });
      expect(ending).toMatchObject({ how: 'killed', by: 'timeout' });
      expect(processesWith(marker)).toEqual([]);
    },
  },
  {
    name: 'reports a timeout that fires before the program has started',
    needs: 'always',
    holds: async world => {
      const { ending } = await world.run({ argv: shell('sleep 60'), limits: { timeoutMs: 0, graceMs: 0 } });
      expect(ending).toMatchObject({ how: 'killed', by: 'timeout' });
    },
  },
  {
    name: 'kills children and grandchildren at the timeout, even if they ignore signals and leave the group',
    needs: 'always',
    holds: async world => {
      const marker = unique('family');
      const { ending } = await world.run({
        argv: python(FAMILY, marker, 'stay'),
        limits: { timeoutMs: 1_000, graceMs: 100 },
      });
      expect(ending).toMatchObject({ how: 'killed', by: 'timeout' });
      expect(processesWith(marker)).toEqual([]);
    },
  },
  {
    name: 'kills what a program leaves running when it exits',
    needs: 'always',
    holds: async world => {
      const marker = unique('daemon');
      const { ending, out } = await world.run({ argv: python(FAMILY, marker, 'leave') });
      expect({ ending, out }).toEqual({ ending: { how: 'exited', code: 0 }, out: 'left\n' });
      expect(processesWith(marker)).toEqual([]);
    },
  },
  {
    name: 'kills processes left in the process group before it returns, whatever their environment',
    needs: 'always',
    holds: async world => {
      const marker = unique('companion');
      let left: number[] = [];
      const { ending } = await world.run(
        { argv: shell(GHOST.replace('setsid ', ''), marker) },
        { look: () => (left = processesWith(marker)) },
      );
      expect({ ending, left }).toEqual({ ending: { how: 'exited', code: 0 }, left: [] });
    },
  },
  {
    name: 'kills a daemon that has cleared its environment',
    needs: 'tree',
    holds: async world => {
      const marker = unique('ghost');
      const { ending } = await world.run({ argv: shell(GHOST, marker) });
      expect(ending).toEqual({ how: 'exited', code: 0 });
      expect(processesWith(marker)).toEqual([]);
    },
    lacking: async world => {
      const marker = unique('ghost');
      await world.run({ argv: shell(GHOST, marker) });
      const left = processesWith(marker);
      for (const pid of left) process.kill(pid, 'SIGKILL');
      expect(left).not.toEqual([]);
      await allGone(marker);
    },
  },
  {
    name: 'stops a program that becomes idle',
    needs: 'always',
    holds: async world => {
      const { ending, out } = await world.run({ argv: shell('echo once; sleep 60'), limits: { idleMs: 2_500 } });
      expect(ending).toMatchObject({ how: 'killed', by: 'idle' });
      expect(out).toBe('once\n');
    },
  },
  {
    name: 'does not treat a program that writes to either stream as idle',
    needs: 'always',
    holds: async world => {
      const { ending } = await world.run({
        argv: shell('for i in $(seq 15); do echo $i >&$((1 + i % 2)); sleep 0.2; done'),
        limits: { idleMs: 2_500 },
      });
      expect(ending).toEqual({ how: 'exited', code: 0 });
    },
  },
  {
    name: 'does not treat a program whose output is not read as idle',
    needs: 'always',
    holds: async world => {
      let pieces = 0;
      const { ending } = await world.run(
        { argv: python('import sys; sys.stdout.write("x" * 400000); sys.stdout.flush()'), limits: { idleMs: 2_000 } },
        { show: () => (pieces++ === 0 ? wait(2_500) : undefined) },
      );
      expect(ending).toEqual({ how: 'exited', code: 0 });
    },
  },
  {
    name: 'reports no timeout for a program that ended in time, however late its output is read',
    needs: 'always',
    holds: async world => {
      const { ending, stdout } = await world.run(
        { argv: python('print("x" * 99999)'), limits: { timeoutMs: 3_000 } },
        { show: () => wait(1_600) },
      );
      expect(ending).toEqual({ how: 'exited', code: 0 });
      expect(stdout.bytesTotal).toBe(100_000);
    },
  },
  {
    name: 'a program can be stopped from outside, and the reason is reported',
    needs: 'always',
    holds: async world => {
      const marker = unique('cancelled');
      const asked = { argv: shell('echo up; sleep 60 & wait', marker), limits: { graceMs: 10_000 } };
      const { ending } = await world.stopped(asked, 'cancel');
      expect(ending).toEqual({ how: 'killed', by: 'cancel', signal: 'SIGTERM' });
      expect(processesWith(marker)).toEqual([]);
    },
  },
  {
    name: 'reports the first reason to stop',
    needs: 'always',
    holds: async world => {
      // The timeout fires during the grace period.
      const { ending } = await world.stopped(
        { argv: shell('trap "" TERM; echo deaf; sleep 60'), limits: { timeoutMs: 2_500, graceMs: 3_000 } },
        'policy',
        'cancel',
      );
      expect(ending).toEqual({ how: 'killed', by: 'policy', signal: 'SIGKILL' });
    },
  },
  {
    name: 'closing a sandbox with a running program leaves nothing behind, and the launcher continues',
    needs: 'always',
    holds: async world => {
      const marker = unique('closed');
      const prepared = await world.open({ argv: python(FAMILY, marker, 'stay'), limits: { cpuSeconds: 100 } });
      const captured = prepared.start().catch((error: unknown) => error);
      await vi.waitFor(() => expect(processesWith(marker).length).toBeGreaterThanOrEqual(3), PATIENT);
      await prepared.close();
      await captured;
      await allGone(marker);
      await wait(250);
      expect((await world.run({ argv: shell('exit 4') })).ending).toEqual({ how: 'exited', code: 4 });
    },
  },
  {
    name: 'closing a sandbox without starting its program leaves nothing behind',
    needs: 'always',
    holds: async world => {
      const prepared = await world.open({ argv: shell('exit 0') });
      await prepared.close();
      expect((await world.run({ argv: shell('exit 5') })).ending).toEqual({ how: 'exited', code: 5 });
    },
  },
];

/**
 * A child in its own session, and its child in another. All ignore signals. Arguments: a marker, and what to do next.
 */
const FAMILY = `
import os, signal, sys, time
for name in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP): signal.signal(name, signal.SIG_IGN)
ready, up = os.pipe()
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.setsid()
        for fd in (1, 2): os.close(fd)
        os.write(up, b'u')
        time.sleep(60)
    os.write(up, b'u')
    time.sleep(60)
os.read(ready, 1); os.read(ready, 1)
if sys.argv[2] == 'stay': time.sleep(60)
print('left', flush=True)
os._exit(0)`;

/** Ends after its daemon has started. */
const GHOST =
  'setsid env -i /bin/sh -c ": > output/up; /bin/sleep 60; :" "$1" >/dev/null 2>&1 </dev/null & while ! [ -e output/up ]; do sleep 0.02; done';
