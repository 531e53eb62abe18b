import { existsSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openLauncher } from '../../src/execute/launcher/launch.ts';
import { type Asked, type Outcome, python, ran, shell } from '../conformance/jobs.ts';

const launcher = openLauncher();
afterAll(() => launcher.close());
const { missing } = await launcher.machine();
const inside = (asked: Asked): Promise<Outcome> => ran(launcher, 'process', asked);

/** None of these may be readable inside, if this kernel has them. */
const FILES = [
  '/proc/cmdline',
  '/proc/config.gz',
  '/proc/kallsyms',
  '/proc/modules',
  '/proc/interrupts',
  '/proc/keys',
  '/proc/sched_debug',
  '/proc/sys/kernel/random/boot_id',
  '/proc/kcore',
  '/proc/kmsg',
  '/proc/timer_list',
  '/proc/slabinfo',
  '/proc/vmallocinfo',
  '/proc/pagetypeinfo',
  '/proc/kpagecount',
].filter(existsSync);

const FOLDERS = ['/proc/1', '/proc/acpi', '/proc/asound', '/proc/bus', '/proc/fs', '/proc/scsi'].filter(existsSync);

/** The sandbox's first process runs as the same user as the program. */
const FIRST = ['mem', 'environ', 'cmdline', 'maps', 'status', 'fd', 'root', 'cwd', 'exe', 'task/1/mem'];

/** Interpreters and tools read these at every start. */
const NEEDED = [
  '/proc/cpuinfo',
  '/proc/meminfo',
  '/proc/stat',
  '/proc/uptime',
  '/proc/loadavg',
  '/proc/filesystems',
  '/proc/version',
  '/proc/mounts',
  '/proc/self/maps',
  '/proc/self/status',
  '/proc/self/cgroup',
  '/proc/sys/kernel/osrelease',
  '/proc/sys/kernel/cap_last_cap',
  '/proc/sys/kernel/random/uuid',
  '/proc/sys/vm/overcommit_memory',
  '/proc/sys/fs/pipe-max-size',
];

const ways: Record<string, string> = {
  ...Object.fromEntries(FILES.map(file => [file, `open('${file}', 'rb').read(1)`])),
  ...Object.fromEntries(FOLDERS.map(folder => [folder, `os.listdir('${folder}')`])),
  ...Object.fromEntries(NEEDED.map(file => [file, `open('${file}', 'rb').read(1)`])),
  ...Object.fromEntries(
    FIRST.flatMap(name => [
      [`/proc/1/${name}`, `os.close(os.open('/proc/1/${name}', os.O_RDONLY))`],
      [`/proc/self/../1/${name}`, `os.close(os.open('/proc/self/../1/${name}', os.O_RDONLY))`],
    ]),
  ),
  'write to the memory of the first process': `os.close(os.open('/proc/1/mem', os.O_RDWR))`,
  'the same by a folder that is open': `os.close(os.open('1/mem', os.O_RDWR, dir_fd=os.open('/proc', os.O_RDONLY)))`,
  'a file in place of the first process': `open('/proc/1/new', 'x')`,
  'take a cover off': `libc_umount('/proc/cmdline')`,
  'another /proc': `libc_mount('/tmp')`,
};

const TRIES = `
import ctypes, errno, json, os, sys
libc = ctypes.CDLL(None, use_errno=True)
def raised(done):
    if done == -1: raise OSError(ctypes.get_errno(), '')
def libc_umount(place): raised(libc.umount2(place.encode(), 2))
def libc_mount(place): raised(libc.mount(b'proc', place.encode(), b'proc', 0, None))
def tried(act):
    try: seen = eval(act)
    except OSError as error: return errno.errorcode[error.errno]
    return 'nothing' if seen in (b'', []) else 'through'
print(json.dumps({name: tried(act) for name, act in json.loads(sys.argv[1]).items()}))`;

describe.runIf(missing.length === 0)('a program in the sandbox', () => {
  let answers: Record<string, string> = {};
  beforeAll(async () => {
    const { ending, out, err } = await inside({ argv: python(TRIES, JSON.stringify(ways)) });
    expect({ ending, err }).toEqual({ ending: { how: 'exited', code: 0 }, err: '' });
    answers = JSON.parse(out) as Record<string, string>;
  });

  test.each(FILES)('cannot read %s', file => {
    expect(answers[file]).toMatch(/^(?:EACCES|EPERM)$/);
  });

  test.each(FOLDERS)('finds nothing in %s', folder => {
    expect(answers[folder]).toBe('nothing');
  });

  test.each(FIRST)('cannot reach %s of its first process', name => {
    expect([answers[`/proc/1/${name}`], answers[`/proc/self/../1/${name}`]]).toEqual(['ENOENT', 'ENOENT']);
  });

  test('cannot write to the memory of its first process', () => {
    expect(answers['write to the memory of the first process']).toBe('ENOENT');
    expect(answers['the same by a folder that is open']).toBe('ENOENT');
    expect(answers['a file in place of the first process']).toBe('EROFS');
  });

  test('can neither uncover a hidden file nor mount another /proc', () => {
    expect([answers['take a cover off'], answers['another /proc']]).toEqual(['EPERM', 'EPERM']);
  });

  test.each(NEEDED)('can still read %s', file => {
    expect(answers[file]).toBe('through');
  });

  test('cannot learn its user outside the sandbox from the id maps', async () => {
    const { out } = await inside({ argv: shell('cat /proc/self/uid_map /proc/self/gid_map | tr -s " "') });
    expect(out).toBe(' 1000 0 1\n 1000 0 1\n');
  });

  test('learns nothing from files that identify the machine', async () => {
    const { out } = await inside({ argv: shell('cat /proc/sys/kernel/random/boot_id /etc/machine-id /etc/hostname') });
    expect(out).toBe('');
  });
});
