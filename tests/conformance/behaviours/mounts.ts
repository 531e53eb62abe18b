import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect } from 'vitest';
import type { Mount } from '../../../src/execute/job/job.ts';
import type { Behaviour } from '../backends.ts';
import { shell } from '../jobs.ts';

/** A folder with files to mount, readable by other users or not. */
async function withThings(mode: number, use: (folder: string) => Promise<void>): Promise<void> {
  const folder = mkdtempSync(path.join(tmpdir(), 'proctor-test-'));
  try {
    mkdirSync(path.join(folder, 'deep/er'), { recursive: true });
    writeFileSync(path.join(folder, 'file'), 'shown\n', { mode: mode & 0o666 });
    writeFileSync(path.join(folder, 'deep/er/tool.sh'), '#!/bin/sh\necho "tool $*"\n');
    chmodSync(path.join(folder, 'deep/er/tool.sh'), mode);
    symlinkSync('deep/er', path.join(folder, 'link'));
    chmodSync(folder, mode);
    await use(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

const shows = (name: string, holds: Behaviour['holds']): Behaviour => ({ name, needs: 'mounts', holds });

/** Mounts of a program. */
export const mounts: Behaviour[] = [
  {
    name: 'a program sees its mounts and cannot change them',
    needs: 'mounts',
    holds: world =>
      withThings(0o755, async folder => {
        const { ending, out } = await world.run({
          argv: shell(
            'cat /agent/one /agent/all/file; ls /agent /agent/all; echo x > /agent/one; rm /agent/all/file; echo x > /agent/all/new; echo x > /agent/new; chmod 777 /agent/one; echo over',
          ),
          mounts: [
            { source: path.join(folder, 'file'), target: '/agent/one' },
            { source: folder, target: '/agent/all' },
          ],
        });
        expect({ ending, out }).toEqual({
          ending: { how: 'exited', code: 0 },
          out: 'shown\nshown\n/agent:\nall\none\n\n/agent/all:\ndeep\nfile\nlink\nover\n',
        });
        expect(readFileSync(path.join(folder, 'file'), 'utf8')).toBe('shown\n');
      }),
    lacking: world =>
      expect(
        world.run({ argv: shell(':'), mountsAsTheyAre: [{ source: '/usr/bin/env', target: '/agent/env' }] }),
      ).rejects.toMatchObject({ code: 'not_enforceable' }),
  },
  shows('a mounted program starts, even in a folder and through a symlink', world =>
    withThings(0o755, async folder => {
      const starts = (argv0: string, mount: Mount) => world.run({ argv: [argv0, 'a', 'b'], mounts: [mount] });
      const file = { source: path.join(folder, 'deep/er/tool.sh'), target: '/agent/bin/tool' };
      const all = { source: path.join(folder, 'link'), target: '/agent/all' };
      expect((await starts('/agent/bin/tool', file)).out).toBe('tool a b\n');
      expect((await starts('/agent/all/tool.sh', all)).out).toBe('tool a b\n');
      expect((await starts('/agent/all/none', all)).ending).toEqual({ how: 'not_started', code: 127 });
      expect((await starts('/agent/bin/to', file)).ending).toEqual({ how: 'not_started', code: 127 });
      expect((await starts('/agent/all', all)).ending).toEqual({ how: 'not_started', code: 126 });
    }),
  ),
  shows('mounts files that other users cannot read, and does not change their owner', world =>
    withThings(0o700, async folder => {
      const owners = () => ['file', 'deep/er/tool.sh', '.'].map(name => statSync(path.join(folder, name)).uid);
      const before = owners();
      const { ending, out } = await world.run({
        argv: shell('cat /agent/one; /agent/all/deep/er/tool.sh x; /agent/all/link/tool.sh y; echo x > /agent/all/new'),
        mounts: [
          { source: path.join(folder, 'file'), target: '/agent/one' },
          { source: folder, target: '/agent/all' },
        ],
      });
      expect({ ending, out }).toEqual({ ending: { how: 'exited', code: 2 }, out: 'shown\ntool x\ntool y\n' });
      expect(owners()).toEqual(before);
      const asTheyAre = world.run({
        argv: shell('cat /agent/one'),
        mountsAsTheyAre: [{ source: path.join(folder, 'file'), target: '/agent/one' }],
      });
      // A sandbox runs as another user only when root starts it.
      if (process.getuid?.() === 0) await expect(asTheyAre).rejects.toMatchObject({ code: 'mount_failed' });
      else expect((await asTheyAre).out).toBe('shown\n');
    }),
  ),
  shows('refuses a missing source and overlapping targets', async world => {
    const real = '/usr/bin/env';
    const refused: Mount[][] = [
      [{ source: '/nowhere/at/all', target: '/agent/x' }],
      [{ source: 'env', target: '/agent/x' }],
      ...[
        '/agent',
        '/agent/',
        '/agent/../etc/x',
        '/etc/x',
        'agent/x',
        '/agent/a//b',
        '/agent/home',
        '/agent/door/x',
      ].map(target => [{ source: real, target }]),
      [
        { source: '/usr/bin', target: '/agent/x' },
        { source: real, target: '/agent/x/y' },
      ],
      [
        { source: real, target: '/agent/x' },
        { source: real, target: '/agent/x' },
      ],
    ];
    for (const asked of refused) {
      for (const how of ['mounts', 'mountsAsTheyAre'])
        await expect(world.run({ argv: shell(':'), [how]: asked }), JSON.stringify(asked)).rejects.toMatchObject({
          code: 'mount_failed',
        });
    }
  }),
];
