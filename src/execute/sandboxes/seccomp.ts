import type { Job } from '../job.ts';
import { assemble, end, goTo, keep, label, type Line, load, type Range, search, unless, when, whenAny } from './bpf.ts';
import { ALLOWED, type CallNumbers, DENIED, JUDGED } from './syscalls.ts';

export interface FilterOptions {
  /** Whether a program may open Unix sockets by name. Pairs of connected ones are always there. */
  readonly unixSockets: boolean;
  /** Whether the network is open. If not, only the TCP and UDP sockets that programs open by habit exist. */
  readonly network: boolean;
  /** Calls that make memory which belongs to no process, where nobody would count it. */
  readonly uncounted?: readonly UncountedCall[];
  /** Sockets keep buffers of the usual size. Asking for larger ones has no effect. */
  readonly plainBuffers?: boolean;
}

/** They do not exist where nobody would count what they make. */
type UncountedCall = 'memfd_create' | 'shmget' | 'msgget' | 'semget';

/** What a filter refuses where no control group counts. */
export type Uncounted = Pick<FilterOptions, 'uncounted' | 'plainBuffers'>;

/** The filter for a job: sockets with names exist only where one of them is the door. */
export function filterFor({ door, network }: Job, uncounted: Uncounted = {}): Buffer | undefined {
  return seccompFilter(process.arch, { unixSockets: door === true, network: network === 'open', ...uncounted });
}

/** Whether Proctor has a system call filter for the processor of this machine. */
export function hasSystemCallFilter(): boolean {
  return process.arch in MACHINES;
}

/**
 * The filter that the kernel asks before every system call of a sandboxed program, as the bytes that `bwrap --seccomp`
 * takes. Undefined for a machine whose numbers we do not know.
 *
 * It is a list of what is allowed. Denied calls fail with EPERM; all others, those of x32 and of the future among them,
 * fail with ENOSYS, for which libraries have a fallback.
 */
export function seccompFilter(arch: string, options: FilterOptions): Buffer | undefined {
  if (arch !== 'x64' && arch !== 'arm64') return undefined;
  const { audit, column } = MACHINES[arch];
  return assemble([
    // A second set of numbers (int 0x80 on x64) would bypass every line below.
    load(ARCH),
    unless(audit, 'kill'),
    load(NUMBER),
    ...search(rangesOf(column, options.uncounted)),
    ...Object.entries(rules(options)).flatMap(([name, lines]) => [label(name)].concat(lines)),
    ...Object.entries(VERDICTS).flatMap(([name, verdict]) => [label(name), end(verdict)]),
  ]);
}

/** What becomes of each call number; neighbours with the same fate are one range. */
function rangesOf(column: 0 | 1, uncounted: readonly string[] = []): Range[] {
  const fates = new Map<number, readonly Line[]>();
  const put = (calls: Iterable<[string, CallNumbers]>, fate: (name: string) => readonly Line[]): void => {
    for (const [name, numbers] of calls) {
      const number = numbers[column];
      if (number !== undefined) fates.set(number, fate(name));
    }
  };
  put(ALLOWED, name => (uncounted.includes(name) ? UNKNOWN : ALLOWS));
  put(DENIED, () => DENIES);
  put(Object.entries(JUDGED), name => [goTo(name)]);

  const ranges: Range[] = [];
  const last = Math.max(...fates.keys());
  for (let from = 0; from <= last + 1; from++) {
    const lines = fates.get(from) ?? UNKNOWN;
    if (ranges.at(-1)?.lines !== lines) ranges.push({ from, lines });
  }
  return ranges;
}

