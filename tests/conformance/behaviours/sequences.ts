import { setTimeout as wait } from 'node:timers/promises';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, vi } from 'vitest';
import type { Behaviour, World } from '../backends.ts';
import { MB, python, shell, unique } from '../jobs.ts';
import { allGone, PATIENT, processesWith } from '../support.ts';

/** A behaviour of several programs in a row, which a sandbox supports or refuses. */
function several(name: string, holds: (world: World) => Promise<void>, needs: Behaviour['needs'] = 'sequences') {
  return { name, needs, holds } satisfies Behaviour;
}

/** Several programs in a row, in one work folder and with the same limits. */
export const sequences: Behaviour[] = [
  {
    name: 'the second program starts after the first has ended, and finds its files',
    needs: 'sequences',
    holds: async world => {
      const { ending, command, out, err } = await world.run({
        argv: shell('echo first; echo one > output/file; echo kept > /tmp/file'),
        then: [shell('cat output/file; echo second >&2; echo two >> output/file'), shell('cat output/file')],
      });
      expect({ ending, command, out, err }).toEqual({
        ending: { how: 'exited', code: 0 },
        command: 2,
        out: 'first\none\none\ntwo\n',
        err: 'second\n',
      });
    },
    lacking: async world => {
      await expect(world.run({ argv: shell(':'), then: [] })).rejects.toThrow(
        expect.objectContaining({ code: 'not_enforceable' }),
      );
    },
  },
  several('reports a program index only for a list of programs', async world => {
    expect(await world.run({ argv: shell(':') })).not.toHaveProperty('command');
    expect(await world.run({ argv: shell('exit 3'), then: [] })).toMatchObject({
      ending: { how: 'exited', code: 3 },
      command: 0,
    });
  }),
  several('runs nothing after a failed program', async world => {
    let left: string[] = [];
    const { ending, command, out } = await world.run(
      { argv: shell('echo first'), then: [shell('echo second; exit 7'), shell('echo third; echo x > output/third')] },
      { look: folder => (left = readdirSync(path.join(folder, 'output'))) },
    );
    expect({ ending, command, out, left }).toEqual({
      ending: { how: 'exited', code: 7 },
      command: 1,
      out: 'first\nsecond\n',
      left: [],
    });
  }),
  several('runs a hundred programs one after another', async world => {
    const count = (number: number): string[] => shell('echo $1 >> output/count; echo $1', String(number));
    const [argv = [], ...then] = Array.from({ length: 100 }, (_, number) => count(number));
    let kept = '';
    const { ending, command, out } = await world.run(
      { argv, then, limits: { timeoutMs: 120_000 } },
      { look: folder => (kept = readFileSync(path.join(folder, 'output/count'), 'utf8')) },
    );
    const expected = Array.from({ length: 100 }, (_, number) => `${number}\n`).join('');
    expect({ ending, command, out, kept }).toEqual({
      ending: { how: 'exited', code: 0 },
      command: 99,
      out: expected,
      kept: expected,
    });
  }),
  several('applies one timeout to all programs', async world => {
    const { ending, command, out } = await world.run({
      argv: shell('echo first; sleep 0.5'),
      then: [shell('echo second; sleep 0.5'), shell('echo third; sleep 60'), shell('echo fourth')],
      limits: { timeoutMs: 6_000, graceMs: 10_000 },
    });
    expect({ ending, command, out }).toEqual({
      ending: { how: 'killed', by: 'timeout', signal: 'SIGTERM' },
      command: 2,
      out: 'first\nsecond\nthird\n',
    });
  }),
  several('reports a stopped program that exits with 0 as stopped, and starts no other', async world => {
    const asked = {
      argv: shell('trap "echo asked; exit 0" TERM; echo first; while :; do sleep 0.05; done'),
      then: [shell('echo second')],
      limits: { graceMs: 10_000 },
    };
    const { ending, command, out } = await world.stopped(asked, 'timeout');
    expect({ ending, command, out }).toEqual({
      ending: { how: 'killed', by: 'timeout', signal: 'SIGTERM' },
      command: 0,
      out: 'first\nasked\n',
    });
  }),
  several('a stop kills the current program and all its children, whatever they ignore', async world => {
    const word = unique('second');
    const prepared = await world.open({
      argv: shell(':'),
      then: [shell(`trap '' TERM; setsid sleep 300 & : > output/ready; while :; do sleep 0.1; done`, word), shell(':')],
    });
    try {
      const captured = prepared.start();
      await vi.waitFor(() => expect(readdirSync(path.join(prepared.workFolder, 'output'))).toEqual(['ready']), PATIENT);
      expect(processesWith(word)).not.toEqual([]);
      prepared.stop('cancel');
      const { ending, command } = await captured;
      expect({ ending, command }).toEqual({ ending: { how: 'killed', by: 'cancel', signal: 'SIGKILL' }, command: 1 });
      await allGone(word);
    } finally {
      await prepared.close();
    }
    expect(existsSync(prepared.leftovers.stage)).toBe(false);
  }),
  several('a stop at any moment ends a sequence of short programs', async world => {
    const rounds = Array.from({ length: 6 }, async (_, round) => {
      const then = Array.from({ length: 100 }, () => shell('echo x >> output/count'));
      const prepared = await world.open({ argv: shell(':'), then, limits: { timeoutMs: 60_000 } });
      try {
        const captured = prepared.start();
        await wait(100 + 53 * round);
        prepared.stop('cancel');
        const { ending, command = -1 } = await captured;
        expect(ending).toMatchObject({ how: 'killed', by: 'cancel' });
        const count = path.join(prepared.workFolder, 'output/count');
        const lines = existsSync(count) ? readFileSync(count, 'utf8').length / 2 : 0;
        expect([command, command - 1]).toContain(lines);
      } finally {
        await prepared.close();
      }
    });
    await Promise.all(rounds);
  }),
  several('kills what a program left running before the next one starts', async world => {
    const code = `
import os, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        while True:
            open('output/beat', 'a').write('x'); time.sleep(0.01)
    os._exit(0)
os.wait()
while not os.path.exists('output/beat'): time.sleep(0.01)`;
    const { ending, out } = await world.run({
      argv: python(code),
      then: [
        shell(
          'wc -c < output/beat > output/before; sleep 0.5; wc -c < output/beat | cmp - output/before && echo still',
        ),
        shell('ls /proc | grep -c "^[0-9]"'),
      ],
    });
    const [still, processes] = out.trim().split('\n');
    expect({ ending, still }).toEqual({ ending: { how: 'exited', code: 0 }, still: 'still' });
    expect(Number(processes)).toBeLessThan(6);
  }),
  several(
    'reports that the second program is out of memory, not the first',
    async world => {
      const { ending, command } = await world.run({
        argv: python('x = bytearray(30 << 20)'),
        then: [python('x = bytearray(200 << 20)'), shell(':')],
        limits: { memoryBytes: 64 * MB },
      });
      expect({ ending, command }).toMatchObject({ ending: { how: 'out_of_memory' }, command: 1 });
    },
    'memory',
  ),
  several(
    'starts no program after one whose child ran out of memory, even if it exits with 0',
    async world => {
      const { ending, command, out } = await world.run({
        argv: shell('/usr/bin/python3 -I -S -c "bytearray(200 << 20)"; exit 0'),
        then: [shell('echo second')],
        limits: { memoryBytes: 64 * MB },
      });
      expect({ ending, command, out }).toMatchObject({ ending: { how: 'out_of_memory' }, command: 0, out: '' });
    },
    'memory',
  ),
  several(
    'the memory of an ended program is free for the next one',
    async world => {
      const { ending, command } = await world.run({
        argv: python('x = bytearray(40 << 20)'),
        then: Array.from({ length: 4 }, () => python('x = bytearray(40 << 20)')),
        limits: { memoryBytes: 64 * MB },
      });
      expect({ ending, command }).toEqual({ ending: { how: 'exited', code: 0 }, command: 4 });
    },
    'memory',
  ),
  several(
    'counts CPU time over all programs',
    async world => {
      const burn = python('import time\nwhile time.process_time() < 0.3: pass');
      const { ending, command = 0 } = await world.run({
        argv: burn,
        then: Array.from({ length: 20 }, () => burn),
        limits: { cpuSeconds: 1 },
      });
      expect(ending).toMatchObject({ how: 'killed', by: 'cpu' });
      expect(command).toBeGreaterThan(0);
      expect(command).toBeLessThan(20);
    },
    'cpu',
  ),
  ...(
    [
      ['does not exist', ['no-such-program'], 127],
      ['is not executable', ['./input/text'], 126],
      ['has an argument that is too long for the kernel', ['echo', 'x'.repeat(140_000)], 126],
    ] as const
  ).map(([name, missing, code]) =>
    several(`does not start a later program that ${name}, nor any after it`, async world => {
      const { ending, command, out } = await world.run({
        argv: shell('echo first'),
        then: [missing, shell('echo third')],
        files: { text: 'just text\n' },
      });
      expect({ ending, command, out }).toEqual({ ending: { how: 'not_started', code }, command: 1, out: 'first\n' });
    }),
  ),
  several(
    'does not start a later program that is not listed',
    async world => {
      const { ending, command, out } = await world.run({
        argv: ['node', '-p', '1'],
        then: [['node', '-p', '2'], ['id']],
        programs: ['node'],
      });
      expect({ ending, command, out }).toEqual({
        ending: { how: 'not_started', code: 127 },
        command: 2,
        out: '1\n2\n',
      });
    },
    'commands',
  ),
  several('does not start a missing first program, nor any after it', async world => {
    const { ending, command, out } = await world.run({ argv: ['no-such-program'], then: [shell('echo second')] });
    expect({ ending, command, out }).toEqual({ ending: { how: 'not_started', code: 127 }, command: 0, out: '' });
  }),
  several("every program has the same filter, and sees none of Proctor's arguments", async world => {
    const code = shell(
      'grep -E "^(Seccomp|NoNewPrivs|CapEff):" /proc/self/status; cat /proc/[0-9]*/cmdline | tr "\\0" "\\n"; echo open $(ls /proc/self/fd | wc -l)',
    );
    const { ending, out } = await world.run({ argv: code, then: [code] });
    expect(ending).toEqual({ how: 'exited', code: 0 });
    expect(out).not.toContain('proctor-stage');
    expect(out.match(/Seccomp:\t2/g)).toHaveLength(2);
    expect(out.match(/CapEff:\t0{16}/g)).toHaveLength(2);
    // Its three streams and the folder itself, but none of Proctor's files.
    expect(out.match(/^open [0-9]+/gm)).toEqual(['open 4', 'open 4']);
  }),
];
