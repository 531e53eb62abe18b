import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import type { Runner } from '../../src/contracts/runner/shape.ts';
import type { ScriptOutcome } from '../../src/contracts/script-outcome/shape.ts';
import { openLauncher } from '../../src/execute/launcher/launch.ts';
import { type Asked, MB, type Outcome, python, ran, shell } from '../conformance/jobs.ts';
import { proctor, temporaryFolder } from '../support/support.ts';

/** Programs that try to hold four times their limit. Each reports success only if it survives for a while. */

const launcher = openLauncher();
const { cgroups, missing, dividesCpus } = await launcher.machine();
const hasGroups = cgroups !== 'none';
afterAll(() => launcher.close());

const MEMORY = 64 * MB;

const attempt = (asked: Asked): Promise<Outcome> =>
  ran(launcher, 'process', {
    ...asked,
    limits: {
      memoryBytes: MEMORY,
      openFiles: 1_024,
      pids: 64,
      workBytes: 1_024 * MB,
      timeoutMs: 60_000,
      ...asked.limits,
    },
  });

/** The program was killed or denied memory before it held four times its limit. */
function expectHeld({ out, ending }: Outcome): void {
  expect(out).not.toContain('slipped');
  if (!out.includes('refused')) expect(ending).toMatchObject({ how: 'out_of_memory' });
}

/** Python that holds a resource for longer than Proctor's sampling interval, then reports it. */
const holding = (code: string): string[] =>
  python(`
import ctypes, fcntl, os, socket, struct, sys, time
MB = 1 << 20
GOAL = ${(4 * MEMORY) / MB} * MB
held = 0
keep = []
try:
${code.trim().replaceAll(/^/gm, '    ')}
except OSError as error: print('refused', error, flush=True)
if held >= GOAL:
    time.sleep(4)
    print('slipped', flush=True)`);

describe.runIf(missing.length === 0)('the memory limit', () => {
  test('applies to processes that are each below it but exceed it together', async () => {
    const code = `
import signal
reader, writer = os.pipe()
signal.signal(signal.SIGCHLD, lambda *_: os._exit(0))
for _ in range(8):
    if os.fork() == 0:
        x = bytearray(GOAL // 8)
        os.write(writer, b'x')
        time.sleep(30)
while held < GOAL: held += len(os.read(reader, 1)) * GOAL // 8`;
    expectHeld(await attempt({ argv: holding(code) }));
  });

  test('applies to anonymous memory files', async () => {
    const code = `
file = os.memfd_create('x')
while held < GOAL: held += os.write(file, bytes(MB))`;
    expectHeld(await attempt({ argv: holding(code) }));
  });

  test('applies to anonymous memory files of a process that hides its descriptors', async () => {
    const code = `
ctypes.CDLL(None).prctl(4, 0, 0, 0, 0)
file = os.memfd_create('x')
while held < GOAL: held += os.write(file, bytes(MB))`;
    expectHeld(await attempt({ argv: holding(code) }));
  });

  test('applies to System V segments that no process has attached', async () => {
    const code = `
libc = ctypes.CDLL(None, use_errno=True)
libc.shmat.restype = ctypes.c_void_p
while held < GOAL:
    segment = libc.shmget(0, 4 * MB, 0o1600)
    if segment < 0: raise OSError(ctypes.get_errno(), 'shmget')
    address = ctypes.c_void_p(libc.shmat(segment, None, 0))
    ctypes.memset(address, 1, 4 * MB)
    libc.shmdt(address)
    held += 4 * MB`;
    expectHeld(await attempt({ argv: holding(code) }));
  });

  test('applies to shared memory', async () => {
    const code = `
import mmap
shared = mmap.mmap(-1, GOAL)
while held < GOAL: shared[held] = 1; held += 4096`;
    expectHeld(await attempt({ argv: holding(code) }));
  });

  test("applies to the sum of /tmp and an agent's processes", async () => {
    const code = `
free = os.statvfs('/tmp')
print('room', free.f_blocks * free.f_frsize // MB, flush=True)
with open('/tmp/x', 'wb', 0) as file:
    for _ in range(${Math.floor((MEMORY / MB) * 0.45)}): file.write(bytes(MB))
print('written', flush=True)
keep = bytearray(${Math.floor(0.9 * MEMORY)})
held = GOAL`;
    const limits = { memoryBytes: 4 * MEMORY };
    const outcome = await attempt({ argv: holding(code), guarded: true, home: true, writeRoots: ['.'] });
    expect(outcome.out).toBe(`room ${MEMORY / MB / 2}\nwritten\n`);
    expect(outcome.ending).toMatchObject({ how: 'out_of_memory' });
    const larger = await attempt({ argv: holding(code), guarded: true, home: true, writeRoots: ['.'], limits });
    expect(larger.out).toBe(`room ${(4 * MEMORY) / MB / 2}\nwritten\nslipped\n`);
  });

  test.each(['output/x', '/tmp/x'])('applies to files: %s', async file => {
    const code = `
file = open('${file}', 'wb')
while held < GOAL: held += file.write(bytes(MB))`;
    expectHeld(await attempt({ argv: holding(code) }));
  });

  test('applies to deleted files that are still open', async () => {
    const code = `
file = open('output/x', 'wb')
os.unlink('output/x')
while held < GOAL: held += file.write(bytes(MB))`;
    expectHeld(await attempt({ argv: holding(code) }));
  });

  test('does not count memory shared by forked processes more than once', async () => {
    const code = `
import os, time
x = bytearray(30 << 20)
for _ in range(6):
    if os.fork() == 0: time.sleep(1); os._exit(0)
for _ in range(6): os.wait()
print('fine')`;
    const { out, ending } = await attempt({ argv: python(code) });
    expect([out, ending]).toEqual(['fine\n', { how: 'exited', code: 0 }]);
  });
});

