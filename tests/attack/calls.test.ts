import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openLauncher } from '../../src/execute/launcher/launch.ts';
import { ALLOWED, DENIED, JUDGED } from '../../src/execute/sandboxes/syscalls.ts';
import { type Asked, type Outcome, python, ran } from '../conformance/jobs.ts';

const launcher = openLauncher();
afterAll(() => launcher.close());
const machine = await launcher.machine();
const inside = (asked: Asked): Promise<Outcome> => ran(launcher, 'process', asked);

const column = process.arch === 'arm64' ? 1 : 0;
const numbers = new Map([...ALLOWED, ...DENIED, ...Object.entries(JUDGED)].map(([name, call]) => [name, call[column]]));
/** System calls that this architecture lacks have no number. */
const only = (names: string): string[] =>
  names.split(/\s+/).filter(name => numbers.get(name) !== undefined || !NOT_ON_ARM.includes(name));
const NOT_ON_ARM = column === 1 ? ['create_module', 'iopl', 'ioperm', 'modify_ldt', 'uselib', 'sysfs', 'ustat'] : [];

/** Listed again, so that a call cannot become allowed unnoticed when it moves to another table. */
const REFUSED: Record<string, string[]> = {
  'changing the view of the file system': only(
    'mount umount2 pivot_root chroot open_tree open_tree_attr move_mount fsopen fsconfig fsmount fspick mount_setattr',
  ),
  'opening files by handle, and watching whole file systems': only(
    'name_to_handle_at open_by_handle_at fanotify_init fanotify_mark',
  ),
  'new namespaces': only('unshare setns'),
  'code in the kernel': only(
    'init_module finit_module delete_module create_module kexec_load kexec_file_load bpf perf_event_open userfaultfd io_uring_setup io_uring_enter io_uring_register memfd_secret remap_file_pages',
  ),
  'asynchronous I/O, which shares a limit with the whole machine': only(
    'io_setup io_destroy io_submit io_cancel io_getevents io_pgetevents',
  ),
  'access to other processes': only(
    'ptrace process_vm_readv process_vm_writev process_madvise process_mrelease pidfd_getfd kcmp move_pages migrate_pages',
  ),
  'memory placement': only('get_mempolicy set_mempolicy set_mempolicy_home_node mbind'),
  'kernel keys': only('add_key request_key keyctl'),
  'administering the machine': only(
    'reboot syslog acct swapon swapoff quotactl quotactl_fd settimeofday clock_settime clock_adjtime adjtimex sethostname setdomainname vhangup',
  ),
  'hardware access and obsolete features': only('iopl ioperm modify_ldt uselib lookup_dcookie nfsservctl sysfs ustat'),
};

/** Python that makes the calls and prints the name of each error. */
const MAKES = `
import ctypes, errno, json, sys
libc = ctypes.CDLL(None, use_errno=True)
def made(words):
    ctypes.set_errno(0)
    done = libc.syscall(*[ctypes.c_long(word) for word in words])
    return errno.errorcode.get(ctypes.get_errno(), '?') if done == -1 else 'through'
print(json.dumps({name: made(words) for name, words in json.loads(sys.argv[1]).items()}))`;

async function made(calls: Record<string, readonly number[]>): Promise<Record<string, string>> {
  const { ending, out, err } = await inside({ argv: python(MAKES, JSON.stringify(calls)) });
  expect({ ending, err }).toEqual({ ending: { how: 'exited', code: 0 }, err: '' });
  return JSON.parse(out) as Record<string, string>;
}

