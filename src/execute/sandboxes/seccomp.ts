import type { Job } from '../job.ts';
import { type CallNumbers, DENIED, FIRST_UNKNOWN, JUDGED } from './syscalls.ts';

export interface FilterOptions {
  /** Whether a program may open Unix sockets by name. Pairs of connected ones are always there. */
  readonly unixSockets: boolean;
  /** Whether anybody can be reached. If not, only the TCP and UDP sockets that programs open by habit exist. */
  readonly network: boolean;
}

/** The filter for a job: sockets with names exist only where one of them is the door. */
export function filterFor({ door, network }: Job): Buffer | undefined {
  return seccompFilter(process.arch, { unixSockets: door === true, network: network === 'open' });
}

/**
 * The filter that the kernel asks before every system call of a sandboxed program, as the bytes that `bwrap --seccomp`
 * takes. Undefined for a machine whose numbers we do not know.
 */
export function seccompFilter(arch: string, options: FilterOptions): Buffer | undefined {
  if (arch !== 'x64' && arch !== 'arm64') return undefined;
  const machine = MACHINES[arch];
  const number = (call: CallNumbers): number | undefined => call[machine.column];
  const denied = Object.values(DENIED)
    .map(number)
    .filter(call => call !== undefined);

  return assemble([
    // A second set of numbers (int 0x80 on x64) would pass by every line below.
    load(ARCH),
    unless(machine.audit, 'kill'),
    load(NUMBER),
    // Whoever wrote the program could not count on calls this new, and falls back.
    fromOn(FIRST_UNKNOWN, 'no such call'),
    ...denied.map(call => when(call, 'not permitted')),
    // Its flags lie in memory, where a filter cannot look; libraries fall back to clone.
    when(JUDGED.clone3[machine.column], 'no such call'),
    when(JUDGED.clone[machine.column], 'clone'),
    when(JUDGED.socket[machine.column], 'socket'),
    when(JUDGED.socketpair[machine.column], 'socketpair'),
    when(JUDGED.ioctl[machine.column], 'ioctl'),
    when(JUDGED.personality[machine.column], 'personality'),
    end(ALLOW),

    label('clone'),
    load(argument(0)),
    whenAny(NEW_NAMESPACES, 'not permitted'),
    end(ALLOW),

    label('socket'),
    load(argument(0)),
    when(FAMILY.inet, 'inet'),
    when(FAMILY.inet6, 'inet'),
    when(FAMILY.netlink, 'netlink'),
    ...(options.unixSockets ? [when(FAMILY.unix, 'allow')] : []),
    end(errno(ERRNO.EAFNOSUPPORT)),

    label('inet'),
    ...(options.network ? [] : [load(argument(2)), ...PLAIN_PROTOCOLS.map(protocol => when(protocol, 'allow'))]),
    end(options.network ? ALLOW : errno(ERRNO.EPROTONOSUPPORT)),

    // Programs list their interfaces through it; its other protocols configure the kernel.
    label('netlink'),
    load(argument(2)),
    when(NETLINK_ROUTE, 'allow'),
    end(errno(ERRNO.EAFNOSUPPORT)),

    label('socketpair'),
    load(argument(0)),
    unless(FAMILY.unix, 'no such family'),
    // One of a pair of datagram sockets still sends to any name, and a raw one is a datagram socket by another name.
    ...(options.unixSockets
      ? []
      : [load(argument(1)), keep(SOCKET_TYPE), when(SOCKET.stream, 'allow'), unless(SOCKET.seqpacket, 'no such type')]),
    end(ALLOW),

    // Both put words into the terminal as if its owner had typed them.
    label('ioctl'),
    load(argument(1)),
    when(TERMINAL.TIOCSTI, 'not permitted'),
    when(TERMINAL.TIOCLINUX, 'not permitted'),
    end(ALLOW),

    // Asking is fine, and so is being plain Linux; the others switch off what makes attacks hard.
    label('personality'),
    load(argument(0)),
    when(0, 'allow'),
    when(0xffff_ffff, 'allow'),

    label('not permitted'),
    end(errno(ERRNO.EPERM)),
    label('no such call'),
    end(errno(ERRNO.ENOSYS)),
    label('no such family'),
    end(errno(ERRNO.EAFNOSUPPORT)),
    label('no such type'),
    end(errno(ERRNO.ESOCKTNOSUPPORT)),
    label('allow'),
    end(ALLOW),
    label('kill'),
    end(KILL_PROCESS),
  ]);
}

