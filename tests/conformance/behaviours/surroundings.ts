import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import path from 'node:path';
import { expect } from 'vitest';
import type { Behaviour, World } from '../backends.ts';
import { type Asked, MB, python, shell, unique } from '../jobs.ts';

const AWKWARD = [
  '',
  ' ',
  'two words',
  "it's",
  '"double"',
  '`back`',
  '$HOME $(id) ${PATH}',
  'a\\b\\\\c\\',
  'line\nline\r\n',
  '\t',
  '-n',
  '--',
  '*?[a]',
  'a;b&c|d>e<f',
  '!history',
  'ü € 𝕏 \u200b',
  "'\\''",
  '\u0001\u007f',
  'x'.repeat(100_000),
];

/** The environment of a program. */
export const surroundings: Behaviour[] = [
  {
    name: 'passes arguments unchanged',
    needs: 'always',
    holds: async world => {
      const code =
        'import json, sys; print(json.dumps([a.encode("utf8", "surrogateescape").decode() for a in sys.argv[1:]]))';
      const { out } = await world.run({ argv: python(code, ...AWKWARD) });
      expect(JSON.parse(out)).toEqual(AWKWARD);
    },
  },
  {
    name: 'passes variables unchanged, and adds no others',
    needs: 'always',
    holds: async world => {
      const env = Object.fromEntries(AWKWARD.map((value, index) => [`VARIABLE_${index}`, value]));
      const { stdout } = await world.run({ argv: ['/usr/bin/env', '-0'], env });
      const found = Buffer.from(stdout.head).toString().split('\0').filter(Boolean);
      const added = new RegExp(`^(?:${world.backend.adds.join('|')})=`);
      expect(found.filter(line => !added.test(line)).sort()).toEqual(
        Object.entries(env)
          .map(([name, value]) => `${name}=${value}`)
          .sort(),
      );
      expect(found.filter(line => added.test(line))).toHaveLength(world.backend.adds.length);
    },
  },
  {
    name: "no visible process shows Proctor's variables or arguments",
    needs: 'environment',
    holds: async world => {
      const token = unique('token');
      const code = 'cat /proc/[0-9]*/environ /proc/[0-9]*/cmdline | tr "\\0" "\\n"';
      const { out } = await world.run({ argv: shell(code), env: { PATH: '/usr/bin:/bin', TOKEN: token } });
      const others = out.split('\n').filter(line => line.startsWith('TOKEN=') || line.includes(token));
      // Only its own processes, which all have it.
      expect(new Set(others)).toEqual(new Set([`TOKEN=${token}`]));
      expect(out).not.toContain('proctor-stage');
    },
    lacking: async world => {
      const { out } = await world.run({ argv: shell('cat /proc/[0-9]*/cmdline 2>/dev/null | tr "\\0" "\\n"') });
      expect(out).toContain('launcher.js');
    },
  },
  {
    name: 'no command line on this machine shows a secret of a run',
    needs: 'always',
    holds: async world => {
      const token = unique('token');
      const prepared = await world.open(
        { argv: shell('echo up; sleep 60'), env: { PATH: '/usr/bin:/bin', TOKEN: token } },
        true,
      );
      try {
        let isUp = () => {};
        const up = new Promise<void>(resolve => (isUp = resolve));
        const captured = prepared.start(() => isUp());
        await up;
        const lines = readdirSync('/proc')
          .filter(name => /^\d+$/.test(name) && existsSync(`/proc/${name}/cmdline`))
          .map(pid => {
            try {
              return readFileSync(`/proc/${pid}/cmdline`, 'utf8');
            } catch {
              return '';
            }
          });
        expect(lines.filter(line => line.includes(token))).toEqual([]);
        prepared.stop('cancel');
        await captured;
      } finally {
        await prepared.close();
      }
    },
  },
  {
    name: 'a program cannot reach a server on this machine',
    needs: 'network',
    holds: async world => expect(await connected(world, {})).toBe('refused\n'),
    lacking: async world => expect(await connected(world, {})).toBe('connected\n'),
  },
  {
    name: 'a program reaches a server if its network is open',
    needs: 'always',
    holds: async world => expect(await connected(world, { network: 'open' })).toBe('connected\n'),
  },
  {
    name: 'a program starts in its work folder, with its input and an empty output folder',
    needs: 'always',
    holds: async world => {
      const { out } = await world.run(
        { argv: shell('ls -A; ls -A output; cat input/a; echo made > output/b'), files: { a: 'staged\n' } },
        { look: folder => expect(readFileSync(path.join(folder, 'output', 'b'), 'utf8')).toBe('made\n') },
      );
      expect(out).toBe('input\noutput\nstaged\n');
    },
  },
  {
    name: 'staged files cannot be changed, replaced or removed',
    needs: 'file system',
    holds: async world => {
      const acts = [
        'echo x > input/a',
        'echo x >> input/a',
        'rm input/a',
        'mv input/a input/c',
        'touch input/b',
        'mkdir input/d',
        'mv input elsewhere',
        'rmdir input',
        'chmod 777 input/a',
        'ln -f /usr/bin/env input/a',
        'exec 3<>input/a',
      ];
      const script = acts.map(act => `(${act}) 2>/dev/null && echo '${act}'`).join('\n');
      const { out } = await world.run({ argv: shell(`${script}\ncat input/a`), files: { a: 'staged\n' } });
      expect(out).toBe('staged\n');
    },
    lacking: async world => {
      const { out } = await world.run({ argv: shell('echo mine > input/a; cat input/a'), files: { a: 'staged\n' } });
      expect(out).toBe('mine\n');
    },
  },
  {
    name: 'cleans up after a program that removes all permissions',
    needs: 'always',
    holds: async world => {
      const { ending } = await world.run({
        argv: shell('mkdir -p output/a/b; echo x > output/a/b/c; chmod 000 output/a/b output/a output .'),
      });
      expect(ending).toEqual({ how: 'exited', code: 0 });
    },
  },
  {
    name: 'removes folders that are nested too deeply for a single path',
    needs: 'always',
    holds: async world => {
      const code = `
import os
os.chdir('output')
for _ in range(60):
    os.mkdir('d' * 200); os.chdir('d' * 200)
print('deep')`;
      const { leftovers, out } = await world.run({ argv: python(code) });
      expect(out).toBe('deep\n');
      expect(existsSync(leftovers.stage)).toBe(false);
    },
  },
  {
    name: 'limits the size of the work folder',
    needs: 'work folder',
    holds: async world => {
      const code = `
import errno, os
written = 0
try:
    with open('output/large', 'wb', buffering=0) as file:
        while written < 64 << 20: written += file.write(b'x' * 65536)
except OSError as error: print(errno.errorcode[error.errno])
print(written)`;
      const { ending, out } = await world.run({ argv: python(code), limits: { workBytes: 2 * MB } });
      const [error, written] = out.trim().split('\n');
      expect({ ending, error }).toEqual({ ending: { how: 'exited', code: 0 }, error: 'ENOSPC' });
      expect(Number(written)).toBeLessThanOrEqual(2 * MB);
      expect(Number(written)).toBeGreaterThan(2 * MB - 65_536);
    },
    lacking: async world => {
      const { out } = await world.run({
        argv: shell('head -c 3000000 /dev/zero > output/large && wc -c < output/large'),
        limits: { workBytes: 2 * MB },
      });
      expect(out).toBe('3000000\n');
    },
  },
  {
    name: 'limits the number of entries in the work folder',
    needs: 'work folder',
    holds: async world => {
      const code = `
import errno
made = 0
try:
    while made < 1000:
        open(f'output/{made}', 'x').close()
        made += 1
except OSError as error: print(errno.errorcode[error.errno])
print(made)`;
      const { out } = await world.run({ argv: python(code), limits: { workEntries: 50 } });
      const [error, made] = out.trim().split('\n');
      expect(error).toBe('ENOSPC');
      expect(Number(made)).toBeLessThan(50);
      expect(Number(made)).toBeGreaterThan(40);
    },
  },
  {
    name: 'ten concurrent programs find only their own files',
    needs: 'always',
    holds: async world => {
      const ran = await Promise.all(
        Array.from({ length: 10 }, (_, number) =>
          world.run({
            argv: shell('echo $1 > output/mine; sleep 0.3; cat input/yours output/*; ls output', String(number)),
            files: { yours: `${number}\n` },
          }),
        ),
      );
      expect(ran.map(({ out }) => out)).toEqual(ran.map((_, number) => `${number}\n${number}\nmine\n`));
    },
  },
  {
    name: 'only listed programs exist',
    needs: 'commands',
    holds: async world => {
      const code = `
const { spawnSync } = require('node:child_process');
const found = ['id', 'sh', '/bin/sh', '/bin/bash', '/usr/bin/python3', '/usr/bin/env', '/usr/bin/bwrap', 'node', process.execPath]
  .filter(program => !spawnSync(program, ['-e', '0']).error);
console.log(JSON.stringify(found.map(program => program === process.execPath ? 'itself' : program)));`;
      const { ending, out, err } = await world.run({ argv: ['node', '-e', code], programs: ['node'] });
      expect({ ending, err }).toEqual({ ending: { how: 'exited', code: 0 }, err: '' });
      expect(JSON.parse(out)).toEqual(['node', 'itself']);
    },
  },
  {
    name: 'does not start an unlisted program, or a script with an unlisted interpreter',
    needs: 'commands',
    holds: async world => {
      const files = { 'tool.sh': '#!/bin/sh\necho ran\n' };
      for (const argv of [['id'], ['/usr/bin/id'], ['/bin/sh', '-c', ':'], ['./input/tool.sh']]) {
        const { ending } = await world.run({ argv, files, programs: ['node'] });
        expect(ending, argv[0]).toEqual({ how: 'not_started', code: 127 });
      }
    },
  },
  {
    name: 'starts a listed script if its interpreter is listed',
    needs: 'commands',
    holds: async world => {
      const version = expect.stringMatching(/^\d+\.\d+\.\d+\n$/);
      await expectEach(world, [
        [['npm', '--version'], ['node', 'npm'], { ending: ended(0), out: version, err: '' }],
        [['npx', '--version'], PACKAGES, { ending: ended(0), out: version, err: '' }],
        [['npx', '--version'], ['node', 'npm'], { ending: { how: 'not_started', code: 127 } }],
        [['npm', '--version'], ['npm'], { ending: ended(127), err: expect.stringContaining("'node'") }],
        // The interpreter path in a script may differ from the path of the program.
        [['egrep', '-o', 'sc', 'input/package.json'], ['egrep', 'grep'], { ending: { how: 'not_started', code: 127 } }],
        [['egrep', '-o', 'sc', 'input/package.json'], ['egrep', 'grep', 'sh'], { ending: ended(0), out: 'sc\n' }],
      ]);
    },
  },
  {
    name: 'a listed script adds no program except env',
    needs: 'commands',
    holds: async world => {
      const look = `
const { existsSync, readdirSync } = require('node:fs');
const folders = ['/usr/local/bin', '/usr/bin', '/bin', '/usr/local/sbin', '/usr/sbin', '/sbin'];
console.log(JSON.stringify(folders.filter(existsSync).flatMap(folder => readdirSync(folder)).sort()));`;
      await expectEach(world, [
        [['env'], PACKAGES, { ending: { how: 'not_started', code: 127 } }],
        [['node', '-e', look], PACKAGES, { out: '["env","node","npm","npx"]\n' }],
        [['node', '-e', look], ['node'], { out: '["node"]\n' }],
      ]);
    },
  },
  {
    name: 'runs package scripts, which are shell commands, if a shell is listed',
    needs: 'commands',
    holds: async world => {
      const npm = ['npm', '--prefix', 'input', 'run'];
      await expectEach(world, [
        [[...npm, 'x'], PACKAGES, { ending: ended(254), err: expect.stringContaining('spawn sh ENOENT') }],
        [[...npm, '--silent', 'x'], [...PACKAGES, 'sh'], { ending: ended(0), out: '42\n', err: '' }],
      ]);
    },
  },
];

