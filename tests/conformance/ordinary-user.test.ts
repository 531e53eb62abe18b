import { chmodSync, copyFileSync, existsSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { forwarded } from '../../src/execute/model/forwarder.ts';
import type { Mount } from '../../src/execute/job/job.ts';
import { openLauncher } from '../../src/execute/launcher/launch.ts';
import { ROOT, temporaryFolder } from '../support/support.ts';
import type { Driven } from './driver.ts';
import { drive, type Said } from './drive.ts';
import { type Asked, MB, python, shell, unique } from './jobs.ts';
import { processesWith } from './support.ts';

const launcher = openLauncher();
const { missing, isRoot } = await launcher.machine();
await launcher.close();

const word = unique('secret');
const NOBODY = 65_534;

/** Runs programs as an unprivileged user, who has no control groups. */
function asNobody(asked: readonly Asked[], backend: Driven['backend'] = 'process'): Promise<Said[]> {
  return drive(
    asked.map(one => ({ backend, asked: one })),
    { env: { OWNER: word }, ...(isRoot && { uid: NOBODY }) },
  );
}

describe.runIf(missing.length === 0)('for an ordinary user', () => {
  test('programs run, exit and are killed as usual', async () => {
    const marker = unique('family');
    const said = await asNobody([
      { argv: shell('exit 3') },
      { argv: ['no-such-program'] },
      { argv: ['./input/text'], files: { text: '' } },
      { argv: shell('cat input/a; echo to-err >&2; echo x > output/b; ls output'), files: { a: 'staged\n' } },
      {
        argv: shell('trap "" TERM; setsid sh -c "trap \\"\\" TERM; sleep 60" "$1" & sleep 60', marker),
        limits: { timeoutMs: 3_000, graceMs: 100 },
      },
      { argv: shell('setsid sleep 60 & exit 0', marker) },
      { argv: shell('sleep 60'), limits: { timeoutMs: 0, graceMs: 0 } },
    ]);
    expect(said.map(({ ending, fault }) => fault ?? ending)).toEqual([
      { how: 'exited', code: 3 },
      { how: 'not_started', code: 127 },
      { how: 'not_started', code: 126 },
      { how: 'exited', code: 0 },
      { how: 'killed', by: 'timeout', signal: 'SIGKILL' },
      { how: 'exited', code: 0 },
      { how: 'killed', by: 'timeout', signal: 'SIGKILL' },
    ]);
    expect([said[3]?.out, said[3]?.err]).toEqual(['staged\nb\n', 'to-err\n']);
    expect(processesWith(marker)).toEqual([]);
    expect(said.map(({ leftovers }) => leftovers.stage).filter(existsSync)).toEqual([]);
  });

  test('the same isolation applies', async () => {
    const [walls, environ] = await asNobody([
      { argv: python(WALLS) },
      { argv: shell('cat /proc/*/environ /proc/*/cmdline | tr "\\0" "\\n"'), env: { PATH: '/usr/bin:/bin' } },
    ]);
    expect(walls?.err).toBe('');
    expect(JSON.parse(walls?.out ?? '')).toEqual({
      'write /': 'EROFS',
      'write /usr': 'EROFS',
      'write /etc': 'EROFS',
      'read shadow': 'ENOENT',
      'list home': 'ENOENT',
      'list sys': 'ENOENT',
      core_pattern: 'EACCES',
      'unix socket': 'EAFNOSUPPORT',
      'far address': 'ENETUNREACH',
      unshare: 'EPERM',
      processes: 'few',
      user: '1000',
      privileges: '0',
    });
    expect(environ?.out).not.toContain(word);
    expect(environ?.out).not.toContain('proctor-stage');
  });

  test('the work folder has a limit', async () => {
    const [bytes, entries] = await asNobody([
      { argv: shell('head -c 30000000 /dev/zero > output/x; wc -c < output/x'), limits: { workBytes: 2 * MB } },
      {
        argv: shell('for i in $(seq 100); do : > output/$i || break; done; ls output | wc -l'),
        limits: { workEntries: 30 },
      },
    ]);
    expect(bytes?.out).toBe(`${2 * MB}\n`);
    expect(Number(entries?.out)).toBeLessThan(30);
  });

  test('agents get their home, mounts, input and model proxy', async () => {
    const folder = temporaryFolder();
    chmodSync(folder, 0o755);
    const source = path.join(folder, 'shown');
    writeFileSync(source, 'shown\n', { mode: 0o644 });
    writeFileSync(path.join(folder, 'closed'), '', { mode: 0o600 });
    const mounts = [{ source, target: '/agent/shown' }];
    const asks = `
import errno, socket
line = socket.create_connection(('127.0.0.1', 8417))
line.sendall(b'hello')
line.shutdown(socket.SHUT_WR)
print(line.recv(100))
try: socket.create_connection(('192.0.2.1', 80), 3)
except OSError as error: print(errno.errorcode[error.errno])
try: open('input/new', 'x')
except OSError as error: print(errno.errorcode[error.errno])`;
    const [around, door, closed] = await asNobody([
      {
        argv: shell('cat - /agent/shown; echo x > "$HOME/file" && cat "$HOME/file"; echo x > /agent/shown'),
        env: { PATH: '/usr/bin:/bin', HOME: '/agent/home' },
        input: 'task\n',
        home: true,
        mounts,
        writeRoots: [],
      },
      {
        argv: forwarded(python(asks), 8_417),
        mounts: [{ source: process.execPath, target: '/agent/node' }, forward(folder)],
        door: true,
        writeRoots: [],
      },
      { argv: shell(':'), mounts: [{ source: path.join(folder, 'closed'), target: '/agent/closed' }] },
    ]);
    expect([around?.out, around?.ending]).toEqual(['task\nshown\nx\n', { how: 'exited', code: 2 }]);
    expect([door?.out, door?.err]).toEqual(["b'hello'\nENETUNREACH\nEROFS\n", '']);
    if (isRoot) expect(closed?.fault).toBe('mount_failed');
  });

  test('processes are limited together, and memory and CPU time are sampled', async () => {
    const [single, sum, pids, cpu, spun] = await asNobody([
      {
        argv: python('try: bytearray(400 << 20); print("got it")\nexcept MemoryError: print("too much")'),
        limits: { memoryBytes: 256 * MB },
      },
      {
        argv: python(`
import os, time
for _ in range(4):
    if os.fork() == 0: x = bytearray(60 << 20); time.sleep(60)
time.sleep(60)`),
        limits: { memoryBytes: 128 * MB },
      },
      {
        argv: python(`
import errno, os, time
made = 0
try:
    while made < 100:
        if os.fork() == 0: time.sleep(60)
        made += 1
except OSError as error: print(errno.errorcode[error.errno])
print(made < 12, flush=True)
os._exit(0)`),
        limits: { pids: 10 },
      },
      { argv: shell('(while :; do :; done) & while :; do :; done'), limits: { cpuSeconds: 1 } },
      { argv: python('import time\nwhile time.process_time() < 0.3: pass') },
    ]);
    expect(single?.out).toBe('too much\n');
    expect(sum?.ending).toEqual({ how: 'out_of_memory', code: 137 });
    expect(pids?.out).toBe('EAGAIN\nTrue\n');
    expect(cpu?.ending).toMatchObject({ how: 'killed', by: 'cpu' });
    expect(spun?.cpuMs).toBeGreaterThanOrEqual(290);
  });

  test('a CPU share is refused, and uncountable memory is denied', async () => {
    const [share, file] = await asNobody([
      { argv: shell(':'), limits: { cpus: 1 } },
      {
        argv: python(
          'import errno, os\ntry: os.memfd_create("x")\nexcept OSError as error: print(errno.errorcode[error.errno])',
        ),
      },
    ]);
    expect(isRoot || share?.fault !== undefined ? share?.fault : 'not_enforceable').toBe('not_enforceable');
    expect(file?.out).toBe('ENOSYS\n');
  });

  test('the files of an unsandboxed program that removes all permissions are cleaned up', async () => {
    const [said] = await asNobody(
      [{ argv: shell('mkdir -p output/a/b; echo x > output/a/b/c; chmod 000 output/a/b output/a output .') }],
      'none',
    );
    expect(said?.fault).toBe(undefined);
    expect(said?.ending).toEqual({ how: 'exited', code: 0 });
    expect(existsSync(said?.leftovers.stage ?? '')).toBe(false);
  });
});

/** In a folder that every user can read. */
function forward(folder: string): Mount {
  const source = path.join(folder, 'forward.cjs');
  copyFileSync(path.join(ROOT, 'dist/forward.cjs'), source);
  return { source, target: '/agent/forward.cjs' };
}

const WALLS = `
import ctypes, errno, json, os, socket
libc = ctypes.CDLL(None, use_errno=True)
said = {}
def call(*words):
    if libc.syscall(*words) == -1: raise OSError(ctypes.get_errno(), '')
def attempt(name, act):
    try: said[name] = str(act() or 'through')
    except OSError as error: said[name] = errno.errorcode[error.errno]
for place in ('/', '/usr', '/etc'): attempt('write ' + place, lambda: open(place + '/proctor-test', 'x'))
attempt('read shadow', lambda: open('/etc/shadow'))
attempt('list home', lambda: os.listdir('/home'))
attempt('list sys', lambda: os.listdir('/sys'))
attempt('core_pattern', lambda: os.close(os.open('/proc/sys/kernel/core_pattern', os.O_WRONLY)))
attempt('unix socket', lambda: socket.socket(socket.AF_UNIX))
attempt('far address', lambda: socket.create_connection(('192.0.2.1', 80), 3))
attempt('unshare', lambda: call(272 if os.uname().machine == 'x86_64' else 97, 0x10000000))
attempt('processes', lambda: 'few' if len([n for n in os.listdir('/proc') if n.isdigit()]) < 5 else 'many')
attempt('user', os.getuid)
attempt('privileges', lambda: str(int([l for l in open('/proc/self/status') if l.startswith('CapEff')][0].split()[1], 16)))
print(json.dumps(said))`;
