import { readdirSync, readFileSync, statSync } from 'node:fs';
import path from 'node:path';
import { expect } from 'vitest';
import type { Behaviour, World } from '../backends.ts';
import { type Asked, MB, python, shell } from '../jobs.ts';

/** Tries to write to the given paths, and prints each result. */
const tries = (...places: string[]): string[] =>
  python(
    `
import errno, sys
for place in sys.argv[1:]:
    try:
        with open(place, 'a') as file: file.write('x')
        print(place, 'written')
    except OSError as error: print(place, errno.errorcode[error.errno])`,
    ...places,
  );

/** The printed result for each path. */
async function tried(world: World, asked: Omit<Asked, 'argv'>, places: readonly string[]) {
  const { ending, out } = await world.run({ ...asked, argv: tries(...places) });
  expect(ending).toEqual({ how: 'exited', code: 0 });
  return Object.fromEntries(
    out
      .trim()
      .split('\n')
      .map(line => line.split(' ')),
  ) as Record<string, string>;
}

const within = (name: string, holds: Behaviour['holds']): Behaviour => ({ name, needs: 'write roots', holds });

/** Write roots of a program. */
export const writeRoots: Behaviour[] = [
  {
    name: 'a program writes to its roots and nowhere else',
    needs: 'write roots',
    holds: async world => {
      const places = ['out/a', 'a/b/c', 'new', 'a/new', 'input/new', 'input/laid', '/new', '/tmp/new', '/dev/shm/new'];
      const asked = { writeRoots: ['out', 'a/b'], files: { laid: 'laid' } };
      expect(await tried(world, asked, places)).toEqual({
        'out/a': 'written',
        'a/b/c': 'written',
        new: 'EROFS',
        'a/new': 'EROFS',
        'input/new': 'EROFS',
        'input/laid': 'EROFS',
        '/new': 'EROFS',
        '/tmp/new': 'written',
        '/dev/shm/new': 'written',
      });
    },
    lacking: async world => {
      await expect(world.run({ argv: shell(':'), writeRoots: ['.'] })).rejects.toThrow(
        expect.objectContaining({ code: 'not_enforceable' }),
      );
    },
  },
  within('roots cannot be removed, renamed or replaced', async world => {
    const { out } = await world.run({
      argv: shell(
        'rmdir out; mv out other; ln -s /tmp link; mkdir other; chmod 777 .; touch -d @0 .; mv out/x input; ls; ls out',
      ),
      writeRoots: ['out'],
      begins: { 'out/x': '' },
    });
    expect(out).toBe('input\nout\nx\n');
  }),
  within('the files of a program are stored below output, under the same paths', async world => {
    const kept: string[] = [];
    await world.run(
      { argv: shell('echo 1 > out/one; mkdir a/b/c; echo 2 > a/b/c/two'), writeRoots: ['out', 'a/b', 'empty'] },
      { look: folder => kept.push(...readdirSync(path.join(folder, 'output'), { recursive: true, encoding: 'utf8' })) },
    );
    expect(kept.sort()).toEqual(['a', 'a/b', 'a/b/c', 'a/b/c/two', 'empty', 'out', 'out/one']);
  }),
  within('initial files can be changed and removed, even if they were read-only', async world => {
    let kept: readonly [string[], string] | undefined;
    const { ending, out } = await world.run(
      {
        argv: shell(
          'cat out/deep/file; echo more >> out/deep/file; rm out/gone; mkdir out/deep/new; ./out/tool.sh; id -u; stat -c %u out/deep/file',
        ),
        writeRoots: ['out'],
        begins: { 'out/deep/file': 'begun\n', 'out/gone': '', 'out/tool.sh': '#!/bin/sh\necho tool\n' },
      },
      {
        look: folder =>
          (kept = [
            readdirSync(path.join(folder, 'output/out')).sort(),
            readFileSync(path.join(folder, 'output/out/deep/file'), 'utf8'),
          ]),
      },
    );
    expect(ending).toEqual({ how: 'exited', code: 0 });
    expect(out).toBe('begun\ntool\n1000\n1000\n');
    expect(kept).toEqual([['deep', 'tool.sh'], 'begun\nmore\n']);
  }),
  within('finds a program inside a root', async world => {
    const { ending, out } = await world.run({
      argv: ['./out/tool.sh'],
      then: [['./out/none.sh']],
      writeRoots: ['out'],
      begins: { 'out/tool.sh': '#!/bin/sh\necho tool\n' },
    });
    expect({ ending, out }).toEqual({ ending: { how: 'not_started', code: 127 }, out: 'tool\n' });
  }),
  within('a root inside a staged folder is writable, and its siblings are not', async world => {
    const asked = {
      laid: { 'a/laid': 'laid', 'a/b/hidden': 'hidden', 'package.json': '{}' },
      writeRoots: ['a/b', 'a/c/d'],
      begins: { 'a/b/begun': '' },
    };
    const places = ['a/b/begun', 'a/b/new', 'a/c/d/new', 'a/laid', 'a/new', 'a/c/new', 'package.json'];
    expect(await tried(world, asked, places)).toEqual({
      'a/b/begun': 'written',
      'a/b/new': 'written',
      'a/c/d/new': 'written',
      'a/laid': 'EROFS',
      'a/new': 'EROFS',
      'a/c/new': 'EROFS',
      'package.json': 'EROFS',
    });
  }),
  within('a root inside another root is part of it', async world => {
    const { ending, out } = await world.run({
      argv: shell('cat a/b/c; ln a/b/c a/same && mv a/b/c a/moved && ls a a/b'),
      writeRoots: ['a/b', 'a', 'a/b'],
      begins: { 'a/b/c': 'begun\n' },
    });
    expect({ ending, out }).toEqual({ ending: { how: 'exited', code: 0 }, out: 'begun\na:\nb\nmoved\nsame\n\na/b:\n' });
  }),
  within('the root . makes the whole work folder writable except staged entries', async world => {
    let kept = 0;
    const { ending, out } = await world.run(
      {
        argv: tries('new', 'begun', 'input/new', 'a/laid', 'a/b/new', 'c/new'),
        writeRoots: ['.', 'a/b', 'c'],
        laid: { 'a/laid': '' },
        begins: { begun: '12' },
      },
      { look: folder => (kept = statSync(path.join(folder, 'output/begun')).size) },
    );
    expect(ending).toEqual({ how: 'exited', code: 0 });
    expect(out).toBe('new written\nbegun written\ninput/new EROFS\na/laid EROFS\na/b/new written\nc/new written\n');
    expect(kept).toBe(3);
  }),
  within('a program without roots cannot write to its work folder', async world => {
    expect(await tried(world, { writeRoots: [] }, ['new', 'output/new', '/tmp/new'])).toEqual({
      new: 'EROFS',
      'output/new': 'ENOENT',
      '/tmp/new': 'written',
    });
  }),
  within('a program finds what the previous one wrote, even in /tmp', async world => {
    const { ending, out } = await world.run({
      argv: shell('echo one > out/file; echo two > /tmp/file; rm -r out/old'),
      then: [shell('cat out/file /tmp/file; ls out; echo three > a/b/file'), shell('cat a/b/file; echo no > a/no')],
      writeRoots: ['out', 'a/b'],
      begins: { 'out/old/file': '' },
    });
    expect({ ending, out }).toEqual({ ending: { how: 'exited', code: 2 }, out: 'one\ntwo\nfile\nthree\n' });
  }),
  within('roots share one limit, and their initial files count', async world => {
    const fill = python(`
import sys
written = 0
try:
    with open(sys.argv[1], 'wb', buffering=0) as file:
        while True: written += file.write(b'x' * 65536)
except OSError: print(written)`);
    const { ending, out } = await world.run({
      argv: [...fill, 'a/file'],
      then: [[...fill, 'b/file']],
      writeRoots: ['a', 'b'],
      begins: { 'a/begun': Buffer.alloc(MB) },
      limits: { workBytes: 2 * MB },
    });
    const written = out.trim().split('\n').map(Number);
    expect(ending).toEqual({ how: 'exited', code: 0 });
    expect(written).toEqual([expect.any(Number), 0]);
    expect(written[0]).toBeLessThanOrEqual(MB);
    expect(written[0]).toBeGreaterThan(MB - 2 * 65_536);
  }),
  within('refuses initial files that do not fit, and leaves nothing behind', async world => {
    await expect(
      world.run({
        argv: shell(':'),
        writeRoots: ['a'],
        begins: { 'a/large': Buffer.alloc(3 * MB) },
        limits: { workBytes: MB },
      }),
    ).rejects.toThrow(expect.objectContaining({ code: 'stage_failed' }));
  }),
  ...['/tmp', '../x', 'a//b', 'a/./b', '', 'a/..'].map(root =>
    within(`refuses ${JSON.stringify(root)} as a root`, async world => {
      await expect(world.run({ argv: shell(':'), writeRoots: [root] })).rejects.toThrow(
        expect.objectContaining({ code: 'stage_failed' }),
      );
    }),
  ),
  within('a root can have any file name', async world => {
    const roots = ["it's", 'two words', '$HOME', '-rf', 'ü', 'a\nb', '`id`', '*'];
    const asked = { writeRoots: roots, begins: Object.fromEntries(roots.map(root => [`${root}/begun`, ''])) };
    const { ending } = await world.run(
      { ...asked, argv: tries(...roots.map(root => `${root}/begun`)) },
      {
        look: folder =>
          expect(roots.map(root => statSync(path.join(folder, 'output', root, 'begun')).size)).toEqual(
            roots.map(() => 1),
          ),
      },
    );
    expect(ending).toEqual({ how: 'exited', code: 0 });
  }),
];