describe.runIf(machine.missing.length === 0 && machine.seccomp)('a program in the sandbox', () => {
  let answers: Record<string, string> = {};
  beforeAll(async () => {
    const calls = Object.values(REFUSED).flat();
    answers = await made(Object.fromEntries(calls.map(name => [name, [numbers.get(name) ?? -1, 0, 0, 0, 0, 0]])));
  });

  describe.each(Object.entries(REFUSED))('cannot use system calls for %s', (_, names) => {
    test.each(names)('%s fails with EPERM', name => {
      expect(answers[name]).toBe('EPERM');
    });
  });

  const NAMESPACES = {
    mount: 0x2_0000,
    cgroup: 0x200_0000,
    uts: 0x400_0000,
    ipc: 0x800_0000,
    user: 0x1000_0000,
    pid: 0x2000_0000,
    network: 0x4000_0000,
  };
  test.each(Object.entries(NAMESPACES))('cannot start a child in a new %s namespace', async (_, flag) => {
    const clone = numbers.get('clone') ?? -1;
    expect(await made({ clone: [clone, flag | 17, 0, 0, 0, 0] })).toEqual({ clone: 'EPERM' });
  });

  const ABSENT: Record<string, readonly number[]> = {
    'clone3, whose flags a filter cannot read': [numbers.get('clone3') ?? -1, 0, 0],
    'statmount, which describes mounts': [457, 0, 0, 0, 0],
    'listmount, which lists mounts': [458, 0, 0, 0, 0],
    'cachestat, which reveals what others have read': [451, 0, 0, 0, 0],
    'a system call of a future kernel': [480, 0],
    'the system calls of x32': [0x4000_0000 + 39],
    'the highest system call number': [0x7fff_ffff],
  };
  test.each(Object.entries(ABSENT))('does not have %s', async (name, words) => {
    expect(await made({ [name]: words })).toEqual({ [name]: 'ENOSYS' });
  });

  test.runIf(process.arch === 'x64')('is killed by a call through the i386 table', async () => {
    const code = `
import ctypes, mmap
code = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
code.write(bytes.fromhex('b814000000cd80c3'))
ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(code)))()
print('lives')`;
    const { out } = await inside({ argv: python(code) });
    expect(out).toBe('');
  });

  test('gets no context for asynchronous I/O', async () => {
    const code = `
import ctypes
libc = ctypes.CDLL(None)
context = ctypes.c_ulong(0)
print(libc.syscall(${numbers.get('io_setup')}, 1, ctypes.byref(context)), context.value)`;
    expect((await inside({ argv: python(code) })).out).toBe('-1 0\n');
  });

  const eighth = (what: string): number =>
    Math.max(1, Math.floor(Number(readFileSync(`/proc/sys/fs/inotify/max_user_${what}`, 'utf8')) / 8));

  test("gets an eighth of a user's inotify instances, across all its processes", async () => {
    const code = `
import ctypes, os
libc = ctypes.CDLL(None)
total = 0
for _ in range(8):
    r, w = os.pipe()
    if os.fork() == 0:
        got = 0
        while got < 200 and libc.inotify_init() >= 0: got += 1
        os.write(w, str(got).encode())
        libc.pause()
    total += int(os.read(r, 16))
print(total)`;
    const { out, err } = await inside({ argv: python(code) });
    expect([out, err]).toEqual([`${eighth('instances')}\n`, '']);
  });

  test("gets an eighth of a user's inotify watches", async () => {
    const watches = eighth('watches');
    const instances = eighth('instances');
    const files = Math.ceil(watches / instances) + 10;
    const code = `
import ctypes
libc = ctypes.CDLL(None)
names = [b'/tmp/%d' % n for n in range(${files})]
for name in names: open(name, 'x').close()
got = 0
for fd in [libc.inotify_init() for _ in range(${instances})]:
    for name in names: got += libc.inotify_add_watch(fd, name, 2) >= 0
print(got)`;
    const { out, err } = await inside({ argv: python(code) });
    expect([out, err]).toEqual([`${watches}\n`, '']);
  });

  /** As root, each run has its own user and shares nothing. */
  const isShared = process.getuid?.() !== 0;
  const limit = (what: string): number =>
    Math.floor(
      Number(new RegExp(`^Max ${what} +(\\d+)`, 'm').exec(readFileSync('/proc/self/limits', 'utf8'))?.[1]) / 8,
    );

  test.runIf(isShared)("gets at most an eighth of its user's pending signals", async () => {
    const code = `
import ctypes, os, signal
libc = ctypes.CDLL(None)
signal.pthread_sigmask(signal.SIG_BLOCK, [40])
got = 0
while got < 1000000 and libc.sigqueue(os.getpid(), 40, 0) == 0: got += 1
print(got)`;
    const { out, err } = await inside({ argv: python(code) });
    expect(err).toBe('');
    expect(Number(out)).toBeGreaterThan(0);
    expect(Number(out)).toBeLessThanOrEqual(limit('pending signals'));
  });

  test.runIf(isShared)("gets at most an eighth of its user's message queues", async () => {
    const code = `
import ctypes
libc = ctypes.CDLL(None)
got = 0
while got < 256 and libc.mq_open(b'/%d' % got, 0o102, 0o600, (ctypes.c_long * 8)(0, 10, 1024)) >= 0: got += 1
print(got)`;
    const { out, err } = await inside({ argv: python(code) });
    expect(err).toBe('');
    expect(Number(out)).toBeGreaterThan(0);
    expect(Number(out) * 10_240).toBeLessThanOrEqual(limit('msgqueue size'));
  });

  test('gets 64 of the pseudo terminals that all sandboxes share', async () => {
    const code = `
import os
got = 0
try:
    while got < 4000:
        os.open('/dev/ptmx', os.O_RDWR | os.O_NOCTTY)
        got += 1
except OSError: pass
print(got)`;
    const { out, err } = await inside({ argv: python(code) });
    expect([out, err]).toEqual(['64\n', '']);
  });

  test('sees no terminal of the machine', async () => {
    const { out } = await inside({ argv: python('import os; print(os.listdir("/dev/pts"))') });
    expect(out).toBe("['ptmx']\n");
  });
});