/** One rule for each call that depends on its arguments. Each ends with a verdict or a jump to one. */
function rules(options: FilterOptions): Record<keyof typeof JUDGED, readonly Line[]> {
  return {
    clone: [load(argument(0)), whenAny(NEW_NAMESPACES, 'not permitted'), ...ALLOWS],
    // Its flags lie in memory, where a filter cannot look; libraries fall back to clone.
    clone3: UNKNOWN,
    socket: [
      load(argument(0)),
      when(FAMILY.inet, 'inet'),
      when(FAMILY.inet6, 'inet'),
      when(FAMILY.netlink, 'netlink'),
      ...(options.unixSockets ? [when(FAMILY.unix, 'allow')] : []),
      goTo('no such family'),
      label('inet'),
      ...(options.network ? [] : [load(argument(2)), ...PLAIN_PROTOCOLS.map(protocol => when(protocol, 'allow'))]),
      goTo(options.network ? 'allow' : 'no such protocol'),
      // Programs list their interfaces through it; its other protocols configure the kernel.
      label('netlink'),
      load(argument(2)),
      when(NETLINK_ROUTE, 'allow'),
      goTo('no such family'),
    ],
    socketpair: [
      load(argument(0)),
      unless(FAMILY.unix, 'no such family'),
      // One of a pair of datagram sockets still sends to any name, and a raw one is a datagram socket by another name.
      ...(options.unixSockets
        ? []
        : [
            load(argument(1)),
            keep(SOCKET_TYPE),
            when(SOCKET.stream, 'allow'),
            unless(SOCKET.seqpacket, 'no such type'),
          ]),
      ...ALLOWS,
    ],
    // A larger buffer is granted in words only.
    setsockopt: options.plainBuffers
      ? [
          load(argument(1)),
          unless(SOL_SOCKET, 'allow'),
          load(argument(2)),
          when(BUFFER.send, 'no effect'),
          when(BUFFER.receive, 'no effect'),
          ...ALLOWS,
        ]
      : ALLOWS,
    // Both put words into the terminal as if its owner had typed them.
    ioctl: [
      load(argument(1)),
      when(TERMINAL.TIOCSTI, 'not permitted'),
      when(TERMINAL.TIOCLINUX, 'not permitted'),
      ...ALLOWS,
    ],
    // To ask is fine, and so is plain Linux; other values switch off what makes attacks hard.
    personality: [load(argument(0)), when(0, 'allow'), when(0xffff_ffff, 'allow'), ...DENIES],
  };
}

const MACHINES = {
  x64: { audit: 0xc000_003e, column: 0 },
  arm64: { audit: 0xc000_00b7, column: 1 },
} as const;

const ERRNO = { EPERM: 1, ENOSYS: 38, EPROTONOSUPPORT: 93, ESOCKTNOSUPPORT: 94, EAFNOSUPPORT: 97 };
const errno = (code: number): number => 0x0005_0000 | code;

/** How a call ends, by the name that rules jump to. */
const VERDICTS = {
  allow: 0x7fff_0000,
  'no effect': errno(0),
  'not permitted': errno(ERRNO.EPERM),
  'no such call': errno(ERRNO.ENOSYS),
  'no such family': errno(ERRNO.EAFNOSUPPORT),
  'no such type': errno(ERRNO.ESOCKTNOSUPPORT),
  'no such protocol': errno(ERRNO.EPROTONOSUPPORT),
  kill: 0x8000_0000,
} as const;

const ALLOWS = [end(VERDICTS.allow)];
const DENIES = [end(VERDICTS['not permitted'])];
const UNKNOWN = [end(VERDICTS['no such call'])];

const FAMILY = { unix: 1, inet: 2, inet6: 10, netlink: 16 };
const SOCKET = { stream: 1, seqpacket: 5 };
/** The type of a socket shares its argument with SOCK_NONBLOCK and SOCK_CLOEXEC. */
const SOCKET_TYPE = 0xf;
/** The default of a type, TCP, UDP. */
const PLAIN_PROTOCOLS = [0, 6, 17];
const NETLINK_ROUTE = 0;
const SOL_SOCKET = 1;
const BUFFER = { send: 7, receive: 8 };
const TERMINAL = { TIOCSTI: 0x5412, TIOCLINUX: 0x541c };
/** CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET. */
const NEW_NAMESPACES = 0x0002_0000 | 0x0200_0000 | 0x0400_0000 | 0x0800_0000 | 0x1000_0000 | 0x2000_0000 | 0x4000_0000;

/** Where `struct seccomp_data` keeps what a filter may look at. */
const NUMBER = 0;
const ARCH = 4;
/** The lower half of an argument: all that the kernel itself looks at in those we judge. Both machines are little-endian. */
const argument = (index: number): number => 16 + 8 * index;