const PACKAGES = ['node', 'npm', 'npx'];

/** A program, the listed programs, and the expected result. */
type Trial = readonly [argv: readonly string[], programs: readonly string[], expected: object];

async function expectEach(world: World, trials: readonly Trial[]): Promise<void> {
  for (const [argv, programs, expected] of trials) {
    const ran = await world.run({
      argv,
      programs,
      env: { PATH: '/usr/local/bin:/usr/bin:/bin', HOME: '/tmp' },
      files: { 'package.json': '{"scripts":{"x":"node -p 6*7"}}' },
      limits: { pids: 200, memoryBytes: 1024 * MB, timeoutMs: 60_000 },
    });
    expect(ran, `${argv.join(' ')} of ${programs.join(', ')}`).toMatchObject(expected);
  }
}

const ended = (code: number) => ({ how: 'exited', code });

/** The output of a program that tries to reach a server on this machine. */
async function connected(world: World, asked: Omit<Asked, 'argv'>): Promise<string> {
  const server = createServer(socket => socket.on('error', () => undefined).destroy()).listen(0, '127.0.0.1');
  await once(server, 'listening');
  try {
    const code = `
import socket, sys
try: socket.create_connection(('127.0.0.1', int(sys.argv[1])), 10); print('connected')
except ConnectionRefusedError: print('refused')`;
    const address = server.address();
    const port = typeof address === 'object' && address ? address.port : 0;
    return (await world.run({ argv: python(code, String(port)), ...asked })).out;
  } finally {
    server.close();
  }
}
