import { existsSync } from 'node:fs';
import { afterAll, describe, expect, test } from 'vitest';
import { openLauncher } from '../../src/execute/launcher/launch.ts';
import { type Asked, LIMITS, MB, ran, shell } from './jobs.ts';

const launcher = openLauncher();
afterAll(() => launcher.close());
const { missing } = await launcher.machine();

/** Common programs that exercise the kernel, with their expected output. */
const PROGRAMS: Record<string, { readonly needs: readonly string[]; readonly asked: Asked; readonly prints: string }> =
  {
    'git commits, packs and clones': {
      needs: ['/usr/bin/git'],
      asked: {
        argv: shell(`
git init -q one && cd one && echo 1 > file && git add file
git -c user.name=a -c user.email=a@example.org commit -q -m first && git gc -q && cd ..
git clone -q one two && git -C two log --format=%s && git -C two status --short`),
      },
      prints: 'first\n',
    },
    'make and gcc build a threaded program': {
      needs: ['/usr/bin/make', '/usr/bin/gcc'],
      asked: {
        argv: shell('cp input/* . && make -s -j2 && ./program'),
        files: {
          Makefile: 'program: main.o more.o\n\tgcc -pthread -o program main.o more.o\n',
          'main.c':
            '#include <pthread.h>\n#include <stdio.h>\nvoid *more(void *);\nint main(void) { pthread_t t; pthread_create(&t, 0, more, 0); pthread_join(t, 0); puts("built"); }\n',
          'more.c': 'void *more(void *given) { return given; }\n',
        },
      },
      prints: 'built\n',
    },
    'perl forks, waits and shares memory': {
      needs: ['/usr/bin/perl'],
      asked: {
        argv: [
          '/usr/bin/perl',
          '-e',
          '$| = 1; my $id = shmget(0, 64, 0600) // die $!; if (!fork) { shmwrite($id, "shared", 0, 6); exit 3 } wait; shmread($id, my $said, 0, 6); print $said, $? >> 8, `echo child`; shmctl($id, 0, 0);',
        ],
      },
      prints: 'shared3child\n',
    },
    'python uses pools, shared memory, locks, queues and a database': {
      needs: ['/usr/bin/python3'],
      asked: {
        argv: shell('cp input/main.py . && python3 main.py'),
        files: {
          'main.py': `
import asyncio, ctypes, multiprocessing as mp, os, select, signal, sqlite3, subprocess, tempfile, threading
from multiprocessing import shared_memory
def double(n): return 2 * n
if __name__ == '__main__':
    said = []
    for way in ('fork', 'spawn'):
        with mp.get_context(way).Pool(2) as pool: said.append(sum(pool.map(double, range(4))))
    queue = mp.Queue(); queue.put('queue'); said.append(queue.get())
    with mp.Lock(): pass
    segment = shared_memory.SharedMemory(create=True, size=64); segment.buf[0] = 7; said.append(segment.buf[0])
    segment.close(); segment.unlink()
    base = sqlite3.connect('base.db'); base.execute('pragma journal_mode=wal'); base.execute('create table t (a)')
    base.execute('insert into t values (5)'); base.commit(); said.append(base.execute('select a from t').fetchone()[0])
    said.append(subprocess.run(['sh', '-c', 'exit 4']).returncode)
    asyncio.run(asyncio.sleep(0.001)); os.pidfd_open(os.getpid()); os.memfd_create('x'); select.epoll()
    os.getrandom(4); os.sched_getaffinity(0); os.mkfifo('pipe'); os.openpty(); os.statvfs('.')
    said.append(os.cpu_count() > 0 and len(open('/proc/cpuinfo').read()) > 0)
    print(said)`,
        },
      },
      prints: "[12, 12, 'queue', 7, 5, 4, True]\n",
    },
    'node watches files, starts workers and reads machine facts': {
      needs: ['/usr/bin/node'],
      asked: {
        argv: [
          '/usr/bin/node',
          '-e',
          `const fs = require('fs'), os = require('os'), { Worker } = require('worker_threads'), { execSync } = require('child_process');
const watcher = fs.watch('output', (_, name) => {
  watcher.close();
  new Worker('require("worker_threads").parentPort.postMessage(1)', { eval: true }).once('message', () => {
    fs.cpSync('input', 'output/copy', { recursive: true });
    console.log(name, os.cpus().length > 0, os.totalmem() > 0, os.uptime() > 0, execSync('echo child').toString().trim());
  });
});
fs.writeFileSync('output/seen', '');`,
        ],
      },
      prints: 'seen true true true child\n',
    },
    'npm creates a package and runs its script': {
      needs: ['/usr/bin/npm'],
      asked: {
        argv: shell('npm init -y > /dev/null && npm pkg set scripts.hi="echo hi" && npm run --silent hi'),
        env: { PATH: '/usr/bin:/bin', HOME: '/tmp', npm_config_update_notifier: 'false' },
        limits: { openFiles: 1_024, timeoutMs: 60_000 },
      },
      prints: 'hi\n',
    },
    'shell tools archive, sort, copy, lock, wait and inspect': {
      needs: ['/usr/bin/tar', '/usr/bin/flock', '/usr/bin/ps'],
      asked: {
        argv: shell(`
mkdir many && seq 2000 | sort -R --parallel=2 | sort -n | tail -1 > many/last && ln many/last many/hard && ln -s last many/soft
tar czf many.tgz many && mkdir again && tar xzf many.tgz -C again && cp -a again copy && cat copy/many/soft
dd if=/dev/zero of=block bs=4096 count=4 conv=fsync status=none && truncate -s 1 block && stat -c %s block
flock block -c true && timeout 5 sleep 0.01 && nice -n 3 true && ps -o comm= -p $$ && df . > /dev/null && find . -name hard | xargs -P2 ls -U
mkfifo pipe && (echo fifo > pipe &) && cat pipe; kill -l > /dev/null; sync block; wait`),
      },
      prints: '2000\n1\nsh\n./many/hard\n./again/many/hard\n./copy/many/hard\nfifo\n',
    },
  };

describe.runIf(missing.length === 0)('in the process sandbox', () => {
  for (const [claim, { needs, asked, prints }] of Object.entries(PROGRAMS)) {
    test.runIf(needs.every(existsSync))(claim, async () => {
      const limits = { ...LIMITS, workEntries: 2_000, workBytes: 64 * MB, ...asked.limits };
      const { ending, out, err } = await ran(launcher, 'process', { ...asked, limits });
      const sorted = (text: string): string[] => text.split('\n').sort();
      expect({ ending, err, out: sorted(out) }).toEqual({
        ending: { how: 'exited', code: 0 },
        err: '',
        out: sorted(prints),
      });
    });
  }
});
