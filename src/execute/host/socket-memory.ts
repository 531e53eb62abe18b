import { firstLinesOf, procText } from './proc-files.ts';

/** Bytes queued in the TCP and UDP sockets of a network namespace, without the kernel's overhead. */
export function datagramAndStreamBytes(pid: number): number {
  let bytes = 0;
  for (const [summary, tables] of TABLES) {
    const text = procText(`/proc/${pid}/net/${summary}`) ?? '';
    for (const { name, file } of tables) {
      const inUse = Number(new RegExp(`^${name}: inuse (\\d+)`, 'm').exec(text)?.[1] ?? 0);
      // Listing sockets makes the kernel walk the tables of the whole machine.
      if (inUse > 0) bytes += sumOf(`/proc/${pid}/net/${file}`, inUse, queuesIn);
    }
  }
  return bytes;
}

const TABLES = [
  [
    'sockstat',
    [
      { name: 'TCP', file: 'tcp' },
      { name: 'UDP', file: 'udp' },
    ],
  ],
  [
    'sockstat6',
    [
      { name: 'TCP6', file: 'tcp6' },
      { name: 'UDP6', file: 'udp6' },
    ],
  ],
] as const;

/** Whether the Unix sockets of a network namespace could hold more than `bytes`. The kernel reports only their number. */
export function canUnixSocketsHold(pid: number, bytes: number): boolean {
  const used = Number(/^sockets: used (\d+)/.exec(procText(`/proc/${pid}/net/sockstat`) ?? '')?.[1] ?? 0);
  // The default buffer size. The system call filter prevents larger buffers.
  const bufferBytes = Number(procText('/proc/sys/net/core/wmem_default') ?? BUFFER_BYTES);
  if (used * bufferBytes <= bytes) return false;
  const { lines } = firstLinesOf(`/proc/${pid}/net/unix`, TABLE_BYTES_MAX);
  return (lines.length - 1) * bufferBytes > bytes;
}

const BUFFER_BYTES = 212_992;

/** Bytes queued in the netlink sockets of a process's network namespace. No control group counts them. */
export function netlinkBytes(pid: number): number {
  return sumOf(`/proc/${pid}/net/netlink`, 0, line => {
    const [, , , , received = '0', sent = '0'] = line.trim().split(/\s+/);
    return Number(received) + Number(sent);
  });
}

/** Extrapolates from the first rows if a table is too long to read. */
function sumOf(file: string, rows: number, bytesIn: (line: string) => number): number {
  const { lines, isAll } = firstLinesOf(file, TABLE_BYTES_MAX);
  const shown = lines.slice(1);
  const bytes = shown.reduce((sum, line) => sum + bytesIn(line), 0);
  return isAll || shown.length === 0 ? bytes : Math.round((bytes * Math.max(rows, shown.length)) / shown.length);
}

/** `tx_queue:rx_queue` in hexadecimal. */
function queuesIn(line: string): number {
  const queues = / ([0-9A-F]{8}):([0-9A-F]{8}) \d\d:/.exec(line);
  return queues ? Number.parseInt(queues[1] as string, 16) + Number.parseInt(queues[2] as string, 16) : 0;
}

/** About 27,000 sockets. */
const TABLE_BYTES_MAX = 4 * 1024 * 1024;