describe.runIf(missing.length === 0)('the limit on kernel buffers', () => {
  test('applies to TCP connections without a reader', async () => {
    const code = `
while held < GOAL:
    server = socket.socket(); server.setsockopt(1, 8, 64 * MB); server.bind(('127.0.0.1', 0)); server.listen(1)
    client = socket.socket(); client.setsockopt(1, 7, 64 * MB); client.connect(server.getsockname())
    client.setblocking(False)
    keep += [client, server.accept()[0]]
    server.close()
    try:
        while held < GOAL: held += client.send(bytes(MB))
    except BlockingIOError: pass`;
    expectHeld(await attempt({ argv: holding(code) }));
  });

  test('applies to UDP sockets without a reader', async () => {
    // The kernel drops datagrams that do not fit, so only readable ones were held.
    const code = `
for _ in range(200):
    server = socket.socket(type=socket.SOCK_DGRAM); server.setsockopt(1, 8, 64 * MB); server.bind(('127.0.0.1', 0))
    client = socket.socket(type=socket.SOCK_DGRAM); client.connect(server.getsockname())
    keep += [client, server]
    for _ in range(100): client.send(bytes(60000))
time.sleep(2)
for server in keep[1::2]:
    server.setblocking(False)
    try:
        while True: held += len(server.recv(60000))
    except BlockingIOError: pass
if held < GOAL: print('refused')`;
    expectHeld(await attempt({ argv: holding(code) }));
  });

  test('applies to pairs of Unix sockets', async () => {
    const code = `
while held < GOAL:
    pair = socket.socketpair()
    keep += pair
    for one in pair:
        one.setsockopt(1, 7, 64 * MB)
        one.setblocking(False)
        try:
            while held < GOAL: held += one.send(bytes(65536))
        except BlockingIOError: pass`;
    expectHeld(await attempt({ argv: holding(code) }));
  });

  test('applies to kernel answers on netlink sockets', async () => {
    const code = `
while held < GOAL:
    asking = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0); asking.setsockopt(1, 8, 64 * MB)
    asking.bind((0, 0)); asking.setblocking(False)
    keep.append(asking)
    try:
        for number in range(200):
            asking.send(struct.pack('=IHHIIBxHiII', 32, 18, 1, number, 0, 0, 0, 1, 0, 0))
            held += 1400
    except OSError: pass`;
    expectHeld(await attempt({ argv: holding(code) }));
  });

  // Without control groups, only the kernel's per-user limit applies to pipes, and the evidence claims nothing.
  test.runIf(hasGroups)('applies to pipes', async () => {
    const code = `
while held < GOAL:
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    keep += [reader, writer]
    fcntl.fcntl(writer, 1031, MB)
    try:
        while True: held += os.write(writer, bytes(65536))
    except BlockingIOError: pass`;
    expectHeld(await attempt({ argv: holding(code) }));
  });
});