const MACHINES = {
  x64: { audit: 0xc000_003e, column: 0 },
  arm64: { audit: 0xc000_00b7, column: 1 },
} as const;

const ERRNO = { EPERM: 1, ENOSYS: 38, EPROTONOSUPPORT: 93, ESOCKTNOSUPPORT: 94, EAFNOSUPPORT: 97 };
const FAMILY = { unix: 1, inet: 2, inet6: 10, netlink: 16 };
const SOCKET = { stream: 1, seqpacket: 5 };
/** The type of a socket shares its argument with SOCK_NONBLOCK and SOCK_CLOEXEC. */
const SOCKET_TYPE = 0xf;
/** The default of a type, TCP, UDP. */
const PLAIN_PROTOCOLS = [0, 6, 17];
const NETLINK_ROUTE = 0;
const TERMINAL = { TIOCSTI: 0x5412, TIOCLINUX: 0x541c };
/** CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET. */
const NEW_NAMESPACES = 0x0002_0000 | 0x0200_0000 | 0x0400_0000 | 0x0800_0000 | 0x1000_0000 | 0x2000_0000 | 0x4000_0000;

/** Where `struct seccomp_data` keeps what a filter may look at. */
const NUMBER = 0;
const ARCH = 4;
/** The lower half of an argument: all that the kernel itself looks at in those we judge. Both machines are little-endian. */
const argument = (index: number): number => 16 + 8 * index;

const ALLOW = 0x7fff_0000;
const KILL_PROCESS = 0x8000_0000;
const errno = (code: number): number => 0x0005_0000 | code;

/** One instruction of classic BPF whose jumps still have names, or a name for the instruction that follows. */
type Line =
  | { readonly code: number; readonly k: number; readonly yes?: string; readonly no?: string }
  | { readonly label: string };

const label = (name: string): Line => ({ label: name });
const load = (offset: number): Line => ({ code: 0x20, k: offset });
const keep = (bits: number): Line => ({ code: 0x54, k: bits });
const end = (verdict: number): Line => ({ code: 0x06, k: verdict });
const when = (value: number, yes: string): Line => ({ code: 0x15, k: value, yes });
const unless = (value: number, no: string): Line => ({ code: 0x15, k: value, no });
const fromOn = (value: number, yes: string): Line => ({ code: 0x35, k: value, yes });
const whenAny = (bits: number, yes: string): Line => ({ code: 0x45, k: bits, yes });

/** `struct sock_filter`: two bytes of code, one for each jump, four for the value. */
const BYTES = 8;
const JUMP_MAX = 255;

function assemble(lines: readonly Line[]): Buffer {
  const places = new Map<string, number>();
  const instructions: Exclude<Line, { label: string }>[] = [];
  for (const line of lines) {
    if ('label' in line) places.set(line.label, instructions.length);
    else instructions.push(line);
  }
  const distance = (to: string | undefined, from: number): number => {
    const steps = to === undefined ? 0 : (places.get(to) ?? -1) - from - 1;
    if (steps < 0 || steps > JUMP_MAX) throw new Error(`No jump of the filter reaches "${to}"`);
    return steps;
  };
  const bytes = Buffer.alloc(BYTES * instructions.length);
  for (const [index, { code, k, yes, no }] of instructions.entries()) {
    bytes.writeUInt16LE(code, BYTES * index);
    bytes.writeUInt8(distance(yes, index), BYTES * index + 2);
    bytes.writeUInt8(distance(no, index), BYTES * index + 3);
    bytes.writeUInt32LE(k, BYTES * index + 4);
  }
  return bytes;
}
