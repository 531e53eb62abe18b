import { createHash } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { expect } from 'vitest';
import type { Behaviour } from '../backends.ts';
import { keeping, MB, python, shell } from '../jobs.ts';

const SECRET = 'correct-horse-battery-staple';

/** The output of a program, and what is kept of it. */
export const streams: Behaviour[] = [
  {
    name: 'keeps both streams separately, byte for byte',
    needs: 'always',
    holds: async world => {
      const code = `
import os
every = bytes(range(256))
for _ in range(3): os.write(1, every); os.write(2, every[::-1])`;
      const { stdout, stderr } = await world.run({ argv: python(code) });
      const every = Buffer.from(Array.from({ length: 256 }, (_, byte) => byte));
      const thrice = Buffer.concat([every, every, every]);
      expect(Buffer.from(stdout.head).equals(thrice)).toBe(true);
      expect(Buffer.from(stderr.head).equals(Buffer.from(thrice).reverse())).toBe(true);
      expect(stdout.sha256).toBe(hashOf(thrice));
    },
  },
  {
    name: 'keeps invalid UTF-8 unchanged, even if a character is split',
    needs: 'always',
    holds: async world => {
      const code =
        'import os, time; os.write(1, b"\\xff\\xfe\\xe2"); time.sleep(0.1); os.write(1, b"\\x82\\xac\\xc0\\x80")';
      const { stdout } = await world.run({ argv: python(code), secrets: [SECRET] });
      expect(Buffer.from(stdout.head).toString('hex')).toBe('fffee282acc080');
    },
  },
  {
    name: 'keeps head and tail of a long stream, and counts and hashes all of it',
    needs: 'always',
    holds: async world => {
      const code = `
import os
for number in range(80000): os.write(1, b'%063d\\n' % number)`;
      const { ending, stdout } = await world.run({
        argv: python(code),
        limits: { keep: keeping(1_000, 2_000) },
      });
      const whole = Buffer.from(
        Array.from({ length: 80_000 }, (_, number) => `${String(number).padStart(63, '0')}\n`).join(''),
      );
      expect(ending).toEqual({ how: 'exited', code: 0 });
      expect(whole.length).toBeGreaterThan(5_000_000);
      expect(stdout.bytesTotal).toBe(whole.length);
      expect(stdout.sha256).toBe(hashOf(whole));
      expect(Buffer.from(stdout.head).equals(whole.subarray(0, 1_000))).toBe(true);
      expect(Buffer.from(stdout.tail).equals(whole.subarray(-2_000))).toBe(true);
    },
  },
  {
    name: 'a stream that just fits has no tail, and one byte more creates one',
    needs: 'always',
    holds: async world => {
      const said = async (length: number) => {
        const { stdout } = await world.run({
          argv: python(`import os; os.write(1, b'a' * ${length - 1} + b'z')`),
          limits: { keep: keeping(100, 10) },
        });
        return [stdout.head.length, Buffer.from(stdout.tail).toString()];
      };
      expect(await said(100)).toEqual([100, '']);
      expect(await said(101)).toEqual([100, 'z']);
      expect(await said(111)).toEqual([100, 'aaaaaaaaaz']);
    },
  },
  {
    name: 'masks a secret in head, tail, live output and recovery file, even if it arrives in two parts',
    needs: 'always',
    holds: async world => {
      const code = `
import base64, os, time, urllib.parse
secret = b'${SECRET}'
def say(part): os.write(1, part); time.sleep(0.15)
say(b'head ' + secret[:9]); say(secret[9:] + b' '); say(base64.b64encode(secret)[:7]); say(base64.b64encode(secret)[7:])
os.write(1, b'.' * 5000)
say(b' tail ' + secret[:20]); say(secret[20:] + b' end')
os.write(2, secret * 3)`;
      const keepIn = mkdtempSync(path.join(tmpdir(), 'proctor-test-'));
      const live: string[] = [];
      const { stdout, stderr } = await world.run(
        { argv: python(code), secrets: [SECRET], keepIn, limits: { keep: keeping(200, 100) } },
        { show: (name, bytes) => void live.push(`${name} ${Buffer.from(bytes).toString()}`) },
      );
      const kept = readFileSync(path.join(keepIn, 'stdout.part'), 'utf8');
      rmSync(keepIn, { recursive: true });
      const head = Buffer.from(stdout.head).toString();
      const tail = Buffer.from(stdout.tail).toString();
      expect(head).toMatch(/^head \[masked\] \[masked\]/);
      expect(tail).toMatch(/ tail \[masked\] end$/);
      expect([stdout.masked, stderr.masked]).toEqual([3, 3]);
      const everything = [head, tail, ...live, kept].join('\n');
      for (const form of ['correct-horse', 'battery-staple', Buffer.from(SECRET).toString('base64').slice(0, 12)]) {
        expect(everything).not.toContain(form);
      }
    },
  },
  {
    name: 'live output arrives in order, each piece after the previous one was handled',
    needs: 'always',
    holds: async world => {
      const code = `
import os, time
for number in range(30):
    os.write(1, b'%d ' % number)
    time.sleep(0.01)`;
      let said = '';
      let busy = 0;
      let mostBusy = 0;
      const { stdout } = await world.run(
        { argv: python(code) },
        {
          show: async (_, bytes) => {
            mostBusy = Math.max(mostBusy, ++busy);
            await wait(20);
            said += Buffer.from(bytes).toString();
            busy--;
          },
        },
      );
      expect(said).toBe(Buffer.from(stdout.head).toString());
      expect(said.trim().split(' ').map(Number)).toEqual(Array.from({ length: 30 }, (_, number) => number));
      expect(mostBusy).toBe(1);
    },
  },
  {
    name: "a slow reader slows the program down, and the launcher's memory stays small",
    needs: 'always',
    holds: async world => {
      const code = `
import os, sys
part = b'x' * 65536
for number in range(3000):
    os.write(1, part)
    open('output/written', 'w').write(str(number))`;
      let seen = 0;
      const prepared = await world.open({ argv: python(code), limits: { timeoutMs: 2_000 } }, true);
      const before = residentBytes(world.launcher.pid);
      try {
        let most = 0;
        const { stdout } = await prepared.start(async (_, bytes) => {
          seen += bytes.length;
          most = Math.max(most, residentBytes(world.launcher.pid));
          await wait(50);
        });
        const written = 65_536 * Number(readFileSync(path.join(prepared.workFolder, 'output', 'written'), 'utf8'));
        // The rest is in pipe buffers of the kernel and of Node.
        expect(written - seen).toBeLessThan(4 * MB);
        expect(stdout.bytesTotal).toBe(seen);
        expect(seen).toBeLessThan(100 * MB);
        expect(most - before).toBeLessThan(64 * MB);
      } finally {
        await prepared.close();
      }
    },
  },
  {
    name: 'a slow reader receives all output of an ended program',
    needs: 'always',
    holds: async world => {
      let seen = 0;
      const { ending, stdout } = await world.run(
        { argv: python('import sys; sys.stdout.write("x" * 180000)') },
        {
          show: async (_, bytes) => {
            seen += bytes.length;
            await wait(700);
          },
        },
      );
      expect(ending).toEqual({ how: 'exited', code: 0 });
      expect([stdout.bytesTotal, seen]).toEqual([180_000, 180_000]);
    },
  },
  {
    name: 'a program that closes its streams continues',
    needs: 'always',
    holds: async world => {
      const { ending, out } = await world.run({ argv: shell('echo said; exec >&- 2>&-; sleep 0.2; exit 6') });
      expect({ ending, out }).toEqual({ ending: { how: 'exited', code: 6 }, out: 'said\n' });
    },
  },
  {
    name: 'standard input is open and empty',
    needs: 'always',
    holds: async world => {
      const { out } = await world.run({ argv: shell('wc -c; ls -l /proc/self/fd/0 | sed "s/.*-> //"') });
      expect(out).toBe('0\n/dev/null\n');
    },
  },
];

function hashOf(bytes: Uint8Array): string {
  return `sha256:${createHash('sha256').update(bytes).digest('hex')}`;
}

function residentBytes(pid: number): number {
  return 1024 * Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]);
}
