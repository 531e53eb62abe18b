import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { forwarded, forwarderMounts } from '../../src/execute/model/forwarder.ts';
import { openLauncher } from '../../src/execute/launcher/launch.ts';
import { type Asked, type Outcome, python, ran } from '../conformance/jobs.ts';

const launcher = openLauncher();
afterAll(() => launcher.close());
const { missing } = await launcher.machine();

const PORT = 8_417;
const OWN_WORDS = 'said by the agent\n';

/** An agent's command that tries to write in the agent's name, and prints the result of each attempt. */
const TOOL = `
import ctypes, errno, glob, json, os, signal, socket, sys, time
libc = ctypes.CDLL(None, use_errno=True)
FORGED = b'FORGED\\n'
def raised(done):
    if done == -1: raise OSError(ctypes.get_errno(), '')
    return done
def tried(act):
    try: act()
    except OSError as error: return errno.errorcode[error.errno]
    return 'through'
def write_to(place):
    with open(place, 'ab', buffering=0) as file: file.write(FORGED)
def write_memory(place):
    os.close(os.open(place, os.O_RDWR))
def take(pid, number):
    pidfd = raised(libc.syscall(434, pid, 0))
    os.write(raised(libc.syscall(438, pidfd, number, 0)), FORGED)
def attach(pid): raised(libc.ptrace(16, pid, 0, 0))
def write_remotely(pid):
    local = ctypes.create_string_buffer(FORGED)
    vector = (ctypes.c_void_p * 2)(ctypes.addressof(local), len(FORGED))
    raised(libc.process_vm_writev(pid, vector, 1, vector, 1, 0))
def debug(pid):
    os.kill(pid, signal.SIGUSR1)
    time.sleep(0.5)
    socket.create_connection(('127.0.0.1', 9229)).close()
# The fourth is the folder that is being listed.
inherited = [name for name in os.listdir('/proc/self/fd') if name not in ('0', '1', '2', '3')]
agent = os.getppid()
others = sorted(int(name) for name in os.listdir('/proc') if name.isdigit() and int(name) not in (1, os.getpid()))
def sockets_of(pid):
    places = glob.glob(f'/proc/{pid}/fd/*')
    return [place for place in places if os.readlink(place).startswith('socket:')]
came = {
    'streams': {tried(lambda: write_to(f'/proc/{agent}/fd/{number}')) for number in (1, 2)},
    'streams by a thread': {tried(lambda: write_to(f'/proc/{agent}/task/{agent}/fd/{number}')) for number in (1, 2)},
    'sockets of all': {tried(lambda: write_to(place)) for pid in others for place in sockets_of(pid)},
    'memory of all': {tried(lambda: write_memory(f'/proc/{pid}/{file}')) for pid in others for file in ('mem', f'task/{pid}/mem')},
    'first process': {tried(lambda: write_to(f'/proc/1/fd/{number}')) for number in (1, 2)},
    'pidfd_getfd': {tried(lambda: take(pid, number)) for pid in others for number in (1, 2)},
    'ptrace': {tried(lambda: attach(pid)) for pid in others},
    'process_vm_writev': {tried(lambda: write_remotely(pid)) for pid in others},
    'debugger of the forwarder': {tried(lambda: debug(pid)) for pid in others if pid != agent},
    'names of the own streams': {tried(lambda: write_to(name)) for name in ('/dev/stdout', '/proc/self/fd/1')},
    'own descriptors': inherited,
    'remount /proc': {tried(lambda: raised(libc.mount(None, b'/proc', None, 32, None)))},
}
print(json.dumps({way: sorted(outcomes) for way, outcomes in came.items()}))
`;

/** Runs the command with its own pipes, as agents do, and reports its output and its descriptors on stderr. */
const AGENT = `
import fcntl, json, os, subprocess, sys
tool = subprocess.run([sys.executable, '-I', '-S', '-c', sys.argv[1]], stdin=subprocess.DEVNULL, capture_output=True)
held = [name for name in os.listdir('/proc/self/fd') if os.path.lexists('/proc/self/fd/' + name)]
blocking = [not fcntl.fcntl(fd, fcntl.F_GETFL) & os.O_NONBLOCK for fd in (1, 2)]
sys.stderr.write(json.dumps({'tool': tool.stdout.decode(), 'trouble': tool.stderr.decode(), 'held': held, 'blocking': blocking}))
sys.stdout.write(${JSON.stringify(OWN_WORDS)})`;

const WAYS: readonly (readonly [string, Partial<Asked>])[] = [
  ['with the model proxy', { argv: forwarded(python(AGENT, TOOL), PORT), mounts: forwarderMounts(), door: true }],
  ['without the model proxy', { argv: python(AGENT, TOOL), mounts: [] }],
];

describe.runIf(missing.length === 0).each(WAYS)("an agent's command %s", (_, asked) => {
  let outcome: Outcome;
  let told: { tool: string; trouble: string; held: string[]; blocking: boolean[] };
  let came: Record<string, readonly string[]>;
  beforeAll(async () => {
    const job: Asked = { argv: [], input: 'the task', home: true, guarded: true, writeRoots: ['.'], ...asked };
    outcome = await ran(launcher, 'process', job);
    told = JSON.parse(outcome.err.slice(outcome.err.indexOf('{'))) as typeof told;
    expect(told.trouble).toBe('');
    came = JSON.parse(told.tool.split('\n').at(-2) ?? '') as typeof came;
  });

  test("adds nothing to the agent's output", () => {
    expect(outcome.ending).toEqual({ how: 'exited', code: 0 });
    expect(outcome.out).toBe(OWN_WORDS);
    expect(outcome.err).toMatch(/^{/);
  });

  test('cannot reopen a stream of the agent, nor a socket of another process', () => {
    expect([came['streams'], came['streams by a thread']]).toEqual([['ENXIO'], ['ENXIO']]);
    expect(came['sockets of all']).toEqual(['ENXIO']);
    expect(came['first process']).toEqual(['ENOENT']);
  });

  test('cannot write to the memory of any process', () => {
    expect(came['memory of all']).toEqual(['EROFS']);
    expect(came['process_vm_writev']).toEqual(['EPERM']);
    expect(came['remount /proc']).toEqual(['EPERM']);
  });

  test('cannot take a descriptor, attach to a process or start a debugger', () => {
    expect([came['pidfd_getfd'], came['ptrace']]).toEqual([['EPERM'], ['EPERM']]);
    expect(came['debugger of the forwarder']).toEqual(asked.door ? ['ECONNREFUSED'] : []);
  });

  test('can still open its own streams by name, and inherits no other descriptors', () => {
    expect(came['names of the own streams']).toEqual(['through']);
    expect(told.tool).toContain('FORGED');
    expect(came['own descriptors']).toEqual([]);
  });

  test('is started by an agent that has three descriptors and blocking streams', () => {
    expect(told.held.sort()).toEqual(['0', '1', '2']);
    expect(told.blocking).toEqual([true, true]);
  });
});
