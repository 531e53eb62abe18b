import { existsSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect } from 'vitest';
import { makeStage, removeStage } from '../../../src/execute/host/workspace.ts';
import type { Behaviour } from '../backends.ts';
import { LIMITS, MB, python, shell, unique } from '../jobs.ts';

/** Standard input and home of a program. */
export const inputs: Behaviour[] = [
  {
    name: 'a program reads its input to the end, however long',
    needs: 'always',
    holds: async world => {
      const input = 'line ü\n'.repeat(100_000);
      const { ending, out } = await world.run({ argv: ['/usr/bin/sha256sum'], input });
      const { out: same } = await world.run({ argv: shell('sha256sum < input/text'), files: { text: input } });
      expect({ ending, out }).toEqual({ ending: { how: 'exited', code: 0 }, out: same });
    },
  },
  {
    name: 'the input appears in no argument or variable of any process',
    needs: 'always',
    holds: async world => {
      const input = unique('task');
      const prepared = await world.open({ argv: shell('cat; sleep 60'), input }, true);
      try {
        let isUp = () => {};
        const up = new Promise<void>(resolve => (isUp = resolve));
        const captured = prepared.start(() => isUp());
        await up;
        const said = readdirSync('/proc')
          .filter(name => /^\d+$/.test(name))
          .flatMap(pid => ['cmdline', 'environ'].map(file => path.join('/proc', pid, file)))
          .map(file => {
            try {
              return readFileSync(file, 'utf8');
            } catch {
              return '';
            }
          });
        expect(said.filter(text => text.includes(input))).toEqual([]);
        prepared.stop('cancel');
        expect(Buffer.from((await captured).stdout.head).toString()).toBe(input);
      } finally {
        await prepared.close();
      }
    },
  },
  {
    name: 'only the first of several programs gets the input',
    needs: 'sequences',
    holds: async world => {
      const count = shell('wc -c; ls -l /proc/self/fd | wc -l');
      const { out } = await world.run({ argv: shell('head -c 2'), then: [count, count], input: 'abcdef' });
      const { out: without } = await world.run({ argv: count });
      expect(out).toBe(`ab${without}${without}`);
    },
  },
  {
    name: "the input reveals no path of this machine, and writing to it fills only the run's disk",
    needs: 'work folder',
    holds: async world => {
      const code = `
import os
print(os.readlink('/proc/self/fd/0'))
written = 0
try:
    with open('/proc/self/fd/0', 'wb', buffering=0) as file:
        while written < 64 << 20: written += file.write(b'x' * 65536)
except OSError as error: pass
print(written)`;
      const { ending, out } = await world.run({ argv: python(code), input: 'task', limits: { workBytes: 2 * MB } });
      const [link = '', written] = out.trim().split('\n');
      expect(ending).toEqual({ how: 'exited', code: 0 });
      expect(link).not.toContain('proctor');
      expect(Number(written)).toBeLessThanOrEqual(2 * MB);
    },
  },
  {
    name: "refuses an input that does not fit on the run's disk",
    needs: 'work folder',
    holds: async world => {
      const asked = { argv: shell('cat'), input: 'x'.repeat(2 * MB), limits: { workBytes: MB } };
      await expect(world.run(asked)).rejects.toMatchObject({ code: 'stage_failed' });
    },
  },
  {
    name: 'refuses an input that is not a file in the stage',
    needs: 'always',
    holds: async world => {
      const stage = makeStage(unique('input'));
      try {
        symlinkSync('/etc/passwd', path.join(stage, 'link'));
        for (const stdin of ['none', 'link', 'work', '', '.', '../x', 'work/input', '/etc/passwd', 'a\0b']) {
          const job = { id: unique('input'), backend: world.backend.name, argv: shell('cat'), env: {}, stage, stdin };
          const rest = { staged: [], network: 'open', limits: LIMITS, secrets: [], live: false } as const;
          await expect(world.launcher.open({ ...job, ...rest }), stdin).rejects.toMatchObject({ code: 'stage_failed' });
        }
      } finally {
        removeStage(stage);
      }
    },
  },
  {
    name: 'a program has its own home, which counts towards its work folder',
    needs: 'write roots',
    holds: async world => {
      let kept = '';
      const { ending, out } = await world.run(
        {
          argv: shell(
            'cd && pwd && mkdir -p .config/x && echo mine > .config/x/y; ls -A /work; head -c 3000000 /dev/zero > big; stat -c %s big; echo no > /agent/new',
          ),
          env: { PATH: '/usr/bin:/bin', HOME: '/agent/home' },
          home: true,
          writeRoots: [],
          limits: { workBytes: 2 * MB },
        },
        { look: (_, home) => (kept = readFileSync(path.join(home, '.config/x/y'), 'utf8')) },
      );
      const [where, work, size] = out.trim().split('\n');
      expect({ ending, where, work, kept }).toEqual({
        ending: { how: 'exited', code: 2 },
        where: '/agent/home',
        work: 'input',
        kept: 'mine\n',
      });
      expect(Number(size)).toBeLessThan(2 * MB);
      await expect(world.run({ argv: shell(':'), home: true })).rejects.toMatchObject({ code: 'stage_failed' });
    },
    lacking: async world => {
      const prepared = await world.open({ argv: shell(':'), home: true });
      expect(statSync(prepared.homeFolder ?? '').mode & 0o777).toBe(0o700);
      await prepared.close();
      expect(existsSync(prepared.homeFolder ?? '')).toBe(false);
    },
  },
  {
    name: 'a read-only work folder needs no list of names, and keeps its symlinks',
    needs: 'write roots',
    holds: async world => {
      const stage = makeStage(unique('whole'));
      const work = path.join(stage, 'work');
      writeFileSync(path.join(work, 'file'), '');
      writeFileSync(Buffer.concat([Buffer.from(`${work}/`), Buffer.from([0xff, 0xfe])]), '');
      symlinkSync('file', path.join(work, 'link'));
      symlinkSync('/nowhere', path.join(work, 'dangling'));
      const job = {
        id: unique('whole'),
        backend: world.backend.name,
        env: { PATH: '/usr/bin:/bin' },
        stage,
        staged: [],
      };
      const rest = { network: 'blocked', limits: LIMITS, secrets: [], live: false, writeRoots: [] } as const;
      const prepared = await world.launcher.open({ ...job, ...rest, argv: shell('LC_ALL=C ls -b; readlink link') });
      try {
        const { stdout } = await prepared.start();
        expect(Buffer.from(stdout.head).toString()).toBe('dangling\nfile\nlink\n\\377\\376\nfile\n');
      } finally {
        await prepared.close();
      }
    },
  },
  {
    name: 'a work folder with many names is completely read-only',
    needs: 'write roots',
    holds: async world => {
      const odd = ["it's", 'two words', '$HOME', '-rf', 'ü', 'a\nb', '`id`', '*', '.git', '--', '\\', 'output'];
      const names = [...odd, ...Array.from({ length: 1_500 }, (_, index) => `file-${index}`)];
      const code = `
import errno, json, os
def attempt(act):
    try: act(); return 'done'
    except OSError as error: return errno.errorcode[error.errno]
found = sorted(os.listdir('.'))
write = {attempt(lambda: open(name + '/laid', 'a')) for name in found if name != 'input'}
remove = {attempt(lambda: os.remove(name + '/laid')) for name in found if name != 'input'}
print(json.dumps([found, sorted(write | remove), attempt(lambda: open('new', 'x')), attempt(lambda: open('/tmp/new', 'x')), attempt(lambda: open('/agent/home/new', 'x'))]))`;
      const { ending, out } = await world.run({
        argv: python(code),
        env: { PATH: '/usr/bin:/bin', LANG: 'C.UTF-8' },
        laid: Object.fromEntries(names.map(name => [`${name}/laid`, name])),
        writeRoots: [],
        home: true,
      });
      expect(ending).toEqual({ how: 'exited', code: 0 });
      const [found, written, created, tmp, home] = JSON.parse(out) as [string[], ...unknown[]];
      expect(found.sort()).toEqual([...names, 'input'].sort());
      expect([written, created, tmp, home]).toEqual([['EROFS'], 'EROFS', 'done', 'done']);
    },
  },
];