describe.runIf(missing.length === 0)('CPU time', () => {
  const spinning = (code: string): Asked => ({ argv: python(`${code}\nprint('slipped')`), limits: { cpuSeconds: 1 } });

  const rows: [string, Asked][] = [
    [
      'of processes that are each below the limit but exceed it together',
      spinning(`
import os, time
for _ in range(6):
    if os.fork() == 0:
        while time.process_time() < 0.9: pass
        os._exit(0)
for _ in range(6): os.wait()`),
    ],
    [
      'of busy loops that were forked twice',
      spinning(`
import os, time
reader, writer = os.pipe()
for _ in range(2):
    if os.fork() == 0:
        if os.fork() == 0:
            while time.process_time() < 3: pass
        os._exit(0)
    os.wait()
os.close(writer)
os.read(reader, 1)`),
    ],
    [
      'of children that their parent does not wait for',
      spinning(`
import os, signal, time
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
for _ in range(20):
    reader, writer = os.pipe()
    if os.fork() == 0:
        while time.process_time() < 0.5: pass
        os._exit(0)
    os.close(writer)
    os.read(reader, 1)`),
    ],
    [
      'of many short-lived children',
      { argv: shell('for i in $(seq 20000); do /bin/true; done; echo slipped'), limits: { cpuSeconds: 1 } },
    ],
  ];
  test.each(rows)('%s is limited', async (_, asked) => {
    const { out, ending, cpuMs = 0 } = await attempt(asked);
    expect(out).toBe('');
    expect(ending).toMatchObject({ how: 'killed', by: 'cpu' });
    expect(cpuMs).toBeGreaterThanOrEqual(1_000);
  });
});

describe.runIf(missing.length === 0)('the process limit', () => {
  test('denies a fork bomb its children until the timeout kills it', async () => {
    const code = `
import os
while True:
    try: os.fork()
    except OSError: pass`;
    const { ending } = await attempt({ argv: python(code), limits: { pids: 30, timeoutMs: 1_000, graceMs: 50 } });
    expect(ending).toMatchObject({ how: 'killed', by: 'timeout' });
  });
});

describe.runIf(missing.length === 0)('the evidence', () => {
  const SPIN = `
import os, time
import proctor_tool
for _ in range(3): os.fork()
end = time.monotonic() + 1.5
while time.monotonic() < end: pass
try: os.wait()
except ChildProcessError: pass
if os.getpid() < 10: proctor_tool.succeed()`;

  function run(...flags: string[]) {
    const cwd = temporaryFolder();
    writeFileSync(path.join(cwd, 'spin.py'), SPIN);
    const said = proctor(['run', 'script', 'spin.py', ...flags, '--json'], { cwd });
    const read = (file: string): unknown => {
      const { folder } = JSON.parse(said.stdout) as { folder: string };
      return JSON.parse(readFileSync(path.join(cwd, folder, 'evidence', file), 'utf8'));
    };
    return {
      ...said,
      outcome: () => read('outcome.json') as ScriptOutcome,
      runner: () => read('runner.json') as Runner,
    };
  }

  test('records only enforced limits, and the claim of every limit', () => {
    const { outcome, runner } = run('--memory', '256m', '--cpu-seconds', '60');
    const claims = Object.fromEntries((outcome().enforcement.claims ?? []).map(({ limit, claim }) => [limit, claim]));
    const { limits, warnings = [] } = runner();
    expect(claims).toMatchObject({
      timeout_ms: 'enforced',
      processes: 'enforced',
      open_files: 'per_process',
      cpus: 'absent',
    });
    expect(limits.max_memory_bytes).toBe(hasGroups ? 256 * MB : undefined);
    expect(limits.max_cpu_seconds).toBe(hasGroups ? 60 : undefined);
    expect([claims.memory_bytes, claims.cpu_seconds]).toEqual(Array(2).fill(hasGroups ? 'enforced' : 'watched'));
    expect(warnings.filter(warning => warning.startsWith('limit_watched: '))).toHaveLength(hasGroups ? 0 : 2);
  });

  test('never reports a usage of 0 for a busy program', () => {
    const { usage } = run().outcome();
    expect(usage.cpu_ms).toBeGreaterThan(0);
    expect(usage.memory_peak_bytes).toBeGreaterThan(0);
    expect(usage.measured_by).toBe(hasGroups ? 'cgroup' : 'samples');
  });

  test.runIf(dividesCpus)('shows that a run stayed within its CPU share', () => {
    const { outcome, runner } = run('--cpus', '0.2');
    const executed = runner().timing.phases?.find(({ name }) => name === 'execute');
    const share = (outcome().usage.cpu_ms ?? Infinity) / (executed?.duration_ms ?? 1);
    // Eight processes spin. One quota period may start before the clock, and one may end after it.
    expect(share).toBeLessThan(0.4);
    expect(outcome().enforcement.claims).toContainEqual({ limit: 'cpus', value: 0.2, claim: 'enforced' });
  });

  test.runIf(!dividesCpus)(
    'claims no CPU share that cannot be enforced: the run is refused, and the error names the limit',
    () => {
      const { stdout, code } = run('--cpus', '0.5');
      expect(code).toBe(2);
      expect(stdout).toContain('Cannot enforce --cpus here: it requires control groups');
    },
  );
});
