import type { Job } from '../job/job.ts';
import {
  assemble,
  end,
  goTo,
  keep,
  label,
  type BpfLine,
  load,
  type Range,
  search,
  unless,
  whenEqual,
  whenAny,
} from './bpf.ts';
import { ALLOWED, type CallNumbers, DENIED, JUDGED } from './syscalls.ts';

export interface FilterOptions {
  /** Allows named Unix sockets. Socket pairs are always allowed. */
  readonly unixSockets: boolean;
  /** The network is open. Otherwise only plain TCP and UDP sockets exist, because many programs open them. */
  readonly network: boolean;
  /** Calls to refuse, because they create memory that belongs to no process and cannot be counted. */
  readonly uncounted?: readonly UncountedCall[];
  /** Ignores requests for larger socket buffers. */
  readonly plainBuffers?: boolean;
}

type UncountedCall = 'memfd_create' | 'shmget' | 'msgget' | 'semget';

/** Further restrictions for a run without control groups. */
export type Uncounted = Pick<FilterOptions, 'uncounted' | 'plainBuffers'>;

/** The filter for a job. It allows named Unix sockets only for a job with a model proxy. */
export function filterFor({ door, network }: Job, uncounted: Uncounted = {}): Buffer | undefined {
  return seccompFilter(process.arch, { unixSockets: door === true, network: network === 'open', ...uncounted });
}

/** Whether Proctor has a system call filter for this processor. */
export function hasSystemCallFilter(): boolean {
  return process.arch in MACHINES;
}

/**
 * The system call filter for a sandboxed program, as bytes for `bwrap --seccomp`. Undefined for an unknown processor.
 *
 * It is an allow list. Denied calls fail with EPERM. All other calls, including x32 and future ones, fail with ENOSYS,
 * for which libraries have fallbacks.
 */
export function seccompFilter(arch: string, options: FilterOptions): Buffer | undefined {
  if (arch !== 'x64' && arch !== 'arm64') return undefined;
  const { audit, column } = MACHINES[arch];
  return assemble([
    // A second call table (int 0x80 on x64) would bypass every rule below.
    load(ARCH),
    unless(audit, 'kill'),
    load(NUMBER),
    ...search(rangesOf(column, options.uncounted)),
    ...Object.entries(rules(options)).flatMap(([name, lines]) => [label(name)].concat(lines)),
    ...Object.entries(VERDICTS).flatMap(([name, verdict]) => [label(name), end(verdict)]),
  ]);
}

/** The verdict for each call number. Neighbors with the same verdict form one range. */
function rangesOf(column: 0 | 1, uncounted: readonly string[] = []): Range[] {
  const fates = new Map<number, readonly BpfLine[]>();
  const put = (calls: Iterable<[string, CallNumbers]>, fate: (name: string) => readonly BpfLine[]): void => {
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

/** One rule per call that depends on its arguments. Each ends with a verdict or a jump to one. */
function rules(options: FilterOptions): Record<keyof typeof JUDGED, readonly BpfLine[]> {
  return {
    clone: [load(argument(0)), whenAny(NEW_NAMESPACES, 'not permitted'), ...ALLOWS],
    // Its flags are in memory, which a filter cannot read. Libraries fall back to clone.
    clone3: UNKNOWN,
    socket: [
      load(argument(0)),
      whenEqual(FAMILY.inet, 'inet'),
      whenEqual(FAMILY.inet6, 'inet'),
      whenEqual(FAMILY.netlink, 'netlink'),
      ...(options.unixSockets ? [whenEqual(FAMILY.unix, 'allow')] : []),
      goTo('no such family'),
      label('inet'),
      ...(options.network ? [] : [load(argument(2)), ...PLAIN_PROTOCOLS.map(protocol => whenEqual(protocol, 'allow'))]),
      goTo(options.network ? 'allow' : 'no such protocol'),
      // Programs list network interfaces through this protocol. The others configure the kernel.
      label('netlink'),
      load(argument(2)),
      whenEqual(NETLINK_ROUTE, 'allow'),
      goTo('no such family'),
    ],
    socketpair: [
      load(argument(0)),
      unless(FAMILY.unix, 'no such family'),
      // A datagram socket from a pair can still send to any socket address, and Linux treats raw Unix sockets as datagram sockets.
      ...(options.unixSockets
        ? []
        : [
            load(argument(1)),
            keep(SOCKET_TYPE),
            whenEqual(SOCKET.stream, 'allow'),
            unless(SOCKET.seqpacket, 'no such type'),
          ]),
      ...ALLOWS,
    ],
    // Reports success for a larger buffer, but does not grant it.
    setsockopt: options.plainBuffers
      ? [
          load(argument(1)),
          unless(SOL_SOCKET, 'allow'),
          load(argument(2)),
          whenEqual(BUFFER.send, 'no effect'),
          whenEqual(BUFFER.receive, 'no effect'),
          ...ALLOWS,
        ]
      : ALLOWS,
    // Both inject input into the terminal.
    ioctl: [
      load(argument(1)),
      whenEqual(TERMINAL.TIOCSTI, 'not permitted'),
      whenEqual(TERMINAL.TIOCLINUX, 'not permitted'),
      ...ALLOWS,
    ],
    // Querying the personality and selecting plain Linux are harmless. Other values disable exploit mitigations.
    personality: [load(argument(0)), whenEqual(0, 'allow'), whenEqual(0xffff_ffff, 'allow'), ...DENIES],
  };
}

const MACHINES = {
  x64: { audit: 0xc000_003e, column: 0 },
  arm64: { audit: 0xc000_00b7, column: 1 },
} as const;

const ERRNO = { EPERM: 1, ENOSYS: 38, EPROTONOSUPPORT: 93, ESOCKTNOSUPPORT: 94, EAFNOSUPPORT: 97 };
const errno = (code: number): number => 0x0005_0000 | code;

/** Verdicts by the label that rules jump to. */
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
/** The socket type shares its argument with SOCK_NONBLOCK and SOCK_CLOEXEC. */
const SOCKET_TYPE = 0xf;
/** Default, TCP, UDP. */
const PLAIN_PROTOCOLS = [0, 6, 17];
const NETLINK_ROUTE = 0;
const SOL_SOCKET = 1;
const BUFFER = { send: 7, receive: 8 };
const TERMINAL = { TIOCSTI: 0x5412, TIOCLINUX: 0x541c };
/** CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET. */
const NEW_NAMESPACES = 0x0002_0000 | 0x0200_0000 | 0x0400_0000 | 0x0800_0000 | 0x1000_0000 | 0x2000_0000 | 0x4000_0000;

/** Offsets in `struct seccomp_data`. */
const NUMBER = 0;
const ARCH = 4;
/**
 * The lower half of an argument, which is all that the kernel reads in these calls. Both processors are little-endian.
 */
const argument = (index: number): number => 16 + 8 * index;
