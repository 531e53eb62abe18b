import { expect } from 'vitest';
import type { Behaviour } from '../backends.ts';
import { MB, python, shell, unique } from '../jobs.ts';
import { processesWith } from '../support.ts';

/** Limits of a program. */
export const limits: Behaviour[] = [
  {
    name: 'reports a program that exceeds its memory limit as out of memory',
    needs: 'memory',
    holds: async world => {
      const { ending } = await world.run({
        argv: python('x = bytearray(200 << 20); print(len(x))'),
        limits: { memoryBytes: 64 * MB },
      });
      expect(ending).toMatchObject({ how: 'out_of_memory' });
    },
    lacking: async world => {
      const { out } = await world.run({
        argv: python('x = bytearray(80 << 20); print(len(x))'),
        limits: { memoryBytes: 64 * MB },
      });
      expect(out).toBe(`${80 * MB}\n`);
    },
  },
  {
    name: 'reports a grandchild that exceeds the memory limit although its parent exits with 0',
    needs: 'memory',
    holds: async world => {
      const { ending } = await world.run({
        argv: shell('sh -c "/usr/bin/python3 -I -S -c \\"bytearray(200 << 20)\\"; exit 0"; exit 0'),
        limits: { memoryBytes: 64 * MB },
      });
      expect(ending).toMatchObject({ how: 'out_of_memory' });
    },
  },
  {
    name: 'counts memory over all processes together',
    needs: 'memory',
    holds: async world => {
      // Each child keeps its memory until one of them is dead.
      const code = `
import os
reader, writer = os.pipe()
for _ in range(4):
    if os.fork() == 0:
        os.close(writer)
        x = bytearray(30 << 20); os.read(reader, 1); os._exit(0)
os.wait()
os.close(writer)
for _ in range(3): os.wait()`;
      const { ending } = await world.run({ argv: python(code), limits: { memoryBytes: 64 * MB } });
      expect(ending).toMatchObject({ how: 'out_of_memory' });
    },
  },
  {
    name: 'reading files larger than the memory limit does not exceed it',
    needs: 'always',
    holds: async world => {
      const { ending } = await world.run({
        argv: shell('for i in 1 2; do cat /usr/bin/node /usr/bin/node > /dev/null; done'),
        limits: { memoryBytes: 48 * MB },
      });
      expect(ending).toEqual({ how: 'exited', code: 0 });
    },
  },
  {
    name: 'reports memory and CPU usage',
    needs: 'memory',
    holds: async world => {
      const { memoryPeakBytes = 0, cpuMs = 0 } = await world.run({
        argv: python('x = bytearray(50 << 20)\nfor _ in range(3000000): pass'),
      });
      expect(memoryPeakBytes).toBeGreaterThan(50 * MB);
      expect(memoryPeakBytes).toBeLessThan(512 * MB);
      expect(cpuMs).toBeGreaterThan(0);
    },
  },
  {
    name: 'counts CPU time over all processes together',
    needs: 'cpu',
    holds: async world => {
      const { ending, cpuMs = 0 } = await world.run({
        argv: shell('sh -c "while :; do :; done" & sh -c "while :; do :; done" & wait'),
        limits: { cpuSeconds: 0.4 },
      });
      expect(ending).toMatchObject({ how: 'killed', by: 'cpu' });
      expect(cpuMs).toBeGreaterThanOrEqual(400);
    },
    lacking: async world => {
      const { ending } = await world.run({
        argv: python('import time\nwhile time.process_time() < 0.6: pass'),
        limits: { cpuSeconds: 0.4 },
      });
      expect(ending).toEqual({ how: 'exited', code: 0 });
    },
  },
  {
    name: 'a sleeping program uses no CPU time',
    needs: 'always',
    holds: async world => {
      const { ending } = await world.run({ argv: shell('sleep 1'), limits: { cpuSeconds: 0.9 } });
      expect(ending).toEqual({ how: 'exited', code: 0 });
    },
  },
  {
    name: 'limits the number of processes exactly',
    needs: 'pids',
    holds: async world => {
      const code = `
import errno, os, time
made = 0
try:
    while made < 200:
        if os.fork() == 0: time.sleep(60)
        made += 1
except OSError as error: print(errno.errorcode[error.errno])
print(made, flush=True)
os._exit(0)`;
      const { out } = await world.run({ argv: python(code), limits: { pids: 10 } });
      expect(out).toBe('EAGAIN\n9\n');
    },
  },
  {
    name: 'denies a fork bomb its children, and kills all of them at the timeout',
    needs: 'pids',
    holds: async world => {
      const marker = unique('bomb');
      const code = `
import os
while True:
    try: os.fork()
    except OSError: pass`;
      const { ending } = await world.run({
        argv: python(code, marker),
        limits: { pids: 30, timeoutMs: 500, graceMs: 50 },
      });
      expect(ending).toMatchObject({ how: 'killed', by: 'timeout' });
      expect(processesWith(marker)).toEqual([]);
    },
  },
  {
    name: 'limits the number of open files',
    needs: 'open files',
    holds: async world => {
      const code = `
import errno, os
opened = 0
try:
    while True:
        os.open('/dev/null', os.O_RDONLY)
        opened += 1
except OSError as error: print(errno.errorcode[error.errno], opened)`;
      const { out } = await world.run({ argv: python(code), limits: { openFiles: 40 } });
      expect(out).toBe('EMFILE 37\n');
    },
    lacking: async world => {
      const { out } = await world.run({ argv: shell('ulimit -n'), limits: { openFiles: 40 } });
      expect(Number(out)).toBeGreaterThan(40);
    },
  },
  {
    name: 'a program writes no core dump, and cannot enable one',
    needs: 'core dumps',
    holds: async world => {
      const code =
        'ulimit -c; ulimit -Hc; (ulimit -c unlimited) 2>/dev/null || echo refused; sh -c "kill -ABRT \\$\\$"; ls -A output';
      const { out } = await world.run({ argv: shell(code) });
      expect(out).toBe('0\n0\nrefused\n');
    },
  },
];
