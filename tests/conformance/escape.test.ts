import { spawn } from 'node:child_process';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server, type Socket } from 'node:net';
import { homedir, tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { openLauncher } from '../../src/execute/launcher/launch.ts';
import { isAlive } from '../../src/execute/host/processes.ts';
import { DENIED, JUDGED } from '../../src/execute/sandboxes/syscalls.ts';
import { drive } from './drive.ts';
import { type Asked, MB, type Outcome, python, ran, shell, unique } from './jobs.ts';
import { PATIENT } from './support.ts';

const launcher = openLauncher();
const machine = await launcher.machine();
const inside = (asked: Asked): Promise<Outcome> => ran(launcher, 'process', asked);
const bare = (asked: Asked): Promise<Outcome> => ran(launcher, 'none', asked);

/** Files, servers and processes of this machine, which no program inside may reach. */
const word = unique('secret');
const folder = mkdtempSync(path.join(tmpdir(), 'proctor-test-'));
chmodSync(folder, 0o755);
const secret = path.join(folder, 'secret');
writeFileSync(secret, word, { mode: 0o644 });
const atHome = path.join(homedir(), `.proctor-test-${process.pid}`);
writeFileSync(atHome, word, { mode: 0o644 });
const tcp = await listening(createServer(greet), 0);
const socketFile = path.join(folder, 'socket');
const byPath = await listening(createServer(greet), socketFile);
chmodSync(socketFile, 0o777);
const abstract = unique('abstract');
const byName = await listening(createServer(greet), `\0${abstract}`);
const udp = createSocket('udp4');
const heard: string[] = [];
udp.on('message', message => heard.push(message.toString()));
await new Promise<void>(resolve => udp.bind(0, '127.0.0.1', resolve));
const neighbour = spawn('/bin/sleep', ['600'], { env: { NEIGHBOUR: word }, stdio: 'ignore' });

afterAll(async () => {
  neighbour.kill('SIGKILL');
  for (const server of [tcp, byPath, byName]) server.close();
  udp.close();
  rmSync(folder, { recursive: true });
  rmSync(atHome);
  await launcher.close();
});

/** Python that tries actions one by one, and prints for each whether it succeeded or which error stopped it. */
const TRIES = `
import ctypes, errno, fcntl, json, os, signal, socket, sys
libc = ctypes.CDLL(None, use_errno=True)
def call(*words):
    ctypes.set_errno(0)
    if libc.syscall(*[ctypes.c_long(word) for word in words]) == -1: raise OSError(ctypes.get_errno(), '')
def read(path):
    with open(path, 'rb') as file: return file.read(100)
def named(name):
    # Some versions of Node fill the rest of a name with zeros.
    for fill in (0, 107 - len(name)):
        try: return socket.socket(socket.AF_UNIX).connect(chr(0) + name + chr(0) * fill)
        except ConnectionRefusedError as error: last = error
    raise last
def tried(act):
    try: act()
    except OSError as error: return errno.errorcode.get(error.errno, str(error.errno))
    return 'through'
`;

/** Tries Python expressions inside. Returns the result of each. */
async function tried(acts: Record<string, string>, run = inside): Promise<Record<string, string>> {
  const lines = Object.entries(acts).map(([name, act]) => `said[${JSON.stringify(name)}] = tried(lambda: ${act})`);
  const { ending, out, err } = await run({
    argv: python(`${TRIES}said = {}\n${lines.join('\n')}\nprint(json.dumps(said))`),
  });
  expect({ ending, err }).toEqual({ ending: { how: 'exited', code: 0 }, err: '' });
  return JSON.parse(out) as Record<string, string>;
}

async function expectHeld(acts: Record<string, string>, errors: readonly string[]): Promise<void> {
  const said = await tried(acts);
  expect(Object.keys(said)).toEqual(Object.keys(acts));
  expect(Object.entries(said).filter(([, answer]) => !errors.includes(answer))).toEqual([]);
}

/** Control: without a sandbox, the actions succeed. */
async function expectThrough(acts: Record<string, string>): Promise<void> {
  const said = await tried(acts, bare);
  expect(Object.entries(said).filter(([, answer]) => answer !== 'through')).toEqual([]);
}

describe.runIf(machine.missing.length === 0)('from inside the process sandbox', () => {
  test('no file of this machine is readable', async () => {
    const ours = { 'a temporary file': `read('${secret}')`, 'a file in the home folder': `read('${atHome}')` };
    const common = {
      hostname: "read('/etc/hostname')",
      'a process outside': `read('/proc/${process.pid}/status')`,
      'the root of pid 1': `read('/proc/1/root${secret}')`,
    };
    await expectThrough({ ...ours, hostname: common.hostname });
    await expectHeld(
      {
        ...ours,
        ...common,
        passwords: "read('/etc/shadow')",
        'the home folder of root': "os.listdir('/root')",
        homes: "os.listdir('/home')",
        'system folder': "os.listdir('/sys')",
        sockets: "os.listdir('/run')",
        state: "os.listdir('/var')",
        memory: "read('/proc/kcore')",
        'the disk of the sandbox': "os.listdir('/mnt/output')",
        'disk devices': "os.listdir('/dev/block')",
        'the repository': `os.listdir('${import.meta.dirname}')`,
      },
      ['ENOENT', 'EACCES', 'EPERM'],
    );
  });

  test('users and hosts of this machine are hidden', async () => {
    const { out } = await inside({ argv: shell('cat /etc/passwd /etc/group /etc/hosts; ls /etc; hostname; id -u') });
    expect(out).not.toMatch(/root:|daemon/);
    expect(out).toContain('sandbox\n1000\n');
  });

  test('name lookups are configured to fail at once: the server has no route and gets one attempt', async () => {
    const { out } = await inside({ argv: shell('cat /etc/resolv.conf') });
    expect(out).toBe('nameserver 192.0.2.1\noptions timeout:0 attempts:1\n');
  });

  test('nothing is writable outside the work folder, /tmp and /dev/shm', async () => {
    const places = [
      '/',
      '/etc',
      '/usr',
      '/usr/bin',
      '/usr/local/bin',
      '/opt',
      '/opt/proctor',
      '/dev',
      '/proc',
      '/proc/sys/kernel',
    ];
    const writes = places.map(place => [`make a file in ${place}`, `open('${place}/proctor-test', 'x')`]);
    const changes = [
      ...[
        '/proc/sys/kernel/core_pattern',
        '/proc/sys/kernel/modprobe',
        '/proc/sys/vm/drop_caches',
        '/proc/sysrq-trigger',
      ],
      ...['/etc/passwd', '/usr/bin/env', '/etc/ld.so.cache'],
    ].map(file => [`open ${file} for writing`, `os.close(os.open('${file}', os.O_WRONLY))`]);
    const more = [
      ['replace a folder', "os.rename('/opt', '/tmp/opt')"],
      ['remove a folder', "os.rmdir('/opt/proctor')"],
      ['a symlink in place of a system file', "os.symlink('/tmp/x', '/etc/x')"],
      ['a hard link out of the work folder', "(open('output/a', 'x').close(), os.link('output/a', '/tmp/a'))"],
      ['a hard link into the work folder', "os.link('/usr/bin/env', 'output/env')"],
      ['change rights', "os.chmod('/usr/bin/env', 0o777)"],
    ];
    await expectHeld(Object.fromEntries([...writes, ...changes, ...more]), [
      'EROFS',
      'EACCES',
      'ENOENT',
      'EPERM',
      'EBUSY',
      'EXDEV',
    ]);
    await expect(
      tried({ work: "open('/work/output/x', 'x')", tmp: "open('/tmp/x', 'x')", shm: "open('/dev/shm/x', 'x')" }),
    ).resolves.toEqual({
      work: 'through',
      tmp: 'through',
      shm: 'through',
    });
  });

  test('symlinks resolve only inside the sandbox', async () => {
    const { out } = await inside({
      argv: shell(
        'ln -s "$1" output/file; ln -s / output/root; ln -s /proc/1/root output/first; cat output/file output/root"$1" output/first"$1" output/../../.."$1"',
        secret,
      ),
    });
    expect(out).toBe('');
  });

  test("Proctor's helpers are readable and not writable", async () => {
    const { out } = await inside({
      argv: shell(
        'ls -d /opt/proctor; for i in x; do (: > /opt/proctor/new) 2>/dev/null && echo made; (mount -o remount,rw /opt/proctor) 2>/dev/null && echo mounted; done',
      ),
    });
    expect(out).toBe('/opt/proctor\n');
  });

  test('no server of this machine can be reached', async () => {
    const port = portOf(tcp);
    const connect = (family: string, to: string) => `socket.socket(socket.${family}).connect(${to})`;
    const acts = {
      TCP: connect('AF_INET', `('127.0.0.1', ${port})`),
      'a Unix socket by path': connect('AF_UNIX', `'${socketFile}'`),
      'an abstract Unix socket': `named('${abstract}')`,
    };
    await expectThrough(acts);
    await expectHeld({ ...acts, 'TCP over IPv6': connect('AF_INET6', `('::1', ${port})`) }, [
      'ECONNREFUSED',
      'EAFNOSUPPORT',
      'ENETUNREACH',
      'EADDRNOTAVAIL',
    ]);
    const send = `socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'WHO', ('127.0.0.1', ${udp.address().port}))`;
    await tried({ send: send.replace('WHO', 'bare') }, bare);
    await expect.poll(() => heard, PATIENT).toEqual(['bare']);
    await tried({ send: send.replace('WHO', 'bound') });
    await tried({ send: send.replace('WHO', 'bare again') }, bare);
    await expect.poll(() => heard, PATIENT).toEqual(['bare', 'bare again']);
  });

  test('there is one network interface, and no other address', async () => {
    const { out } = await inside({ argv: python('import socket; print(socket.if_nameindex())') });
    expect(out).toBe("[(1, 'lo')]\n");
    await expectHeld(
      {
        'a far address': "socket.create_connection(('192.0.2.1', 80), 3)",
        'a name': "socket.getaddrinfo('example.com', 80)",
      },
      ['ENETUNREACH', '-3', '-2'],
    );
  });

  test('other socket families do not exist', async () => {
    await expectHeld(
      {
        vsock: 'socket.socket(40, socket.SOCK_STREAM)',
        packet: 'socket.socket(17, socket.SOCK_RAW, 3)',
        raw: 'socket.socket(socket.AF_INET, socket.SOCK_RAW, 1)',
        'netlink audit': 'socket.socket(16, socket.SOCK_RAW, 9)',
        'netlink device events': 'socket.socket(16, socket.SOCK_RAW, 15)',
        'netlink firewall': 'socket.socket(16, socket.SOCK_RAW, 12)',
        'kernel crypto': 'socket.socket(38, socket.SOCK_SEQPACKET)',
        bluetooth: 'socket.socket(31, socket.SOCK_RAW)',
        'Unix datagrams': 'socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)',
      },
      ['EAFNOSUPPORT', 'EPROTONOSUPPORT', 'ESOCKTNOSUPPORT', 'EPERM'],
    );
  });

  test('no environment variable of a process outside is readable', async () => {
    const code = 'cat /proc/*/environ /proc/*/task/*/environ 2>/dev/null | tr "\\0" "\\n"';
    expect((await bare({ argv: shell(code) })).out).toContain(word);
    const { out } = await inside({ argv: shell(code), env: { PATH: '/usr/bin:/bin', OWN: '1' } });
    const names = new Set(out.split('\n').map(line => line.split('=')[0]));
    names.delete('');
    expect(names).toEqual(new Set(['OWN', 'PATH', 'PWD']));
  });

  test('no process outside can be signalled, and a signal to all reaches only the program itself', async () => {
    const acts = {
      neighbour: `os.kill(${neighbour.pid}, 0)`,
      us: `os.kill(${process.pid}, 0)`,
      launcher: `os.kill(${launcher.pid}, 0)`,
    };
    await expectThrough(acts);
    await expectHeld(acts, ['ESRCH']);
    await inside({ argv: shell('kill -KILL -1; sleep 60'), limits: { timeoutMs: 500, graceMs: 50 } });
    expect([neighbour.pid ?? 0, process.pid, launcher.pid].map(isAlive)).toEqual([true, true, true]);
    expect((await inside({ argv: shell('exit 0') })).ending).toEqual({ how: 'exited', code: 0 });
  });

  test('the kernel refuses every denied call', async () => {
    const column = process.arch === 'arm64' ? 1 : 0;
    const acts = Object.fromEntries(
      [...DENIED].flatMap(([name, { [column]: nr }]) =>
        nr === undefined ? [] : [[name, `call(${nr}, 0, 0, 0, 0, 0)`]],
      ),
    );
    await expectHeld(acts, ['EPERM']);
    const flags = { user: 0x10000000, mount: 0x20000, network: 0x40000000, pid: 0x20000000 };
    await expectHeld(
      {
        ...Object.fromEntries(
          Object.entries(flags).map(([name, flag]) => [
            `clone into a new ${name} namespace`,
            `call(${JUDGED.clone[column]}, ${flag | 17}, 0, 0, 0, 0)`,
          ]),
        ),
        clone3: `call(${JUDGED.clone3[column]}, 0, 0)`,
        'an unknown call': 'call(500, 0, 0)',
        'an x32 call': 'call(0x40000000 + 39)',
        'terminal input injection': 'fcntl.ioctl(os.openpty()[1], 0x5412, b"x")',
        'disabled address randomization': `call(${JUDGED.personality[column]}, 0x0040000)`,
      },
      ['EPERM', 'ENOSYS'],
    );
  });

  test('there are no privileges, and none can be gained', async () => {
    const { out } = await inside({
      argv: shell(
        'grep -E "^(Cap|NoNewPrivs|Seccomp:|Groups)" /proc/self/status | tr -s "\\t " " "; id -u; id -g; for i in su mount umount passwd newgrp sudo; do [ -u /usr/bin/$i ] && /usr/bin/$i root -c id 2>/dev/null; done; true',
      ),
    });
    expect(out).toMatch(
      /^Groups: ?(?:\d+ ?)*\nCapInh: 0+\nCapPrm: 0+\nCapEff: 0+\nCapBnd: 0+\nCapAmb: 0+\nNoNewPrivs: 1\nSeccomp: 2\n1000\n1000\n$/,
    );
    expect(out).not.toContain('uid=0');
    await expectHeld(
      {
        'become root': 'os.setuid(0)',
        'become another user': 'os.setuid(33)',
        'join the group of root': 'os.setgroups([0])',
        'give a file away': "(open('output/mine', 'x').close(), os.chown('output/mine', 0, 0))",
        'a device': "os.mknod('output/disk', 0o60600, os.makedev(8, 0))",
        'a memory device': "os.mknod('/tmp/mem', 0o20600, os.makedev(1, 1))",
        'raise its priority': 'os.nice(-5)',
        'more open files': '__import__("resource").prlimit(0, 7, (100000, 100000))',
        'a file capability':
          "(open('output/suid', 'x').close(), os.setxattr('output/suid', 'security.capability', b'x' * 20))",
      },
      ['EPERM', 'EACCES', 'EINVAL', 'EFAULT', 'EOPNOTSUPP'],
    );
  });

  test('a setuid file grants nothing', async () => {
    const { out } = await inside({
      argv: shell(
        'cp /usr/bin/id output/id; chmod 6755 output/id; output/id -u; output/id -ru; mount | grep -E " /(work|tmp|dev/shm) " | grep -vc nosuid',
      ),
    });
    expect(out).toBe('1000\n1000\n0\n');
  });

  test('only the three standard streams are open', async () => {
    const { out } = await inside({
      argv: python(
        'import os\nfor fd in sorted(map(int, os.listdir("/proc/self/fd"))):\n  try: print(fd, os.readlink(f"/proc/self/fd/{fd}").split(":")[0])\n  except OSError: pass',
      ),
    });
    expect(out).toMatch(/^0 \/dev\/null\n1 \S+ \(deleted\)\n2 \S+ \(deleted\)\n$/);
  });

  test("a folder that Proctor's parent process has open is not open inside", async () => {
    const list = 'ls -l /proc/self/fd | grep -c " -> /$"';
    const run = { backend: 'process', asked: { argv: shell(list) } } as const;
    const driven = await drive([run, { ...run, backend: 'none' }], {
      through: ['/bin/bash', '-c', 'exec 40</; exec "$0" "$@"'],
    });
    expect(driven.map(({ out }) => out)).toEqual(['0\n', '0\n']);
  });

  test('pid 1 reveals nothing and cannot be killed', async () => {
    const code = `
import os
print(os.listdir('/proc/1'))
for signal in (9, 15, 19): os.kill(1, signal)`;
    const { ending, out } = await inside({ argv: python(code), env: { PATH: '/usr/bin:/bin', TOKEN: word } });
    expect({ ending, out }).toEqual({ ending: { how: 'exited', code: 0 }, out: '[]\n' });
  });

  test('every writable folder has a limit', async () => {
    const code = `
import errno, json, os
said = {}
for place in ('/work', '/work/output', '/tmp', '/dev/shm'):
    written = 0
    try:
        with open(place + '/large', 'wb', buffering=0) as file:
            while written < 200 << 20: written += file.write(b'x' * (1 << 20))
    except OSError as error: said[place] = [errno.errorcode[error.errno], written >> 20]
    os.unlink(place + '/large')
print(json.dumps(said))`;
    const { ending, out } = await inside({ argv: python(code), limits: { workBytes: 8 * MB, memoryBytes: 512 * MB } });
    expect(ending).toEqual({ how: 'exited', code: 0 });
    expect(JSON.parse(out)).toEqual({
      '/work': ['ENOSPC', 8],
      '/work/output': ['ENOSPC', 8],
      '/tmp': ['ENOSPC', 64],
      '/dev/shm': ['ENOSPC', 16],
    });
  });

  test.runIf(machine.cgroups !== 'none')('memfd, shared memory and temporary files count as memory', async () => {
    const bombs = {
      memfd: `
fd = os.memfd_create('x')
for _ in range(200): os.write(fd, b'x' * (1 << 20))`,
      'temporary files': `
file = open('/tmp/large', 'wb', buffering=0)
for _ in range(60): file.write(b'x' * (1 << 20))`,
      'shared memory': `
import mmap
shared = mmap.mmap(-1, 200 << 20)
for at in range(0, 200 << 20, 4096): shared[at] = 1`,
    };
    for (const [name, code] of Object.entries(bombs)) {
      const { ending } = await inside({ argv: python(`import os${code}`), limits: { memoryBytes: 40 * MB } });
      expect(ending, name).toMatchObject({ how: 'out_of_memory' });
    }
    expect((await inside({ argv: shell('exit 0') })).ending).toEqual({ how: 'exited', code: 0 });
  });
});

/** Greets every connection and ignores errors. */
function greet(socket: Socket): void {
  socket.on('error', () => undefined).end(word);
}

async function listening(server: Server, at: number | string): Promise<Server> {
  if (typeof at === 'number') server.listen(at, '127.0.0.1');
  else server.listen({ path: at });
  await once(server, 'listening');
  return server;
}

function portOf(server: Server): number {
  const address = server.address();
  return typeof address === 'object' && address ? address.port : 0;
}
