import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import type { Writable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { describe, expect, test } from 'vitest';
import { type FilterOptions, seccompFilter } from '../../../src/execute/sandboxes/seccomp.ts';
import { ALLOWED, type CallNumbers, DENIED, JUDGED } from '../../../src/execute/sandboxes/syscalls.ts';

const CLOSED: FilterOptions = { unixSockets: false, network: false };
const OPEN: FilterOptions = { unixSockets: true, network: true };
const ERRNO = { 'no effect': 0, EPERM: 1, ENOSYS: 38, EPROTONOSUPPORT: 93, ESOCKTNOSUPPORT: 94, EAFNOSUPPORT: 97 };
const EVERY: readonly (readonly [string, CallNumbers])[] = [...ALLOWED, ...DENIED, ...Object.entries(JUDGED)];
const MACHINES = [
  { arch: 'x64', column: 0, audit: 0xc000003e, header: '/usr/include/x86_64-linux-gnu/asm/unistd_64.h' },
  { arch: 'arm64', column: 1, audit: 0xc00000b7, header: '/usr/include/asm-generic/unistd.h' },
] as const;

describe.each(MACHINES)('the filter for $arch', ({ arch, column, audit, header }) => {
  const filter = filterFor(arch, CLOSED);
  const open = filterFor(arch, OPEN);
  const answer = (nr: number, args: readonly number[] = [], bytes = filter): string =>
    judge(bytes, { nr, arch: audit, args });
  const { clone, clone3, socket, socketpair, setsockopt, ioctl, personality } = Object.fromEntries(
    Object.entries(JUDGED).map(([name, numbers]) => [name, numbers[column]]),
  ) as Record<keyof typeof JUDGED, number>;

  test.runIf(existsSync(header))('has the call numbers of the kernel', () => {
    const known = numbersIn(readFileSync(header, 'utf8'));
    const names = new Map([...known].map(([name, nr]) => [nr, name]));
    expect(known.size).toBeGreaterThan(250);
    for (const [name, numbers] of EVERY) {
      const number = numbers[column];
      // The kernel header may predate a system call. Then no other call may have its number.
      if (number !== undefined && !known.has(name)) expect([name, names.get(number)]).toEqual([name, undefined]);
      else expect([name, known.get(name)]).toEqual([name, number]);
    }
  });

  test('has each call in only one table', () => {
    const numbers = EVERY.flatMap(([, each]) => each[column] ?? []);
    expect(new Set(EVERY.map(([name]) => name)).size).toBe(EVERY.length);
    expect(new Set(numbers).size).toBe(numbers.length);
  });

  test('allows or denies each listed call, and answers all others as unknown', () => {
    const allowed = numbersOf(ALLOWED, column);
    const denied = numbersOf(DENIED, column);
    const judged = new Set([clone, clone3, socket, socketpair, setsockopt, ioctl, personality]);
    for (let nr = 0; nr < 1_000; nr++) {
      const expected = allowed.has(nr) ? 'allow' : denied.has(nr) ? 'EPERM' : 'ENOSYS';
      if (!judged.has(nr)) expect([nr, answer(nr)]).toEqual([nr, expected]);
    }
    for (const nr of [0x4000_0000, 0x4000_0029, 0x7fff_ffff, 0xffff_ffff]) expect(answer(nr)).toBe('ENOSYS');
    expect(allowed.size).toBeGreaterThan(230);
    expect(denied.size).toBeGreaterThan(60);
  });

  test('allows larger socket buffers and shared memory, unless they cannot be counted', () => {
    const numberOf = (name: string): number => ALLOWED.get(name)?.[column] ?? -1;
    const uncounted = filterFor(arch, { ...CLOSED, uncounted: ['memfd_create', 'shmget'], plainBuffers: true });
    for (const name of ['memfd_create', 'shmget']) {
      expect(answer(numberOf(name))).toBe('allow');
      expect(answer(numberOf(name), [], uncounted)).toBe('ENOSYS');
    }
    expect(answer(numberOf('semget'), [], uncounted)).toBe('allow');
    for (const option of [7, 8]) {
      expect(answer(setsockopt, [3, 1, option])).toBe('allow');
      expect(answer(setsockopt, [3, 1, option], uncounted)).toBe('no effect');
      expect(answer(setsockopt, [3, 6, option], uncounted)).toBe('allow');
    }
    expect(answer(setsockopt, [3, 1, 2], uncounted)).toBe('allow');
  });

  test('decides every call in a few instructions', () => {
    for (const [, numbers] of EVERY) {
      const nr = numbers[column];
      if (nr !== undefined) expect(stepsOf(filter, { nr, arch: audit, args: [] })).toBeLessThanOrEqual(STEPS_MAX);
    }
  });

  test('kills a program that uses another call table', () => {
    for (const other of [0x4000_0003, 0x4000_0028, 0, ...MACHINES.map(({ audit }) => audit).filter(a => a !== audit)]) {
      expect(judge(filter, { nr: 0, arch: other, args: [] })).toBe('kill');
    }
  });

  test('allows threads and children, but no namespaces', () => {
    expect(answer(clone, [0x003d0f00])).toBe('allow');
    expect(answer(clone, [0x01200011])).toBe('allow');
    for (const flag of [0x00020000, 0x02000000, 0x04000000, 0x08000000, 0x10000000, 0x20000000, 0x40000000]) {
      expect(answer(clone, [flag | 17])).toBe('EPERM');
    }
    expect(answer(clone3)).toBe('ENOSYS');
  });

  test('allows the sockets that programs usually open', () => {
    const flags = 0x80800;
    for (const family of [2, 10]) {
      for (const protocol of [0, 6, 17]) expect(answer(socket, [family, 1 | flags, protocol])).toBe('allow');
      for (const protocol of [1, 33, 132, 262]) {
        expect(answer(socket, [family, 1, protocol])).toBe('EPROTONOSUPPORT');
        expect(answer(socket, [family, 1, protocol], open)).toBe('allow');
      }
    }
    expect(answer(socket, [16, 3 | flags, 0])).toBe('allow');
    for (const bytes of [filter, open]) {
      for (const protocol of [2, 6, 9, 12, 15, 16])
        expect(answer(socket, [16, 3, protocol], bytes)).toBe('EAFNOSUPPORT');
      for (const family of [0, 3, 4, 5, 15, 17, 21, 29, 30, 31, 38, 40, 44, 0xffffffff]) {
        expect(answer(socket, [family, 1, 0], bytes)).toBe('EAFNOSUPPORT');
      }
    }
  });

  test('allows named Unix sockets on request, and harmless socket pairs always', () => {
    expect(answer(socket, [1, 1, 0])).toBe('EAFNOSUPPORT');
    expect(answer(socket, [1, 1, 0], open)).toBe('allow');
    for (const type of [1, 5, 1 | 0x80800]) expect(answer(socketpair, [1, type, 0])).toBe('allow');
    for (const type of [2, 3, 2 | 0x80000]) {
      expect(answer(socketpair, [1, type, 0])).toBe('ESOCKTNOSUPPORT');
      expect(answer(socketpair, [1, type, 0], open)).toBe('allow');
    }
    for (const family of [2, 30]) expect(answer(socketpair, [family, 1, 0], open)).toBe('EAFNOSUPPORT');
  });

  test('denies terminal input injection and personality changes', () => {
    for (const request of [0x5412, 0x541c]) expect(answer(ioctl, [0, request])).toBe('EPERM');
    for (const request of [0x5401, 0x5413, 0x541b]) expect(answer(ioctl, [0, request])).toBe('allow');
    for (const persona of [0, 0xffffffff]) expect(answer(personality, [persona])).toBe('allow');
    for (const persona of [0x0040000, 0x0400000, 8]) expect(answer(personality, [persona])).toBe('EPERM');
  });
});

test('there is no filter for an unknown processor', () => {
  expect(seccompFilter('riscv64', CLOSED)).toBeUndefined();
});

describe.runIf(seccompFilter(process.arch, CLOSED))('behind the filter', () => {
  const column = process.arch === 'x64' ? 0 : 1;
  const numberOf = (name: keyof typeof JUDGED): number => JUDGED[name][column];

  test('the kernel refuses every denied call', async () => {
    const calls = [...numbersOf(DENIED, column)];
    const { stdout } = await inside(CLOSED, ['python3', '-I', '-c', ASKS, JSON.stringify(calls.map(nr => [nr]))]);
    expect(JSON.parse(stdout)).toEqual(calls.map(() => ERRNO.EPERM));
  });

  test('calls are refused depending on their arguments', async () => {
    const asked = [
      [999],
      [numberOf('clone3'), 0, 0],
      [numberOf('clone'), 0x10000000 | 17],
      [numberOf('socket'), 1, 1, 0],
      [numberOf('socket'), 40, 1, 0],
      [numberOf('socket'), 17, 3, 0],
      [numberOf('socket'), 38, 5, 0],
      [numberOf('socket'), 2, 1, 132],
      [numberOf('ioctl'), 0, 0x5412, 0],
      [numberOf('ioctl'), 0, 0x541c, 0],
      [numberOf('personality'), 0x0040000],
    ];
    const { stdout } = await inside(CLOSED, ['python3', '-I', '-c', ASKS, JSON.stringify(asked)]);
    const { EPERM, ENOSYS, EAFNOSUPPORT, EPROTONOSUPPORT } = ERRNO;
    expect(JSON.parse(stdout)).toEqual([
      ...[
        ENOSYS,
        ENOSYS,
        EPERM,
        EAFNOSUPPORT,
        EAFNOSUPPORT,
        EAFNOSUPPORT,
        EAFNOSUPPORT,
        EPROTONOSUPPORT,
        EPERM,
        EPERM,
        EPERM,
      ],
    ]);
  });

  test.runIf(process.arch === 'x64')('using the 32-bit call table is fatal', async () => {
    const code = `
import ctypes, mmap
code = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
code.write(bytes.fromhex('b814000000cd80c3'))
ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(code)))()`;
    // SIGSYS, or SIGSEGV if the kernel has no such table.
    expect([128 + 31, 128 + 11]).toContain((await inside(CLOSED, ['python3', '-I', '-c', code])).code);
  });

  test('Python can use threads, children, pools and event loops', async () => {
    const code = `
import asyncio, concurrent.futures, multiprocessing, os, socket, subprocess, threading, time
said = []
thread = threading.Thread(target=lambda: said.append('thread')); thread.start(); thread.join()
said.append(subprocess.run(['sh', '-c', 'echo child | tr a-z A-Z'], capture_output=True, text=True).stdout.strip())
with multiprocessing.get_context('fork').Pool(2) as pool: said.append(sum(pool.map(abs, range(-3, 1))))
with concurrent.futures.ThreadPoolExecutor(4) as pool: said.append(sum(pool.map(abs, range(-3, 1))))
async def loop():
    process = await asyncio.create_subprocess_exec('echo', 'loop', stdout=subprocess.PIPE)
    return (await process.communicate())[0].decode().strip()
said.append(asyncio.run(loop()))
server = socket.create_server(('127.0.0.1', 0))
client = socket.create_connection(server.getsockname()); client.send(b'tcp')
said.append(server.accept()[0].recv(9).decode())
said.append([name for _, name in socket.if_nameindex()])
try: socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
except OSError as error: said.append(error.errno)
import json; print(json.dumps(said))`;
    const { stdout, stderr, code: exit } = await inside(CLOSED, ['python3', '-I', '-c', code]);
    expect({ exit, stderr }).toEqual({ exit: 0, stderr: '' });
    expect(JSON.parse(stdout)).toEqual(['thread', 'CHILD', 6, 6, 'loop', 'tcp', ['lo'], ERRNO.ESOCKTNOSUPPORT]);
  });

  test('Node can use threads, children, channels and servers', async () => {
    const code = `
const { execSync, fork } = require('node:child_process');
const { Worker } = require('node:worker_threads');
const { once } = require('node:events');
const fs = require('node:fs'), http = require('node:http'), net = require('node:net'), os = require('node:os');
(async () => {
  const said = [];
  said.push((await once(new Worker('require("node:worker_threads").parentPort.postMessage("thread")', { eval: true }), 'message'))[0]);
  said.push(execSync('echo child | tr a-z A-Z').toString().trim());
  fs.writeFileSync('/tmp/child.js', 'process.send("channel"); process.disconnect()');
  said.push((await once(fork('/tmp/child.js'), 'message'))[0]);
  const server = http.createServer((_, reply) => reply.end('http')).listen(0, '127.0.0.1');
  await once(server, 'listening');
  said.push(await (await fetch('http://127.0.0.1:' + server.address().port)).text());
  server.close(); server.closeAllConnections();
  said.push(Object.keys(os.networkInterfaces()));
  said.push((await fs.promises.readFile('/tmp/child.js', 'utf8')).length > 0);
  const path = net.createServer().listen('/tmp/socket');
  said.push((await once(path, 'error').catch(error => [error]))[0].code);
  console.log(JSON.stringify(said));
})();`;
    const { stdout, stderr, code: exit } = await inside(CLOSED, ['node', '-e', code]);
    expect({ exit, stderr }).toEqual({ exit: 0, stderr: '' });
    expect(JSON.parse(stdout)).toEqual(['thread', 'CHILD', 'channel', 'http', ['lo'], true, 'EAFNOSUPPORT']);
  });

  test.runIf(existsSync('/usr/bin/java'))('Java can use threads, children and its garbage collector', async () => {
    const code = `public class Main { public static void main(String[] a) throws Exception {
  var pool = java.util.concurrent.Executors.newFixedThreadPool(4);
  var sum = new java.util.concurrent.atomic.AtomicInteger();
  for (int i = 1; i <= 100; i++) { final int each = i; pool.submit(() -> sum.addAndGet(each)); }
  pool.shutdown(); pool.awaitTermination(10, java.util.concurrent.TimeUnit.SECONDS);
  System.gc();
  var child = new ProcessBuilder("/bin/echo", "child").start();
  System.out.println(sum + " " + new String(child.getInputStream().readAllBytes()).trim());
} }`;
    const script = `cat > Main.java <<'END'\n${code}\nEND\njava -XX:+UseNUMA Main.java`;
    expect(await inside(CLOSED, ['sh', '-c', script])).toMatchObject({ code: 0, stdout: '5050 child\n' });
  });

  test('shells can use pipelines and background jobs', async () => {
    const script =
      'seq 1 100 | sort -rn | head -3 | tr "\\n" " "; (sleep 0; echo back) & wait; find /usr/bin -name sh | wc -l';
    expect(await inside(CLOSED, ['sh', '-c', script])).toMatchObject({ code: 0, stdout: '100 99 98 back\n1\n' });
  });

  test('named Unix sockets work if they are allowed', async () => {
    const code = `
import socket
server = socket.socket(socket.AF_UNIX); server.bind('/tmp/door'); server.listen()
client = socket.socket(socket.AF_UNIX); client.connect('/tmp/door'); print('open')`;
    expect(await inside(OPEN, ['python3', '-I', '-c', code])).toMatchObject({ code: 0, stdout: 'open\n' });
    const closed = await inside(CLOSED, ['python3', '-I', '-c', code]);
    expect(closed.stderr).toContain('Address family not supported');
  });
});

/** The calls of a header by name. Some have one number for 32 and 64 bits, and a second name. */
function numbersIn(header: string): Map<string, number> {
  const known = new Map(
    [...header.matchAll(/#define __NR(?:3264)?_(\w+)\s+(\d+)/g)].map(([, name = '', nr]) => [name, Number(nr)]),
  );
  const one = known.get('fstatat');
  if (one !== undefined) known.set('newfstatat', one);
  return known;
}

function numbersOf(calls: ReadonlyMap<string, CallNumbers>, column: 0 | 1): Set<number> {
  return new Set([...calls.values()].flatMap(numbers => numbers[column] ?? []));
}

/** Makes the given system calls and prints each error number. */
const ASKS = `
import ctypes, json, sys
libc = ctypes.CDLL(None, use_errno=True)
answers = []
for call in json.loads(sys.argv[1]):
    ctypes.set_errno(0)
    done = libc.syscall(*[ctypes.c_long(part) for part in call])
    answers.append(ctypes.get_errno() if done == -1 else 0)
print(json.dumps(answers))`;

function filterFor(arch: string, options: FilterOptions): Buffer {
  const filter = seccompFilter(arch, options);
  if (filter === undefined) throw new Error(`No filter for ${arch}`);
  return filter;
}

/** Runs a program in a minimal sandbox, as an unprivileged user. */
async function inside(
  options: FilterOptions,
  argv: readonly string[],
): Promise<{ code: number; stdout: string; stderr: string }> {
  const root = [
    '--ro-bind',
    '/usr',
    '/usr',
    '--symlink',
    'usr/bin',
    '/bin',
    '--symlink',
    'usr/lib',
    '/lib',
    '--ro-bind',
    '/etc',
    '/etc',
  ];
  const more = existsSync('/usr/lib64') ? ['--symlink', 'usr/lib64', '/lib64'] : [];
  const mounts = ['--proc', '/proc', '--dev', '/dev', '--tmpfs', '/tmp', '--chdir', '/tmp'];
  const child = spawn(
    '/usr/bin/bwrap',
    [
      '--unshare-all',
      '--unshare-user',
      '--die-with-parent',
      ...root,
      ...more,
      ...mounts,
      '--cap-drop',
      'ALL',
      '--setenv',
      'PATH',
      '/usr/bin',
      '--seccomp',
      '3',
      '--',
      ...argv,
    ],
    {
      ...(process.geteuid?.() === 0 && { uid: 65_534, gid: 65_534 }),
      env: {},
      cwd: '/',
      stdio: ['ignore', 'pipe', 'pipe', 'pipe'],
      timeout: 30_000,
    },
  );
  (child.stdio[3] as Writable).end(filterFor(process.arch, options));
  const [stdout, stderr, [code]] = await Promise.all([
    text(child.stdio[1] as NodeJS.ReadableStream),
    text(child.stdio[2] as NodeJS.ReadableStream),
    once(child, 'close'),
  ]);
  return { code: code as number, stdout, stderr };
}

/** The kernel's verdict. */
function judge(filter: Buffer, call: Call): string {
  return walk(filter, call).verdict;
}

/** The number of instructions executed. */
function stepsOf(filter: Buffer, call: Call): number {
  return walk(filter, call).steps;
}

/** The search for a call, plus the longest rule. */
const STEPS_MAX = 20;

interface Call {
  readonly nr: number;
  readonly arch: number;
  readonly args: readonly number[];
}

/** Interprets the classic BPF instructions that the filters use. */
function walk(filter: Buffer, call: Call): { verdict: string; steps: number } {
  const data = Buffer.alloc(64);
  data.writeUInt32LE(call.nr, 0);
  data.writeUInt32LE(call.arch, 4);
  call.args.forEach((value, index) => data.writeUInt32LE(value >>> 0, 16 + 8 * index));
  let accumulator = 0;
  for (let at = 0, steps = 1; at < filter.length; at += 8, steps++) {
    const code = filter.readUInt16LE(at);
    const k = filter.readUInt32LE(at + 4);
    const jump = (isTrue: boolean): number => 8 * filter.readUInt8(at + (isTrue ? 2 : 3));
    if (code === 0x20) accumulator = data.readUInt32LE(k);
    else if (code === 0x54) accumulator = (accumulator & k) >>> 0;
    else if (code === 0x15) at += jump(accumulator === k);
    else if (code === 0x35) at += jump(accumulator >= k);
    else if (code === 0x45) at += jump((accumulator & k) !== 0);
    else if (code === 0x05) at += 8 * k;
    else if (code === 0x06) return { verdict: verdictOf(k), steps };
    else throw new Error(`Not an instruction of a filter: ${code}`);
  }
  throw new Error('The filter has no end');
}

function verdictOf(k: number): string {
  if (k === 0x7fff0000) return 'allow';
  if (k === 0x80000000) return 'kill';
  return Object.entries(ERRNO).find(([, code]) => k === 0x50000 + code)?.[0] ?? `verdict ${k}`;
}
